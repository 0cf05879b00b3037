"""What the form of an invoice shows beside its fields: what the lines come to."""

from dataclasses import dataclass

from django.utils.translation import gettext as _

from invoices.drafting import amount_impossible
from invoices.forms.drafts import LineForm
from invoices.forms.entries import Entry
from invoices.forms.fields import MOST_CHOICES, caption, named
from invoices.models import Customer
from invoices.pages.details import Sum, sums_of
from invoices.pages.formats import Formats

_MOST_MISTAKES = 5


@dataclass(frozen=True, kw_only=True)
class TotalsBox:
    """Amounts as the server decides them. No sums while something typed makes no sense."""

    # One for each line of the form, in order; empty for a blank or a wrong one.
    nets: tuple[str, ...]
    sums: tuple[Sum, ...]
    mistakes: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class LineFields:
    """One line of the form: its fields, and what it comes to."""

    place: int
    form: LineForm
    net: str

    @property
    def index(self) -> int:
        return self.place - 1


@dataclass(frozen=True, kw_only=True)
class DraftPage:
    """The form's lines and totals, and the customers to choose from; none if they are too many."""

    lines: tuple[LineFields, ...]
    totals: TotalsBox
    customers: tuple[tuple[str, str], ...]
    many_customers: bool
    customer: str
    # Whether a new customer is being entered: its fields then stand open.
    new_customer: bool


def draft_page(entry: Entry, customers: list[Customer], formats: Formats) -> DraftPage:
    """Return the page of an entry; `customers` are those of the organization, if not too many."""
    totals = totals_box(entry, formats)
    new = ("new_name", "new_email", "new_address")
    many = len(customers) > MOST_CHOICES
    return DraftPage(
        lines=tuple(
            LineFields(place=place, form=form, net=net)
            for place, (form, net) in enumerate(
                zip(entry.lines.forms, totals.nets, strict=True), start=1
            )
        ),
        totals=totals,
        customers=() if many else tuple((str(each.pk), caption(each)) for each in customers),
        many_customers=many,
        customer=_customer_shown(entry, many),
        new_customer=not customers or any(entry.form[name].value() for name in new),
    )


def _customer_shown(entry: Entry, many: bool) -> str:
    """Return what stands in the customer's field: what was typed, or the name behind an id."""
    value = str(entry.form["customer"].value() or "")
    if not many:
        found = named(entry.organization, value) if value else []
        return str(found[0].pk) if len(found) == 1 else ""
    if value.isdigit():
        found = named(entry.organization, value)
        return caption(found[0]) if found else value
    return value


def totals_box(entry: Entry, formats: Formats) -> TotalsBox:
    totals = entry.totals
    nets = tuple(
        "" if line is None else formats.figure(line.net_minor, entry.currency)
        for line in entry.line_by_place
    )
    if totals is None:
        return TotalsBox(nets=nets, sums=(), mistakes=_mistakes(entry))
    impossible = amount_impossible(totals.gross_minor)
    return TotalsBox(
        nets=nets,
        sums=sums_of(entry.drafted, entry.discount_rate, entry.currency, formats),
        mistakes=(impossible,) if impossible else (),
    )


def _mistakes(entry: Entry) -> tuple[str, ...]:
    """Return what is wrong in the fields that the total depends on, the first few."""
    found = [*entry.lines.non_form_errors()]
    for place, form in enumerate(entry.lines.forms, start=1):
        for errors in form.errors.values():
            found += [
                _("Line %(place)s: %(error)s") % {"place": place, "error": error}
                for error in errors
            ]
    for field in ("discount_rate", "currency"):
        label = entry.form.fields[field].label
        found += [f"{label}: {error}" for error in entry.form.errors.get(field, ())]
    return tuple(str(mistake) for mistake in found[:_MOST_MISTAKES])
