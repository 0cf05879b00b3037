"""No inline script or style on any page about reminders."""

import re

from django.test import Client

from invoices.models import Invoice
from tests.invoices.reminders.runs import MONDAY, run
from tests.reading import text

SETTINGS = "/settings/reminders"


def test_the_pages_hold_no_inline_script_or_style(as_owner: Client, overdue: Invoice) -> None:
    run(MONDAY)
    for address in (f"/invoices/{overdue.pk}", "/reminders?date=2026-03-02", SETTINGS):
        page = text(as_owner.get(address))
        assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=", page)
