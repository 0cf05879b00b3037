"""Settings come from the environment; nonsense is refused with a sentence."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from invoicehub import environment as read


def test_values_are_read_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"S": "2.5", "N": "7", "R": "0.5", "F": "off", "W": "a, b,"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("U", "https://provider.example/")
    assert read.seconds("S", default=60) == 2.5
    assert read.whole_number("N", default=1) == 7
    assert read.rate("R") == 0.5
    assert read.flag("F", default=True) is False
    assert read.words("W") == ["a", "b"]
    assert read.http_url("U", "http://unused") == "https://provider.example"


def test_defaults_hold_where_nothing_is_set() -> None:
    assert read.seconds("UNSET_S", default=60) == 60
    assert read.whole_number("UNSET_N", default=5) == 5
    assert read.rate("UNSET_R") is None
    assert read.port("UNSET_P", default=587) == 587
    assert read.seconds_or_zero("UNSET_S", default=0) == 0
    assert read.http_url("UNSET_U", "") == ""
    assert read.seconds_if_set("UNSET_S") is None


def test_what_is_set_to_nothing_counts_as_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    # As compose files write it: NAME=
    monkeypatch.setenv("EMPTY", "")
    assert read.http_url("EMPTY", "http://usual.example") == "http://usual.example"
    assert read.seconds_if_set("EMPTY") is None
    monkeypatch.setenv("ZERO", "0")
    assert read.seconds_if_set("ZERO") == 0


def test_a_secret_can_come_from_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("s3cret\n")
    monkeypatch.setenv("SOME_KEY_FILE", str(tmp_path / "key"))
    assert read.text("SOME_KEY") == "s3cret"


@pytest.mark.parametrize(
    ("reader", "value"),
    [
        (lambda: read.seconds("X", default=1), "0"),
        (lambda: read.seconds("X", default=1), "-3"),
        (lambda: read.seconds("X", default=1), "nan"),
        (lambda: read.seconds("X", default=1), "inf"),
        (lambda: read.seconds("X", default=1), "a minute"),
        (lambda: read.whole_number("X", default=1), "0"),
        (lambda: read.whole_number("X", default=1), "-1"),
        (lambda: read.whole_number("X", default=1), "2.5"),
        (lambda: read.rate("X"), "0"),
        (lambda: read.rate("X"), "-2"),
        (lambda: read.seconds_or_zero("X", default=1), "-1"),
        (lambda: read.seconds_or_zero("X", default=1), "nan"),
        (lambda: read.port("X", default=25), "0"),
        (lambda: read.port("X", default=25), "65536"),
        (lambda: read.port("X", default=25), "smtp"),
        (lambda: read.flag("X", default=True), "maybe"),
        (lambda: read.one_of("X", {"json", "console"}, "json"), "xml"),
        (lambda: read.http_url("X", "http://a"), "not an address"),
        (lambda: read.http_url("X", "http://a"), "ftp://provider.example"),
        (lambda: read.address("X", "a@b.example"), "xx"),
        (lambda: read.address("X", "a@b.example"), "A <a@b.example>"),
        (lambda: read.address("X", "a@b.example"), "a@☃.net"),
        (lambda: read.address("X", "a@b.example"), "a@[127.0.0.1]"),
        (lambda: read.address("X", "a@b.example"), "a@" + "ü" * 60 + ".net"),
        (lambda: read.http_url("X", "http://a"), "http://"),
        (lambda: read.http_url("X", "http://a"), "http://provider.example/?a=b"),
        (lambda: read.http_url("X", "http://a"), "http://provider.example/?"),
        (lambda: read.http_url("X", "http://a"), "http://provider.example#there"),
        (lambda: read.http_url("X", "http://a"), "http://provider.example:99999"),
    ],
)
def test_nonsense_is_refused_by_name(
    monkeypatch: pytest.MonkeyPatch, reader: Callable[[], Any], value: str
) -> None:
    monkeypatch.setenv("X", value)
    with pytest.raises(ImproperlyConfigured, match=r"^X must be"):
        reader()


@pytest.mark.parametrize("address", ["a@b.org", "a@straße.example", "o'neil+x@xn--grn-ioa.example"])
def test_an_address_stays_as_it_was_written(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setenv("X", address)
    assert read.address("X", "a@b.example") == address


@pytest.mark.parametrize(
    "url",
    [
        "ftp://me:pa55word@provider.example",
        "http://me:pa55word@provider.example?x",
        "http://me:pa55#word@provider.example",
        "http://me:pa55/word@provider.example:99999",
        "me:pa55word@provider.example",
        "https://me:pa55 word@provider.example",
    ],
)
def test_a_refused_url_is_told_without_its_password(
    monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.setenv("X", url)
    with pytest.raises(ImproperlyConfigured, match=r"\*\*\*@provider\.example") as refused:
        read.http_url("X", "http://a")
    assert "pa55" not in str(refused.value)
    assert "word" not in str(refused.value)


def test_a_secrets_file_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MISSING_KEY_FILE", "/nowhere/key")
    with pytest.raises(ImproperlyConfigured, match="MISSING_KEY_FILE names a file"):
        read.text("MISSING_KEY")
