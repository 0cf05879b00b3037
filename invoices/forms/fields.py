"""Fields for what invoices hold: figures in a locale, addresses, a customer."""

from decimal import Decimal
from typing import Any

from babel import Locale
from django import forms
from django.core.exceptions import ValidationError
from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from invoices import addresses, figures
from invoices.models import Customer, Organization

# A longer list is no list to choose from: people type instead, and are offered what fits.
MOST_CHOICES = 200
_OFFERED = 20


class FigureField(forms.CharField):
    """A number as the locale writes it; empty is None."""

    def __init__(self, *, locale: Locale, places: int, **options: Any) -> None:
        self.locale, self.places = locale, places
        self.least = options.pop("least", None)
        self.most = options.pop("most", None)
        self.out_of_range = options.pop("out_of_range", "")
        widget = forms.TextInput(attrs={"inputmode": "decimal", "autocomplete": "off"})
        super().__init__(required=False, widget=widget, **options)

    def clean(self, value: Any) -> Decimal | None:
        text = super().clean(value)
        if not text:
            return None
        try:
            figure = figures.parse(text, self.locale, places=self.places)
        except figures.NoFigure as error:
            raise ValidationError(str(error), code="figure") from error
        too_small = self.least is not None and figure < self.least
        if too_small or (self.most is not None and figure > self.most):
            raise ValidationError(self.out_of_range, code="range")
        return figure


class PercentField(FigureField):
    """A rate from 0 to 100 per cent, with or without the sign."""

    def __init__(self, *, locale: Locale, **options: Any) -> None:
        super().__init__(
            locale=locale,
            places=4,
            least=0,
            most=100,
            out_of_range=_("Enter a rate from 0 to 100 %."),
            **options,
        )

    def clean(self, value: Any) -> Decimal:
        text = value.strip().removesuffix("%") if isinstance(value, str) else value
        return super().clean(text) or Decimal(0)


class TaxRatesField(forms.CharField):
    """The rate of a line's tax, or the rates of two: 5 + 9.975. Always returns two, 0 for none."""

    def __init__(self, *, locale: Locale, **options: Any) -> None:
        # Not inputmode=decimal: a phone's keyboard for figures has no plus.
        widget = forms.TextInput(attrs={"autocomplete": "off"})
        super().__init__(required=False, max_length=100, widget=widget, **options)
        self._rate = PercentField(locale=locale)

    def clean(self, value: Any) -> tuple[Decimal, Decimal]:
        parts = super().clean(value).split("+")
        rates = [rate for rate in map(self._rate.clean, parts) if rate]
        if len(rates) > 2:
            raise ValidationError(_("A line has at most two taxes."), code="many")
        if len(rates) == 2 and rates[0] == rates[1]:
            raise ValidationError(
                _("Enter two taxes of the same rate as one: twice as much."), code="same"
            )
        first, second = [*rates, Decimal(0), Decimal(0)][:2]
        return first, second


class AddressListField(forms.CharField):
    """E-mail addresses, one a line or parted by commas."""

    def __init__(self, **options: Any) -> None:
        widget = forms.Textarea(attrs={"rows": 2, "spellcheck": "false", "autocapitalize": "off"})
        super().__init__(required=False, max_length=20_000, widget=widget, **options)

    def clean(self, value: Any) -> tuple[str, ...]:
        text = super().clean(value)
        try:
            return tuple(addresses.parse_list(text))
        except addresses.Refused as error:
            raise ValidationError(str(error), code="addresses") from error


class CustomerField(forms.CharField):
    """One of the organization's customers: chosen, or named by what is typed."""

    def __init__(self, organization: Organization, **options: Any) -> None:
        super().__init__(required=False, max_length=700, **options)
        self.organization = organization

    def clean(self, value: Any) -> Customer | None:
        text = super().clean(value)
        if not text:
            return None
        found = named(self.organization, text)
        if len(found) == 1:
            return found[0]
        if not found:
            raise ValidationError(
                _("There is no customer “%(text)s”: choose one, or enter a new one below.")
                % {"text": text[:80]},
                code="unknown",
            )
        raise ValidationError(
            _("Several customers fit “%(text)s”: choose one of the list.") % {"text": text[:80]},
            code="ambiguous",
        )


def customers_of(organization: Organization) -> QuerySet[Customer]:
    return Customer.objects.filter(organization=organization, removed_at__isnull=True)


def offered(organization: Organization, typed: str) -> list[Customer]:
    """Return a few customers that what is typed so far may mean."""
    typed = typed.strip()
    return list(
        customers_of(organization)
        .filter(Q(name__icontains=typed) | Q(email__icontains=typed))
        .order_by("name", "pk")[:_OFFERED]
    )


def caption(customer: Customer) -> str:
    """Return how a customer stands in the list: what `named` finds again."""
    parts = [part for part in (customer.name.strip(), customer.email.strip()) if part]
    return f"{', '.join(parts) or _('without a name')} (#{customer.pk})"


def named(organization: Organization, text: str) -> list[Customer]:
    """Return whom the text names: by the number of the list, else by address, else by name."""
    customers = customers_of(organization)
    number = text.rpartition("(#")[2].removesuffix(")") if text.endswith(")") else text
    is_id = number.isascii() and number.isdigit() and len(number) < 19
    by_id = list(customers.filter(pk=int(number))) if is_id else []
    if by_id:
        return by_id
    for rule in (Q(email__iexact=text), Q(name__iexact=text), Q(name__istartswith=text)):
        if found := list(customers.filter(rule)[:2]):
            return found
    return []
