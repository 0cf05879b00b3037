"""Only who knows a secret of ours is heard, and only now."""

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deliveries.signatures import InvalidSecret, Key, NotAuthentic, headers, verify
from tests.events.provider import KEY, OTHER_KEY, SECRET

# From https://docs.svix.com/receiving/verifying-payloads/how
BODY = b'{"test": 2432232314}'
NOW = 1614265330
DOCUMENTED = {
    "svix-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "svix-timestamp": str(NOW),
    "svix-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
}


def check(
    body: bytes = BODY, *, keys: list[Key] | None = None, now: float = NOW, **changes: Any
) -> str:
    given_ = DOCUMENTED | {name.replace("_", "-"): value for name, value in changes.items()}
    return verify(body, given_, [KEY] if keys is None else keys, now_seconds=now)


def test_the_documented_signature_is_valid() -> None:
    assert check() == "msg_p5jXN8AQM9LWM0D4loKWxJek"


def test_we_sign_as_documented() -> None:
    assert headers(KEY, BODY, id_=DOCUMENTED["svix-id"], timestamp=NOW) == DOCUMENTED


def test_the_names_of_standard_webhooks_are_known_too() -> None:
    renamed = {name.replace("svix", "webhook"): value for name, value in DOCUMENTED.items()}
    assert verify(BODY, renamed, [KEY], now_seconds=NOW) == DOCUMENTED["svix-id"]


def test_the_prefix_of_a_secret_may_be_missing() -> None:
    assert check(keys=[Key.of(SECRET.removeprefix("whsec_"))])


@pytest.mark.parametrize(
    "changes",
    [
        {"body": BODY + b" "},
        {"body": b""},
        {"svix_id": "msg_other"},
        {"svix_timestamp": str(NOW + 1)},
        {"svix_signature": ""},
        {"svix_signature": "v1,"},
        {"svix_signature": "v1"},
        {"svix_signature": "v1,Y2Vsa3M="},
        {"svix_signature": "v1,not base64 at all"},
        {"svix_signature": "v1,é"},
        {"svix_signature": DOCUMENTED["svix-signature"].replace("v1,", "v2,")},
        {"svix_signature": DOCUMENTED["svix-signature"].replace("v1,", "")},
        {"svix_signature": " ".join(["v1,Y2Vsa3M="] * 20 + [DOCUMENTED["svix-signature"]])},
        {"svix_id": ""},
        {"svix_id": "x" * 256},
        {"svix_id": "a b"},
        {"svix_timestamp": ""},
        {"svix_timestamp": "soon"},
        {"svix_timestamp": "-1614265330"},
        {"svix_timestamp": "1614265330.0"},
        {"svix_timestamp": "١٦١٤٢٦٥٣٣٠"},
        {"svix_timestamp": "9" * 5000},
        {"keys": [OTHER_KEY]},
        {"keys": []},
    ],
)
def test_forged(changes: dict[str, Any]) -> None:
    with pytest.raises(NotAuthentic):
        check(**changes)


def test_no_headers_at_all() -> None:
    with pytest.raises(NotAuthentic):
        verify(BODY, {}, [KEY], now_seconds=NOW)


@pytest.mark.parametrize(("off", "valid"), [(300, True), (-300, True), (301, False), (-301, False)])
def test_a_message_is_valid_for_five_minutes_either_way(off: int, valid: bool) -> None:
    if valid:
        assert check(now=NOW + off)
    else:
        with pytest.raises(NotAuthentic, match="clock"):
            check(now=NOW + off)


def test_one_of_several_signatures_and_one_of_several_secrets_is_enough() -> None:
    other = OTHER_KEY.sign(BODY, id_=DOCUMENTED["svix-id"], timestamp=NOW)
    both = f"v1a,cHViAA== {other} {DOCUMENTED['svix-signature']}"
    assert check(svix_signature=both)
    assert check(svix_signature=both, keys=[OTHER_KEY])
    assert check(keys=[OTHER_KEY, KEY])


@given(body=st.binary(max_size=200), other=st.binary(max_size=200))
def test_a_signature_is_of_its_body_only(body: bytes, other: bytes) -> None:
    signed = headers(KEY, body, id_="evt_1", timestamp=NOW)
    assert verify(body, signed, [KEY], now_seconds=NOW) == "evt_1"
    if other != body:
        with pytest.raises(NotAuthentic):
            verify(other, signed, [KEY], now_seconds=NOW)


@pytest.mark.parametrize(
    "secret",
    ["", "whsec_", "whsec_not base64!", "whsec_é", base64.b64encode(b"too short").decode()],
)
def test_nonsense_is_no_secret(secret: str) -> None:
    with pytest.raises(InvalidSecret):
        Key.of(secret)


def test_a_key_is_not_printed() -> None:
    assert "MfKQ" not in repr(KEY)
    assert str(KEY) == "Key(…)"
