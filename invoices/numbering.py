"""What the next invoice is called, as the organization's people number theirs."""

import re

from invoices.models import Invoice, Organization

_FIRST = "INV-0001"
# Looked at to tell the pattern and its highest number; older ones are lower or long taken.
_LOOKED_AT = 1_000
_LAST_FIGURES = re.compile(r"^(.*?)([0-9]+)([^0-9]*)$")
_LONGEST = Invoice._meta.get_field("number").max_length or 100


def next_number(organization: Organization) -> str:
    """Return the number after the highest of the latest invoice's pattern; one that is free.

    What was imported is numbered as somebody else does it, and does not count.
    Only a proposal: whoever saves first gets it.
    """
    recent = list(
        Invoice.objects.of(organization)
        .entered()
        .order_by("-issued_on", "-id")
        .values_list("number", flat=True)[:_LOOKED_AT]
    )
    pattern = next((found for number in recent if (found := _LAST_FIGURES.match(number))), None)
    if pattern is None:
        return _free(organization, _FIRST)
    before, _figures, after = pattern.groups()
    parts = [found.groups() for number in recent if (found := _LAST_FIGURES.match(number))]
    same = [digits for start, digits, end in parts if (start, end) == (before, after)]
    highest = max(same, key=int)
    return _free(organization, f"{before}{_following(highest)}{after}")


def after(number: str) -> str:
    """Return the number with its last figures one higher: INV-0009 → INV-0010."""
    found = _LAST_FIGURES.match(number)
    if found is None:
        return f"{number}-2"
    before, figures, end = found.groups()
    return f"{before}{_following(figures)}{end}"


def _free(organization: Organization, number: str) -> str:
    for _attempt in range(100):
        if not Invoice.objects.of(organization).filter(number=number).exists():
            break
        number = after(number)
    return number[:_LONGEST]


def _following(figures: str) -> str:
    return str(int(figures) + 1).zfill(len(figures))
