"""Figures as people type them, and what is refused rather than guessed."""

import pytest

from invoices import figures, money


@pytest.mark.parametrize("tag", ["fr", "pt-PT", "pl", "nb", "sv", "en-ZA"])
@pytest.mark.parametrize("text", ["1.500", "25.00"])
def test_a_mark_that_is_not_the_locales_is_refused_not_guessed(tag: str, text: str) -> None:
    with pytest.raises(figures.NoFigure):
        figures.parse_minor(text, money.find_locale(tag), currency="EUR")


def test_more_places_than_the_currency_has_are_refused_even_if_they_are_zero() -> None:
    with pytest.raises(figures.NoFigure, match="at most 2"):
        figures.parse_minor("1.500", money.find_locale("en"), currency="EUR")
