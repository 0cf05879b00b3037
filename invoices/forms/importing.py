"""The forms of the import page: a file, and what it does not tell by itself."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import gettext_lazy as _

from invoices import importing
from invoices.uploads import LIMIT_BYTES

_TOO_LARGE = _(
    "Files of more than 10 MB are for the command, which shows its progress: "
    "manage.py import_invoices FILE.csv --organization %(slug)s"
)


class OptionsForm(forms.Form):
    """How a file is to be read. Empty choices: as the file itself tells."""

    dates = forms.ChoiceField(
        label=_("Dates with slashes"),
        required=False,
        choices=[
            ("", _("As the file tells")),
            ("dmy", _("Day first: 31/12/2026")),
            ("mdy", _("Month first: 12/31/2026")),
        ],
    )
    decimal = forms.ChoiceField(
        label=_("Decimal mark"),
        required=False,
        choices=[
            ("", _("As the file tells")),
            (",", _("Comma: 1.234,50")),
            (".", _("Point: 1,234.50")),
        ],
    )
    skip_existing = forms.BooleanField(
        label=_("Leave out invoices that exist already"), required=False
    )

    @property
    def options(self) -> importing.Options:
        said = self.cleaned_data
        return importing.Options(
            dates=said["dates"] or None,
            decimal=said["decimal"] or None,
            skip_existing=said["skip_existing"],
        )


class UploadForm(OptionsForm):
    file = forms.FileField(
        label=_("CSV file"),
        max_length=200,
        widget=forms.ClearableFileInput(attrs={"accept": ".csv,.txt,.tsv,text/csv"}),
        error_messages={
            "required": _("Choose a file."),
            "empty": _("The file is empty."),
            "max_length": _("The file’s name is too long."),
        },
    )
    field_order = ["file"]

    def __init__(self, *args: Any, slug: str, **values: Any) -> None:
        super().__init__(*args, **values)
        self._slug = slug

    def clean_file(self) -> UploadedFile[bytes]:
        file: UploadedFile[bytes] = self.cleaned_data["file"]
        if (file.size or 0) > LIMIT_BYTES:
            raise forms.ValidationError(_TOO_LARGE, params={"slug": self._slug})
        return file
