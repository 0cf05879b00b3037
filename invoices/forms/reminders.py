"""How an organization reminds, and what is said when that makes no sense."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from invoices.models import Organization

_DAYS = _("Enter a whole number of days from 1 to 365.")
_LIMIT = _("Enter a whole number from 1 to 1000, or leave it empty for no limit.")


class ReminderSettingsForm(forms.ModelForm):  # type: ignore[type-arg]
    """Whether, when and how often an organization reminds its customers."""

    reminders_after_days = forms.IntegerField(
        label=_("Days overdue before the first reminder"),
        min_value=1,
        max_value=365,
        error_messages=dict.fromkeys(("required", "invalid", "min_value", "max_value"), _DAYS),
        help_text=_("With 1 it goes out on the first weekday after the due date."),
    )
    reminder_limit = forms.IntegerField(
        label=_("Reminders for one invoice, at most"),
        required=False,
        min_value=1,
        max_value=1000,
        error_messages=dict.fromkeys(("invalid", "min_value", "max_value"), _LIMIT),
        help_text=_("Empty: one every weekday until the invoice is paid."),
    )

    class Meta:
        model = Organization
        fields = ["reminders_enabled", "reminders_after_days", "reminder_limit"]
        labels = {"reminders_enabled": _("Remind customers of overdue invoices")}
        help_texts = {
            "reminders_enabled": _(
                "Monday to Friday at 08:00 UTC. Switching it off also cancels those that are "
                "recorded but not sent yet."
            )
        }

    def save(self, commit: bool = True) -> Any:
        """Write these columns and no other: what else is known of an organization others write."""
        self.instance.save(update_fields=self.Meta.fields)
        return self.instance
