"""What people enter for an invoice and its lines, and what is said when it makes no sense."""

from datetime import date
from decimal import Decimal
from typing import Any

from babel import Locale
from django import forms
from django.forms import BaseFormSet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from invoices import money, validation
from invoices.draft import DraftLine, NewCustomer
from invoices.drafting import MOST_LINES, MOST_MINOR
from invoices.forms.fields import (
    AddressListField,
    CustomerField,
    FigureField,
    PercentField,
    TaxRatesField,
)
from invoices.models import Organization

_FIRST_DAY, _LAST_DAY = date(2000, 1, 1), date(2199, 12, 31)
_DATE = gettext_lazy("Enter a date such as 2026-03-16.")


def _text(most: int, *, required: bool = False, **options: Any) -> forms.CharField:
    return forms.CharField(
        max_length=most, required=required, validators=[validation.one_line], **options
    )


def _long_text(rows: int, **options: Any) -> forms.CharField:
    return forms.CharField(
        max_length=5_000,
        required=False,
        validators=[validation.plain_text],
        widget=forms.Textarea(attrs={"rows": rows}),
        **options,
    )


def _day(label: Any) -> forms.DateField:
    # Browsers send ISO dates, whatever they show.
    return forms.DateField(
        label=label,
        input_formats=["%Y-%m-%d"],
        widget=forms.DateInput(format="%Y-%m-%d", attrs={"type": "date"}),
        error_messages={"invalid": _DATE},
    )


class DraftForm(forms.Form):
    """An invoice without its lines."""

    number = _text(100, required=True, label=gettext_lazy("Invoice number"))
    new_name = _text(240, label=gettext_lazy("Name"))
    new_email = _text(320, label=gettext_lazy("E-mail address"))
    new_address = _long_text(3, label=gettext_lazy("Postal address"))
    # The new customer's address, once a person has said that another customer may have it too.
    shared = forms.CharField(required=False, max_length=320, widget=forms.HiddenInput)
    to = AddressListField(
        label=gettext_lazy("To"),
        help_text=gettext_lazy("Empty: the customer’s own address. Several: one a line."),
    )
    cc = AddressListField(label=gettext_lazy("Copy (cc)"))
    currency = forms.CharField(
        label=gettext_lazy("Currency"),
        min_length=3,
        max_length=3,
        error_messages=dict.fromkeys(
            ("min_length", "max_length"), gettext_lazy("Enter three letters, such as NGN or EUR.")
        ),
    )
    issued_on = _day(gettext_lazy("Issue date"))
    due_on = _day(gettext_lazy("Due date"))
    payment_terms = _text(500, label=gettext_lazy("Payment terms"))
    notes = _long_text(3, label=gettext_lazy("Notes"))
    version = forms.CharField(required=False, max_length=64, widget=forms.HiddenInput)

    def __init__(self, *args: Any, organization: Organization, locale: Locale, **options: Any):
        super().__init__(*args, **options)
        self.fields["customer"] = CustomerField(organization, label=_("Customer"))
        self.fields["discount_rate"] = PercentField(locale=locale, label=_("Discount, %"))

    def clean_currency(self) -> str:
        code = str(self.cleaned_data["currency"]).upper()
        validation.known_currency(code)
        return code

    def clean_new_email(self) -> str:
        email = str(self.cleaned_data["new_email"]).strip()
        addresses = AddressListField().clean(email)
        if len(addresses) > 1:
            raise forms.ValidationError(
                _("Enter one address here; further ones belong into “To” or “Copy”.")
            )
        return email

    def clean(self) -> dict[str, Any]:
        values = self.cleaned_data
        self._check_customer(values)
        for field in ("issued_on", "due_on"):
            day = values.get(field)
            if day is not None and not _FIRST_DAY <= day <= _LAST_DAY:
                self.add_error(field, _("Enter a date between the years 2000 and 2199."))
        issued_on, due_on = values.get("issued_on"), values.get("due_on")
        if issued_on and due_on and due_on < issued_on:
            self.add_error("due_on", _("The due date is before the issue date."))
        return values

    def _check_customer(self, values: dict[str, Any]) -> None:
        new = any(values.get(field) for field in ("new_name", "new_email", "new_address"))
        chosen = "customer" in values and values["customer"] is not None
        if chosen and new:
            self.add_error("customer", _("Choose a customer or enter a new one, not both."))
        elif new and not values.get("new_name") and "new_name" not in self.errors:
            self.add_error("new_name", _("Enter the new customer’s name."))
        elif not (chosen or new or "customer" in self.errors):
            self.add_error("customer", _("Choose a customer, or enter a new one."))

    @property
    def customer_chosen(self) -> Any:
        values = self.cleaned_data
        return values.get("customer") or NewCustomer(
            name=values["new_name"],
            email=values["new_email"],
            address=values["new_address"],
            shared=values["shared"],
        )


class LineForm(forms.Form):
    """One line; without description and price it counts as none."""

    description = _text(1000, label=gettext_lazy("Description"))

    def __init__(self, *args: Any, locale: Locale, currency: str, **options: Any) -> None:
        super().__init__(*args, **options)
        places = money.minor_unit_exponent(currency)
        self.places = places
        self.fields["quantity"] = FigureField(
            label=_("Quantity"),
            locale=locale,
            places=money.QUANTITY_PLACES,
            least=Decimal("0.000001"),
            most=Decimal("9999999999.999999"),
            out_of_range=_("Enter a quantity above zero and below ten thousand million."),
        )
        largest = Decimal(MOST_MINOR).scaleb(-places)
        self.fields["unit_price"] = FigureField(
            label=_("Unit price"),
            locale=locale,
            places=places,
            least=-largest,
            most=largest,
            out_of_range=_("This price is too large."),
        )
        self.fields["tax_rate"] = TaxRatesField(locale=locale, label=_("Tax, %"))

    def clean(self) -> dict[str, Any]:
        values = self.cleaned_data
        if self.is_blank:
            return values
        for field, sentence in (
            ("description", _("Say what it is for.")),
            ("quantity", _("Enter a quantity.")),
            ("unit_price", _("Enter a price.")),
        ):
            if field not in self.errors and values.get(field) in {None, ""}:
                self.add_error(field, sentence)
        return values

    @property
    def is_blank(self) -> bool:
        typed = (self.data.get(self.add_prefix(name)) for name in ("description", "unit_price"))
        return not any(text and text.strip() for text in typed)

    @property
    def line(self) -> DraftLine | None:
        """What the line says; None for a blank one. Only of a valid form."""
        values = self.cleaned_data
        if self.is_blank:
            return None
        first, second = values["tax_rate"]
        return DraftLine(
            description=values["description"],
            quantity=values["quantity"],
            unit_price_minor=int(values["unit_price"].scaleb(self.places)),
            tax_rate=first,
            second_tax_rate=second,
        )


class LineForms(BaseFormSet):  # type: ignore[type-arg]
    default_error_messages = {
        "missing_management_form": gettext_lazy("The form came incomplete: load the page again."),
        "too_many_forms": gettext_lazy("An invoice has at most %(num)d lines."),
    }


LineFormSet = forms.formset_factory(
    LineForm,
    formset=LineForms,
    extra=0,
    max_num=MOST_LINES,
    validate_max=True,
    absolute_max=MOST_LINES + 1,
)
