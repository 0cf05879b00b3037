"""The invoice document as a PDF. Knows values, not models: see InvoiceDocument."""

from .document import DocumentLine, InvoiceDocument, Party
from .glyphs import missing_glyphs
from .rendering import InvoiceNotRenderable, render, render_png

__all__ = [
    "DocumentLine",
    "InvoiceDocument",
    "InvoiceNotRenderable",
    "Party",
    "missing_glyphs",
    "render",
    "render_png",
]
