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


@pytest.mark.parametrize("value", ["set here", ""])
def test_a_secret_from_an_empty_file_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, value: str
) -> None:
    (tmp_path / "key").write_text(" \n")
    monkeypatch.setenv("SOME_KEY_FILE", str(tmp_path / "key"))
    with pytest.raises(ImproperlyConfigured, match="SOME_KEY_FILE names an empty file"):
        read.text("SOME_KEY", "a default")
    monkeypatch.setenv("SOME_KEY_FILE", value and "/nowhere")
    with pytest.raises(ImproperlyConfigured, match=r"SOME_KEY_FILE (is empty|names a file)"):
        read.text("SOME_KEY")


def test_a_secret_that_is_set_twice_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "key").write_text("of the file")
    monkeypatch.setenv("SOME_KEY_FILE", str(tmp_path / "key"))
    monkeypatch.setenv("SOME_KEY", "of the environment")
    with pytest.raises(ImproperlyConfigured, match="SOME_KEY and SOME_KEY_FILE are both set"):
        read.text("SOME_KEY")
    monkeypatch.setenv("SOME_KEY", "")
    assert read.text("SOME_KEY") == "of the file"


def test_a_secret_is_taken_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_KEY", "$PATH")
    assert read.text("SOME_KEY") == "$PATH"


def test_no_number_is_too_large_for_what_counts_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("X", "9" * 5000)
    with pytest.raises(ImproperlyConfigured, match=r"^X must be") as refusal:
        read.whole_number("X", default=1)
    assert len(str(refusal.value)) < 200
    monkeypatch.setenv("X", "2147483648")
    with pytest.raises(ImproperlyConfigured, match="X must be at most 2147483647"):
        read.whole_number("X", default=1)


@pytest.mark.parametrize("value", ["nowhere", "127.0.0.1:9100", "", "256.1.1.1"])
def test_an_address_to_listen_at_is_an_ip_address(
    monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("X", value)
    with pytest.raises(ImproperlyConfigured, match=r"^X must be an IP address"):
        read.ip_address("X", "127.0.0.1")


@pytest.mark.parametrize(
    "password",
    ["sec/ret5", "sec?ret5", "sec:9/ret5", "99999/ret5", "5432/ret5"],
)
@pytest.mark.filterwarnings("ignore:Engine not recognized")
def test_a_database_url_that_cannot_be_read_quotes_no_password(
    monkeypatch: pytest.MonkeyPatch, password: str
) -> None:
    monkeypatch.setenv("DB", f"postgres://someone:{password}@db.example:5432/name")
    with pytest.raises(ImproperlyConfigured, match=r"^DB cannot be read") as refusal:
        read.postgres("DB")
    said = str(refusal.value)
    assert not [part for part in ("sec", "ret5", "99999", "someone") if part in said]
    assert refusal.value.__context__ is None


@pytest.mark.parametrize("password", ["sec#ret5", "s]ec[ret5", "sec:ret5", "sec%25ret5", "sec@ret"])
def test_a_database_url_is_read_wherever_it_can_only_mean_one_thing(
    monkeypatch: pytest.MonkeyPatch, password: str
) -> None:
    monkeypatch.setenv("DB", f"postgres://someone:{password}@db.example:5432/name")
    database = read.postgres("DB")
    assert database["PASSWORD"] == password.replace("%25", "%")
    assert (database["HOST"], database["NAME"]) == ("db.example", "name")


@pytest.mark.parametrize(
    "url",
    [
        "postgres://me@%2Fvar%2Frun%2Fpg/name",
        "postgres://me@/name?host=/var/run/pg",
        "postgres://me@localhost/name?host=/var/run/pg",
    ],
)
def test_a_socket_s_folder_is_the_host(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("DB", url)
    database = read.postgres("DB")
    assert (database["HOST"], database["NAME"]) == ("/var/run/pg", "name")
    assert database["OPTIONS"] == read.PATIENCE


def test_a_database_s_patience_is_ours_unless_its_url_says_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DB", "postgres://someone@db.example/name")
    assert read.postgres("DB")["OPTIONS"] == read.PATIENCE
    monkeypatch.setenv(
        "DB", "postgres://someone@db.example/name?connect_timeout=30&sslmode=require"
    )
    options = read.postgres("DB")["OPTIONS"]
    assert options == read.PATIENCE | {"connect_timeout": 30, "sslmode": "require"}
