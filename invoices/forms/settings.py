"""What owners enter about their organization, its logo and its e-mails."""

from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import gettext_lazy as _

from invoices import addresses, branding, choices, letters, validation
from invoices.forms.editing import EditingForm
from invoices.forms.widgets import LongSelect
from invoices.models import EmailText, Organization


def _text_area(rows: int) -> forms.Textarea:
    return forms.Textarea(attrs={"rows": rows, "dir": "auto"})


class OrganizationForm(EditingForm):
    email = forms.CharField(
        label=_("Reply-to address"),
        max_length=addresses.LONGEST,
        validators=[addresses.one_address],
        widget=forms.TextInput(attrs={"inputmode": "email", "spellcheck": "false"}),
        help_text=_("Where customers’ answers go."),
    )
    address = forms.CharField(
        label=_("Postal address"), required=False, max_length=2_000, widget=_text_area(4)
    )
    tax_id = forms.CharField(
        label=_("Tax ID"), required=False, max_length=60, validators=[validation.one_line]
    )
    payment_details = forms.CharField(
        label=_("Payment details"),
        required=False,
        max_length=2_000,
        widget=_text_area(4),
        help_text=_("How customers pay: it stands on every invoice and in every e-mail."),
    )
    language = forms.ChoiceField(
        label=_("Language"),
        widget=LongSelect,
        help_text=_("How dates and amounts are written, unless a customer has another one."),
    )
    time_zone = forms.ChoiceField(
        label=_("Time zone"),
        widget=LongSelect,
        help_text=_("For the times on these pages, and for when an invoice becomes overdue."),
    )

    class Meta:
        model = Organization
        fields = [
            *("name", "sender_name", "email", "address", "tax_id", "payment_details"),
            *("language", "time_zone"),
        ]
        labels = {"name": _("Name"), "sender_name": _("Sender name")}
        help_texts = {
            "name": _("As it stands on invoices."),
            "sender_name": _(
                "Whom customers see in their inbox as the sender; empty for the name above."
            ),
        }
        widgets = {
            "name": forms.TextInput(attrs={"dir": "auto", "autocomplete": "off"}),
            "sender_name": forms.TextInput(attrs={"dir": "auto", "autocomplete": "off"}),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        known = choices.languages_with(self.instance.language)
        zones = choices.time_zones_with(self.instance.time_zone)
        self.fields["language"].choices = known  # type: ignore[attr-defined]
        self.fields["time_zone"].choices = zones  # type: ignore[attr-defined]


class EmailTextForm(EditingForm):
    """The words of one kind of e-mail: that of the instance."""

    class Meta:
        model = EmailText
        fields = ["subject", "text"]
        labels = {"subject": _("Subject"), "text": _("Text")}
        widgets = {
            "subject": forms.TextInput(attrs={"dir": "auto", "autocomplete": "off"}),
            "text": _text_area(8),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("auto_id", f"id_{kwargs['instance'].kind}_%s")
        super().__init__(*args, **kwargs)
        kind = self.instance.kind
        self.fields["subject"].widget.attrs["placeholder"] = letters.DEFAULT_SUBJECTS[kind]
        self.fields["text"].widget.attrs["placeholder"] = letters.DEFAULT_TEXTS[kind]

    def clean_subject(self) -> str:
        return self._with_known_placeholders("subject")

    def clean_text(self) -> str:
        return self._with_known_placeholders("text")

    def _with_known_placeholders(self, field: str) -> str:
        text = str(self.cleaned_data[field])
        letters.only_known_placeholders(self.instance.kind, text)
        return text


class LogoForm(forms.Form):
    picture = forms.FileField(
        label=_("Picture"),
        allow_empty_file=True,
        widget=forms.FileInput(attrs={"accept": "image/png,image/jpeg"}),
        help_text=_("PNG or JPEG, at most 200 KB and 2000 × 2000 pixels."),
        error_messages={"required": _("Choose a file first.")},
    )

    def clean_picture(self) -> branding.Picture:
        upload: UploadedFile[Any] = self.cleaned_data["picture"]
        # One byte too many is enough to know; the rest of a huge file is not read.
        return branding.read_picture(upload.read(branding.MOST_BYTES + 1), size=upload.size)
