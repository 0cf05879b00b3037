"""The invoice document as a PDF. Knows values, not models: see InvoiceDocument."""

from invoices.pdf.document import DocumentLine, InvoiceDocument, Party
from invoices.pdf.glyphs import missing_glyphs
from invoices.pdf.rendering import InvoiceNotRenderable, render, render_png

__all__ = [
    "DocumentLine",
    "InvoiceDocument",
    "InvoiceNotRenderable",
    "Party",
    "missing_glyphs",
    "render",
    "render_png",
]
