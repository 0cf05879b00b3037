"""What the template prints: every text, amount and date of a document, as strings."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import TypeAlias

from babel import Locale
from babel.dates import format_date
from babel.numbers import format_decimal, format_percent

from invoices.money import find_locale, format_amount, format_figure, rates_of
from invoices.pdf.document import DocumentLine, InvoiceDocument, Party
from invoices.pdf.fonts import families_for
from invoices.pdf.glyphs import displayable
from invoices.pdf.labels import Labels, labels

Json: TypeAlias = "str | Sequence[Json] | Mapping[str, Json]"

_FOOTER_TEXT_LENGTH = 50
_RETURN_ADDRESS_LENGTH = 140


def content_of(document: InvoiceDocument) -> dict[str, Json]:
    """Return what the template reads as JSON. Raises UnknownCurrency and UnknownLocale."""
    locale = find_locale(document.locale)
    words = labels(locale)
    strings = _Content(document, locale, words).strings()
    return {
        **{name: _displayable(value) for name, value in strings.items()},
        "language": words.language,
        "families": families_for(document.texts(), locale=locale),
    }


@dataclass(frozen=True)
class _Content:
    document: InvoiceDocument
    locale: Locale
    words: Labels

    def strings(self) -> dict[str, Json]:
        document, words = self.document, self.words
        return {
            "title": self._title(),
            "mark": words.void if document.void else "",
            "author": document.sender.name,
            "sender": self._sender(document.sender),
            "customer": self._customer(document.customer),
            "facts": self._facts(),
            "columns": [
                words.description,
                words.quantity,
                words.unit_price,
                words.tax,
                words.amount,
            ],
            "lines": [self._line(line) for line in document.lines],
            "sums": self._sums(),
            "total": self._total(),
            "pay_by": self._pay_by(),
            "payment": self._payment(),
            "notes": _titled((words.notes, document.notes)),
            "footer": self._footer(),
        }

    def _title(self) -> str:
        return self.words.title.format(number=self.document.number)

    def _sender(self, sender: Party) -> dict[str, str]:
        address = (sender.name, *sender.address_lines)
        return {
            "name": sender.name,
            "details": _joined((*sender.address_lines, sender.email, self._tax_id(sender))),
            "on_one_line": _shortened("  ·  ".join(address), _RETURN_ADDRESS_LENGTH),
        }

    def _customer(self, customer: Party) -> dict[str, str]:
        return {"name": customer.name, "address": _joined(customer.address_lines)}

    def _facts(self) -> list[dict[str, str]]:
        document, words = self.document, self.words
        return _titled(
            (words.number, document.number),
            (words.issued_on, self._date(document.issued_on)),
            (words.due_on, self._date(document.due_on)),
            (words.customer_tax_id, document.customer.tax_id),
            (words.amount_due, "" if document.void else self._amount(document.amount_minor)),
        )

    def _line(self, line: DocumentLine) -> dict[str, str]:
        return {
            "description": line.description,
            "quantity": self._number(line.quantity),
            "unit_price": self._figure(line.unit_price_minor),
            "tax": self._tax(line),
            "amount": self._figure(line.net_minor),
        }

    def _tax(self, line: DocumentLine) -> str:
        return " + ".join(self._percent(rate) for rate in rates_of(line))

    def _sums(self) -> list[dict[str, str]]:
        """The net, the discount and a row per rate, which names a base that is not the net."""
        document, words = self.document, self.words
        if not document.taxes:
            return []
        several = len(document.taxes) > 1 or document.discount_minor
        label = words.tax_on if several else words.tax_at
        rows = [(words.subtotal, self._amount(document.net_minor)), *self._discount()]
        for tax in document.taxes:
            rate, base = self._percent(tax.rate), self._amount(tax.base_minor)
            rows.append((label.format(rate=rate, base=base), self._amount(tax.tax_minor)))
        return _titled(*rows)

    def _discount(self) -> list[tuple[str, str]]:
        document, words = self.document, self.words
        if not document.discount_rate:
            return []
        title = words.discount.format(rate=self._percent(document.discount_rate))
        return [(title, self._amount(-document.discount_minor))]

    def _total(self) -> dict[str, str]:
        return {
            "title": self.words.total.format(currency=self.document.currency),
            "text": self._amount(self.document.amount_minor),
        }

    def _payment(self) -> list[dict[str, str]]:
        document, words = self.document, self.words
        if document.void:
            return []
        return _titled(
            (words.payment_details, document.payment_details),
            (words.payment_terms, document.payment_terms),
        )

    def _pay_by(self) -> str:
        if self.document.void:
            return self.words.nothing_to_pay
        return self.words.pay_by.format(
            amount=self._amount(self.document.amount_minor), date=self._date(self.document.due_on)
        )

    def _footer(self) -> list[str]:
        sender = self.document.sender
        texts = (self._title(), sender.name, self._tax_id(sender))
        return [_shortened(text, _FOOTER_TEXT_LENGTH) for text in texts if text]

    def _tax_id(self, party: Party) -> str:
        return self.words.tax_id.format(tax_id=party.tax_id) if party.tax_id else ""

    def _amount(self, amount_minor: int) -> str:
        return format_amount(amount_minor, self.document.currency, self.document.locale)

    def _figure(self, amount_minor: int) -> str:
        return format_figure(amount_minor, self.document.currency, self.document.locale)

    def _number(self, number: Decimal) -> str:
        return format_decimal(number, locale=self.locale, decimal_quantization=False)

    def _percent(self, rate: Decimal) -> str:
        return format_percent(rate / 100, locale=self.locale, decimal_quantization=False)

    def _date(self, day: date) -> str:
        return format_date(day, format="long", locale=self.locale)


def _titled(*rows: tuple[str, str]) -> list[dict[str, str]]:
    return [{"title": title, "text": text} for title, text in rows if text.strip()]


def _joined(texts: Iterable[str]) -> str:
    return "\n".join(text for text in texts if text.strip())


def _shortened(text: str, length: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


def _displayable(content: Json) -> Json:
    """Pass every string of the content through `displayable`: no field can be forgotten."""
    if isinstance(content, str):
        return displayable(content).strip()
    if isinstance(content, Mapping):
        return {name: _displayable(value) for name, value in content.items()}
    return [_displayable(item) for item in content]
