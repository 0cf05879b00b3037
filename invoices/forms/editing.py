"""Forms of rows that two people may have open at once; see invoices.editing."""

from collections.abc import Iterable
from typing import Any, cast

from django import forms
from django.db.models import Model
from django.http import QueryDict
from django.utils.translation import gettext as _

from invoices.editing import ChangedMeanwhile, fingerprint


class EditingForm(forms.ModelForm):  # type: ignore[type-arg]
    """A form that remembers what it was shown with. The rule module saves, not the form."""

    seen = forms.CharField(required=False, max_length=100, widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial["seen"] = fingerprint(self.instance, self.row_fields())

    @classmethod
    def row_fields(cls) -> Iterable[str]:
        return cls._meta.fields or ()

    @property
    def values(self) -> dict[str, Any]:
        """What to write, once the form is valid."""
        return {field: self.cleaned_data[field] for field in self.row_fields()}

    @classmethod
    def shown_with(cls, row: Model) -> str:
        return fingerprint(row, cls.row_fields())

    def tell_conflict(self, conflict: ChangedMeanwhile) -> None:
        """Say what is there now beside what was typed; saving once more then means it."""
        data = cast(QueryDict, self.data).copy()
        data["seen"] = conflict.seen
        self.data = data
        self.add_error(
            None,
            _(
                "Somebody else has changed this meanwhile. Nothing is saved yet, and what you "
                "typed is still here: save again to overwrite what is there now."
            ),
        )
        for field, value in conflict.fields.items():
            self.add_error(field, _("There is now: %s") % self._in_words(field, value))

    def _in_words(self, name: str, value: Any) -> str:
        field = self.fields[name]
        if isinstance(value, bool):
            return _("switched on") if value else _("switched off")
        if isinstance(field, forms.ChoiceField):
            value = _labels(field.widget.choices).get(value, value)
        return f"“{value}”" if value else _("nothing")


def _labels(choices: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    """Return the label of each choice, out of its group where there are groups."""
    labels: dict[Any, Any] = {}
    for value, label in choices:
        labels |= _labels(label) if isinstance(label, list | tuple) else {value: label}
    return labels
