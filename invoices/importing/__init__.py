"""Importing invoices from a CSV file: all of a file, or nothing of it."""

from invoices.importing.columns import COLUMNS, Column
from invoices.importing.conventions import Options
from invoices.importing.importing import PASSES, check, import_file
from invoices.importing.problems import SHOWN, BadValue, Problem, Unreadable
from invoices.importing.reading import Source, named_delimiter
from invoices.importing.reporting import Report
from invoices.importing.sample import SAMPLE

__all__ = [
    "COLUMNS",
    "PASSES",
    "SAMPLE",
    "SHOWN",
    "BadValue",
    "Column",
    "Options",
    "Problem",
    "Report",
    "Source",
    "Unreadable",
    "check",
    "import_file",
    "named_delimiter",
]
