"""What people enter about a customer."""

from typing import Any, cast

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from invoices import addresses, choices, validation
from invoices.forms.editing import EditingForm
from invoices.forms.widgets import LongSelect
from invoices.models import Customer


class CustomerForm(EditingForm):
    email = forms.CharField(
        label=_("E-mail address"),
        required=False,
        max_length=addresses.LONGEST,
        widget=forms.TextInput(
            attrs={"inputmode": "email", "autocomplete": "off", "spellcheck": "false"}
        ),
        help_text=_("Where invoices and reminders go."),
    )
    address = forms.CharField(
        label=_("Postal address"),
        required=False,
        max_length=2_000,
        widget=forms.Textarea(attrs={"rows": 4, "dir": "auto"}),
        help_text=_("As it stands on an envelope, without the name."),
    )
    tax_id = forms.CharField(
        label=_("Tax ID"), required=False, max_length=60, validators=[validation.one_line]
    )
    language = forms.ChoiceField(
        label=_("Language"),
        required=False,
        widget=LongSelect,
        help_text=_("How dates and amounts are written in what the customer gets."),
    )

    # The address of which a person said that another customer may have it too.
    shared = forms.CharField(required=False, max_length=320, widget=forms.HiddenInput)

    class Meta:
        model = Customer
        fields = ["name", "email", "address", "tax_id", "language", "reminders_paused"]
        labels = {
            "name": _("Name"),
            "reminders_paused": _("Pause reminders"),
        }
        help_texts = {
            "reminders_paused": _(
                "While it is ticked, no invoice of this customer is reminded of, and reminders "
                "that wait are cancelled."
            ),
        }
        widgets = {
            "name": forms.TextInput(attrs={"dir": "auto", "autocomplete": "off"}),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["name"].required = True
        self.fields["language"].choices = [  # type: ignore[attr-defined]
            ("", _("That of the organization")),
            *choices.languages_with(self.instance.language),
        ]

    def ask_about_the_address(self) -> None:
        """Let the form say, when it is saved once more, that its address is shared on purpose."""
        data = cast(QueryDict, self.data).copy()
        data["shared"] = self.cleaned_data["email"]
        self.data = data

    def clean_email(self) -> str:
        """Refuse a new address that cannot work; an imported one may stay as it is."""
        address = str(self.cleaned_data["email"])
        if address and address != self.initial.get("email", "").strip():
            addresses.one_address(address)
        return address
