"""What the tests of importing share: files written as people write them."""

from collections.abc import Iterable
from typing import Any

from invoices import importing
from invoices.models import Organization

HEADER = "number,customer_email,currency,issued_on,due_on,amount"
LINES_HEADER = (
    "number,customer_email,customer_name,currency,issued_on,due_on,description,quantity,"
    "unit_price,tax_rate"
)


def row(number: str = "A-1", **values: str) -> str:
    """Return a line for HEADER."""
    cells = {
        "number": number,
        "customer_email": "ada@customer.example",
        "currency": "NGN",
        "issued_on": "2026-03-02",
        "due_on": "2026-03-16",
        "amount": "1250.00",
    }
    return ",".join((cells | values).values())


def item(number: str = "A-1", **values: str) -> str:
    """Return a line for LINES_HEADER."""
    cells = {
        "number": number,
        "customer_email": "ada@customer.example",
        "customer_name": "Ada",
        "currency": "NGN",
        "issued_on": "2026-03-02",
        "due_on": "2026-03-16",
        "description": "Rice",
        "quantity": "2",
        "unit_price": "10.00",
        "tax_rate": "7.5",
    }
    return ",".join((cells | values).values())


def file_of(*lines: str, header: str = HEADER, encoding: str = "utf-8") -> bytes:
    return "\r\n".join([header, *lines, ""]).encode(encoding)


def run(
    content: bytes, organization: Organization, *, store: bool = True, **options: Any
) -> importing.Report:
    source = importing.Source(content=content)
    act = importing.import_file if store else importing.check
    return act(source, organization, importing.Options(**options))


def told(report: importing.Report) -> list[tuple[int, str, str]]:
    """Return line, column and sentence of each problem."""
    return [(one.line, one.column, one.sentence) for one in report.problems]


def sentences(report: importing.Report) -> str:
    return " | ".join(one.sentence for one in report.problems)


def places(problems: Iterable[importing.Problem]) -> list[tuple[int, str]]:
    return [(one.line, one.column) for one in problems]
