"""Widgets for what Django's own are too slow for."""

from collections.abc import Iterable, Iterator
from html import escape
from typing import Any

from django import forms
from django.forms.utils import flatatt
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe


class LongSelect(forms.Select):
    """A choice of hundreds, written at once: Django renders a template for each option."""

    def render(
        self, name: str, value: Any, attrs: dict[str, Any] | None = None, renderer: Any = None
    ) -> SafeString:
        attributes = flatatt({"name": name} | self.build_attrs(self.attrs, attrs))
        options = _options(self.choices, set(self.format_value(value)))
        return format_html("<select{}>{}</select>", attributes, mark_safe("\n".join(options)))  # noqa: S308


def _options(choices: Iterable[tuple[Any, Any]], chosen: set[str]) -> Iterator[str]:
    for value, label in choices:
        if isinstance(label, list | tuple):
            yield f'<optgroup label="{escape(str(value))}">'
            yield from _options(label, chosen)
            yield "</optgroup>"
        else:
            selected = " selected" if str(value) in chosen else ""
            yield f'<option value="{escape(str(value))}"{selected}>{escape(str(label))}</option>'
