"""The columns of a file: their names, and what else people call them."""

import re
import unicodedata
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _


@dataclass(frozen=True, kw_only=True)
class Column:
    name: str
    meaning: Promise
    aliases: tuple[str, ...] = ()
    required: bool = False


COLUMNS = (
    Column(
        name="number",
        meaning=_("The invoice's number. Several lines with one number are one invoice."),
        aliases=(
            *("invoice", "invoice number", "invoice no", "invoice id", "no"),
            *("Rechnungsnummer", "Rechnungs-Nr", "Rechnung", "Rechnung Nr", "Belegnummer"),
        ),
        required=True,
    ),
    Column(
        name="customer_email",
        meaning=_("Where the invoice goes. A customer with this address is used, else made."),
        aliases=(
            *("email", "e-mail", "mail", "customer email", "email address", "e-mail address"),
            *("E-Mail-Adresse", "Mailadresse", "Kunden-E-Mail"),
        ),
        required=True,
    ),
    Column(
        name="customer_name",
        meaning=_("For a customer who is not known yet."),
        aliases=("customer", "name", "client", "company", "Kunde", "Kundenname", "Firma"),
    ),
    Column(
        name="customer_address",
        meaning=_("For a customer who is not known yet; may have line breaks in quotes."),
        aliases=("address", "Anschrift", "Adresse", "Kundenadresse", "Rechnungsadresse"),
    ),
    Column(
        name="customer_tax_id",
        meaning=_("For a customer who is not known yet."),
        aliases=("tax id", "vat id", "vat number", "tin", "USt-IdNr", "USt-ID", "Steuernummer"),
    ),
    Column(
        name="currency",
        meaning=_("A code such as NGN or EUR."),
        aliases=("currency code", "Währung", "Währungscode"),
        required=True,
    ),
    Column(
        name="issued_on",
        meaning=_("The invoice's date."),
        aliases=(
            *("issued", "issue date", "invoice date", "date"),
            *("Rechnungsdatum", "Datum", "Belegdatum", "ausgestellt am"),
        ),
        required=True,
    ),
    Column(
        name="due_on",
        meaning=_("The day by which it is to be paid."),
        aliases=(
            *("due", "due date", "payable by"),
            *("fällig", "Fälligkeit", "fällig am", "Fälligkeitsdatum", "zahlbar bis"),
        ),
        required=True,
    ),
    Column(
        name="amount",
        meaning=_(
            "What the customer owes, tax included. With unit_price it is compared with the lines."
        ),
        aliases=(
            *("total", "amount due", "gross", "gross amount"),
            *("Betrag", "Summe", "Gesamtbetrag", "Bruttobetrag", "Brutto", "Rechnungsbetrag"),
        ),
    ),
    Column(
        name="description",
        meaning=_("What the line is for."),
        aliases=(
            *("item", "line", "text", "product", "service"),
            *("Beschreibung", "Bezeichnung", "Leistung", "Artikel", "Produkt"),
        ),
    ),
    Column(
        name="quantity",
        meaning=_("How many; empty means 1."),
        aliases=("qty", "Menge", "Anzahl", "Stück", "Stückzahl"),
    ),
    Column(
        name="unit_price",
        meaning=_("What one costs, without tax."),
        aliases=("price", "unit cost", "Einzelpreis", "Preis", "Stückpreis", "Nettopreis"),
    ),
    Column(
        name="tax_rate",
        meaning=_("In per cent: 7.5 or 19 %; empty means none."),
        aliases=(
            *("tax", "vat", "tax percent", "vat rate"),
            *("MwSt", "USt", "MwSt-Satz", "Steuersatz", "Mehrwertsteuer", "Umsatzsteuer"),
        ),
    ),
    Column(
        name="second_tax_rate",
        meaning=_("Of a second tax on the same line, as in Québec."),
        aliases=("second tax", "tax 2", "tax rate 2", "vat 2"),
    ),
    Column(
        name="payment_terms",
        meaning=_("Printed on the invoice."),
        aliases=("terms", "Zahlungsbedingungen", "Zahlungsziel"),
    ),
    Column(
        name="notes",
        meaning=_("Printed on the invoice."),
        aliases=("note", "comment", "Bemerkung", "Anmerkung", "Notiz", "Hinweis"),
    ),
)
REQUIRED = tuple(column.name for column in COLUMNS if column.required)

# Columns whose numbers and dates tell how a file writes them.
NUMBERS = ("amount", "quantity", "unit_price", "tax_rate", "second_tax_rate")
DATES = ("issued_on", "due_on")


def known_as(heading: str) -> str | None:
    """Return the name of the column that a heading means, in whatever case and punctuation."""
    return _BY_HEADING.get(_plain(heading))


def _plain(heading: str) -> str:
    folded = unicodedata.normalize("NFKC", heading).casefold()
    return re.sub(r"[\W_]+", "", folded)


_BY_HEADING = {
    _plain(heading): column.name for column in COLUMNS for heading in (column.name, *column.aliases)
}
