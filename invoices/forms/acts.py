"""What is asked before something is done to an invoice: why, or when."""

from datetime import date
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from invoices import resending, validation, voiding


class AgainForm(forms.Form):
    """Why an invoice is sent once more; `number` names the intent: `sending.times_requested`."""

    number = forms.IntegerField(min_value=0, max_value=10_000_000, widget=forms.HiddenInput)
    reason = forms.CharField(
        label=_("Why is it sent again?"),
        max_length=resending.MOST_REASON,
        validators=[validation.one_line],
        error_messages={
            "required": _("Say why: it stands in the timeline for whoever asks later.")
        },
        help_text=_("Stands in the timeline; the customer does not see it."),
    )

    def __init__(self, data: Any = None, *, number: int) -> None:
        super().__init__(data, initial={"number": number})
        if not number:
            self.fields["reason"].label = _("Why is it sent from here?")


class VoidForm(forms.Form):
    """Why an invoice is void."""

    reason = forms.CharField(
        label=_("Why is it void?"),
        max_length=voiding.MOST_REASON,
        validators=[validation.one_line],
        error_messages={
            "required": _("Say why: it stands in the timeline for whoever asks later.")
        },
        help_text=_("Stands in the timeline; the customer does not see it."),
    )


class PaidForm(forms.Form):
    """When an invoice was paid."""

    day = forms.DateField(
        label=_("Paid on"),
        input_formats=["%Y-%m-%d"],
        widget=forms.DateInput(format="%Y-%m-%d", attrs={"type": "date"}),
        error_messages=dict.fromkeys(
            ("required", "invalid"), _("Enter a date such as 2026-03-16.")
        ),
    )

    def __init__(self, data: Any, *, today: date) -> None:
        super().__init__(data, initial={"day": today})
        self.fields["day"].widget.attrs["max"] = today.isoformat()
