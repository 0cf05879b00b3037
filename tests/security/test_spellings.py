"""However a name is spelled, guesses at it count together, and its owner is let in."""

from typing import Any
from unicodedata import normalize

import pytest
from django.contrib.auth.forms import AuthenticationForm, UsernameField
from django.contrib.auth.models import User
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from invoicehub import throttle
from invoicehub.models import LoginFailures
from tests.security.test_throttle import PAGES, PASSWORD, few, log_in

__all__ = ["few"]

SPELLINGS = ("  owner", "owner\t", "\u3000owner", "\u00a0owner\x0b", "\u3000ｏｗｎｅｒ\u2028")
LONG = (" " * 700 + "owner", "owner" + "\u3000" * 700)


@PAGES
@pytest.mark.parametrize("name", [*SPELLINGS, *LONG])
def test_spaces_around_a_name_start_no_new_count(
    owner: User, few: None, name: str, page: str
) -> None:
    for spelling in ("owner", name):
        assert log_in(Client(), spelling, page=page).status_code == 200
    assert log_in(Client(), name, PASSWORD, page=page).status_code == 429
    assert log_in(Client(), "owner", PASSWORD, page=page).status_code == 429


@pytest.mark.parametrize("name", SPELLINGS)
def test_a_login_under_any_spelling_is_no_failure(owner: User, few: None, name: str) -> None:
    for _ in range(7):
        assert log_in(Client(), name, PASSWORD).status_code == 302
    assert not LoginFailures.objects.filter(failures__gt=0).exists()


def test_a_browser_is_known_under_every_spelling(owner: User, few: None) -> None:
    mine = Client()
    log_in(mine, "owner ", PASSWORD)
    mine.post("/logout")
    for number in range(4):
        log_in(Client(), "owner", at=f"198.51.100.{number}")
    assert log_in(Client(), "owner", PASSWORD).status_code == 429
    assert log_in(mine, "\u3000owner", PASSWORD).status_code == 302


SPACES = st.text("\t\n\x0b\x0c\r\x1c\x1f \x85\xa0\u2003\u2028\u3000", max_size=200)
WIDE = {code: code + 0xFEE0 for code in range(0x21, 0x7F)}
NAMES = st.text(min_size=1, max_size=160)


def seen(typed: str) -> str:
    """The name that the login form hands to authentication."""
    field = AuthenticationForm().fields["username"]
    assert isinstance(field, UsernameField)
    return field.to_python(typed) or ""


@given(name=NAMES, before=SPACES, after=SPACES, form=st.sampled_from(["NFC", "NFD", "wide"]))
def test_spellings_that_log_in_the_same_person_have_the_same_counters(
    name: str, before: str, after: str, form: Any
) -> None:
    other = before + (name.translate(WIDE) if form == "wide" else normalize(form, name)) + after
    if seen(name) == seen(other):
        assert throttle.counted_as(name) == throttle.counted_as(other)
    # So a login under it is taken for one of this name, and remembered.
    assert throttle.folded(seen(other)) == throttle.counted_as(other)
