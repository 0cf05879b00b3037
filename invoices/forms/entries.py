"""An invoice as it is being entered: the form, its lines, and what they make together."""

from collections.abc import Mapping
from datetime import date, timedelta
from decimal import Decimal
from typing import Self

from babel import Locale
from django.utils.functional import cached_property

from invoices import figures, money, numbering
from invoices.draft import Draft, DraftLine, version_of
from invoices.drafting import MOST_LINES
from invoices.forms.drafts import DraftForm, LineFormSet
from invoices.models import Invoice, InvoiceLine, Organization

_PREFIX = "lines"
_LINE_FIELDS = ("description", "quantity", "unit_price", "tax_rate")
_DAYS_TO_PAY = 14


class Entry:
    """The forms of one invoice, as they came back or as they begin.

    They are always bound, so that the totals are there from the first look on; what is wrong is
    shown only once somebody has `judged` it by saving.
    """

    def __init__(
        self,
        organization: Organization,
        locale: Locale,
        *,
        data: Mapping[str, str],
        judged: bool = True,
    ) -> None:
        self.organization, self.locale, self.judged = organization, locale, judged
        self.data = data
        self.currency = _known(data.get("currency", ""))
        self.form = DraftForm(data, organization=organization, locale=locale)
        self.lines = LineFormSet(
            data, prefix=_PREFIX, form_kwargs={"locale": locale, "currency": self.currency}
        )

    @classmethod
    def of_new(
        cls, organization: Organization, locale: Locale, *, today: date, customer: str = ""
    ) -> Self:
        """Begin with what is likely: the next number, the last invoice's currency and terms.

        The last that was entered here: a file's terms and taxes are those of another program.
        """
        newest = Invoice.objects.of(organization).order_by("-issued_on", "-id")
        last = newest.entered().first()
        like = last or newest.first()
        last_line = InvoiceLine.objects.filter(invoice=last).first() if last else None
        values = {
            "number": numbering.next_number(organization),
            "currency": like.currency if like else "EUR",
            "issued_on": today.isoformat(),
            "due_on": (today + timedelta(days=_DAYS_TO_PAY)).isoformat(),
            "payment_terms": last.payment_terms if last else "",
            "customer": customer,
        }
        line = _blank(_typed_rates(last_line, locale) if last_line else "")
        return cls(organization, locale, data=_as_data(values, [line]), judged=False)

    @classmethod
    def of_invoice(cls, invoice: Invoice, locale: Locale) -> Self:
        columns = ("number", "currency", "issued_on", "due_on", "payment_terms", "notes")
        values = {name: str(getattr(invoice, name)) for name in columns} | {
            "customer": str(invoice.customer_id),
            "discount_rate": _typed_rate(invoice.discount_rate, locale),
            "to": "\n".join(invoice.to),
            "cc": "\n".join(invoice.cc),
            "version": version_of(invoice),
        }
        currency = _known(invoice.currency)
        lines = [_typed(line, currency, locale) for line in invoice.lines.all()]
        lines = lines or [_blank()]
        return cls(invoice.organization, locale, data=_as_data(values, lines), judged=False)

    @property
    def step(self) -> str:
        """Return which button about the lines was pressed: add-line, remove-line-3; or nothing."""
        wanted = (name for name in self.data if name.startswith(("add-line", "remove-line-")))
        return next(wanted, "")

    def rearranged(self) -> Self:
        """Return the same entry with a line more or less: nothing typed is lost or judged."""
        lines = self._typed_lines()
        if self.step == "add-line":
            lines = [*lines, _blank(lines[-1]["tax_rate"] if lines else "")][:MOST_LINES]
        else:
            gone = self.step.removeprefix("remove-line-")
            lines = [line for place, line in enumerate(lines) if str(place) != gone]
        values = {name: self.data.get(name, "") for name in self.form.fields}
        return type(self)(
            self.organization, self.locale, data=_as_data(values, lines), judged=False
        )

    def is_valid(self) -> bool:
        # Both, so that all that is wrong is said at once.
        return all([self.form.is_valid(), self.lines.is_valid()])

    def draft(self) -> Draft:
        """Return what was entered. Only of a valid entry."""
        values = self.form.cleaned_data
        columns = ("number", "currency", "issued_on", "due_on", "payment_terms", "notes")
        return Draft(
            customer=self.form.customer_chosen,
            lines=tuple(self.drafted),
            **{name: values[name] for name in (*columns, "discount_rate", "to", "cc")},
        )

    @property
    def version(self) -> str:
        return self.data.get("version", "")

    def sharing(self) -> Self:
        """Return the same entry, whose new customer's address may be another's too."""
        data = {**_flat(self.data), "shared": self.data.get("new_email", "")}
        return type(self)(self.organization, self.locale, data=data)

    def over(self, version: str) -> Self:
        """Return the same entry, made to go over what is stored now: the person has been told."""
        data = {**_flat(self.data), "version": version}
        return type(self)(self.organization, self.locale, data=data)

    @cached_property
    def drafted(self) -> list[DraftLine]:
        """The lines that make sense, in order, blank ones left out."""
        return [line for line in self.line_by_place if line is not None]

    @cached_property
    def line_by_place(self) -> list[DraftLine | None]:
        return [form.line if form.is_valid() else None for form in self.lines.forms]

    @property
    def discount_rate(self) -> Decimal:
        self.form.is_valid()
        rate: Decimal = self.form.cleaned_data.get("discount_rate") or Decimal(0)
        return rate

    @cached_property
    def totals(self) -> money.Totals | None:
        """What the lines come to; None while one of them, or the discount, makes no sense."""
        if not self.lines.is_valid() or {"discount_rate", "currency"} & self.form.errors.keys():
            return None
        return money.totals(self.drafted, discount_rate=self.discount_rate)

    def _typed_lines(self) -> list[dict[str, str]]:
        return [
            {name: self.data.get(form.add_prefix(name), "") for name in _LINE_FIELDS}
            for form in self.lines.forms
        ]


def _as_data(values: Mapping[str, str], lines: list[dict[str, str]]) -> dict[str, str]:
    """Return what a browser would send."""
    count = {f"{_PREFIX}-TOTAL_FORMS": str(len(lines)), f"{_PREFIX}-INITIAL_FORMS": "0"}
    typed = {
        f"{_PREFIX}-{place}-{name}": text
        for place, line in enumerate(lines)
        for name, text in line.items()
    }
    return {**values, **count, **typed}


def _flat(data: Mapping[str, str]) -> dict[str, str]:
    return {name: data[name] for name in data}


def _known(currency: str) -> str:
    """Return a currency to read prices in; which one it must be is the form's to say."""
    try:
        return money.validate_currency(currency.strip().upper())
    except money.UnknownCurrency:
        return "EUR"


def _typed(line: InvoiceLine, currency: str, locale: Locale) -> dict[str, str]:
    return {
        "description": line.description,
        "quantity": figures.typed(line.quantity.normalize(), locale),
        "unit_price": figures.typed_price(line.unit_price_minor, locale, currency=currency),
        "tax_rate": _typed_rates(line, locale),
    }


def _typed_rate(rate: Decimal, locale: Locale) -> str:
    return figures.typed(rate.normalize(), locale) if rate else ""


def _typed_rates(line: InvoiceLine, locale: Locale) -> str:
    return " + ".join(_typed_rate(rate, locale) for rate in money.rates_of(line))


def _blank(rates: str = "") -> dict[str, str]:
    return {"description": "", "quantity": "1", "unit_price": "", "tax_rate": rates}
