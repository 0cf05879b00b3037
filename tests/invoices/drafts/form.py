"""An invoice as a browser posts it, and what its form shows."""

from django.test import Client

from invoices.models import Invoice
from tests.reading import text

HTMX = {"hx-request": "true"}


NEW = "/invoices/new"


TOTALS = "/invoices/totals"


def typed(*lines: tuple[str, str, str, str], **values: object) -> dict[str, str]:
    """Return what a browser sends: lines as description, quantity, price, tax."""
    form = {
        "number": "INV-0041",
        "currency": "NGN",
        "issued_on": "2026-03-02",
        "due_on": "2026-03-16",
        "lines-TOTAL_FORMS": str(len(lines)),
        "lines-INITIAL_FORMS": "0",
    }
    for place, line in enumerate(lines):
        names = ("description", "quantity", "unit_price", "tax_rate")
        form |= {f"lines-{place}-{name}": part for name, part in zip(names, line, strict=True)}
    return form | {name: str(value) for name, value in values.items()}


RICE = ("Rice, 50 kg bags", "2", "22,500.00", "7.5")


HOUR = ("Consulting", "0.333", "25.00", "5")


def shown(page: str, name: str) -> str:
    """Return the value that a page's field holds."""
    _, found, rest = page.partition(f'name="{name}"')
    assert found, name
    return rest.removeprefix(' value="').partition('"')[0] if rest.startswith(" value") else ""


def edited(client: Client, invoice: Invoice, **change: str) -> dict[str, str]:
    """Return the form of an invoice as a browser sends it back, with changes."""
    page = text(client.get(f"/invoices/{invoice.pk}/edit"))
    lines = [
        (
            shown(page, f"lines-{n}-description"),
            shown(page, f"lines-{n}-quantity"),
            shown(page, f"lines-{n}-unit_price"),
            "",
        )
        for n in range(int(shown(page, "lines-TOTAL_FORMS")))
    ]
    values = {"number": invoice.number, "version": shown(page, "version")}
    form = typed(*lines, customer=invoice.customer_id, **values)
    if 'name="died_at"' in page:
        form["died_at"] = shown(page, "died_at")
    return form | change
