"""Figures as people type them, and what is refused rather than guessed."""

import pytest
from django.contrib.auth.models import User

from invoices import figures, money
from invoices.models import Organization
from invoices.templatetags.numbers import counted


@pytest.mark.parametrize("tag", ["fr", "pt-PT", "pl", "nb", "sv", "en-ZA"])
@pytest.mark.parametrize("text", ["1.500", "25.00"])
def test_a_mark_that_is_not_the_locales_is_refused_not_guessed(tag: str, text: str) -> None:
    with pytest.raises(figures.NoFigure):
        figures.parse_minor(text, money.find_locale(tag), currency="EUR")


def test_more_places_than_the_currency_has_are_refused_even_if_they_are_zero() -> None:
    with pytest.raises(figures.NoFigure, match="at most 2"):
        figures.parse_minor("1.500", money.find_locale("en"), currency="EUR")


def test_counts_are_written_as_amounts_are_in_the_organizations_language(
    owner: User, organization: Organization
) -> None:
    member = owner.memberships.get()
    member.organization.language = "de"
    assert counted(12_500, member) == "12.500"
    member.organization.language = "en-NG"
    assert counted(12_500, member) == "12,500"
