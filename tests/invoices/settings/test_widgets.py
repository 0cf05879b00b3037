"""Long lists to choose from are written as Django writes them, only faster."""

from typing import Any

import pytest
from django import forms
from django.test.html import parse_html

from invoices.forms.widgets import LongSelect

CHOICES = [
    ("", "Nothing"),
    ("Africa", [("Africa/Lagos", "Lagos"), ("Africa/Porto-Novo", "Porto-Novo")]),
    ("<b>", [("\"&'", "</option><script>")]),
    (7, "Seven"),
]


@pytest.mark.parametrize("value", [None, "", "Africa/Lagos", "\"&'", 7, "7", "gone", "<i>"])
def test_it_is_what_django_writes(value: Any) -> None:
    attributes = {"id": "id_zone", "title": '"now" & <then>', "required": True, "disabled": False}
    ours, djangos = (
        kind(attributes, CHOICES).render("zone", value, {"aria-invalid": "true"})
        for kind in (LongSelect, forms.Select)
    )
    assert parse_html(ours) == parse_html(djangos)
    assert "<script>" not in ours
