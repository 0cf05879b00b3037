"""POST /webhooks/email: who is heard, what is answered, and never a 500."""

import json
import logging
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError, connection
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pytest_django.fixtures import Settings

from deliveries.models import Delivery, ProviderEvent
from tests.events.provider import ADDRESS, KEY, OTHER_KEY, payload, post
from tests.ledger.steps import fresh


def code(answer: Any) -> str:
    error = answer.json()["error"]
    assert set(error) == {"code", "message"}
    return str(error["code"])


def test_an_event_is_taken_and_its_repeat_as_well(sent: Delivery) -> None:
    first = post(payload("bounced"), event_id="evt_1")
    assert (first.status_code, first.json()) == (202, {"status": "accepted"})
    again = post(payload("bounced"), event_id="evt_1")
    assert (again.status_code, again.json()) == (202, {"status": "repeated"})
    assert fresh(sent).after_sending_reason == "the mailbox does not exist"


def test_a_forged_signature_is_refused_without_saying_why(sent: Delivery) -> None:
    answers = [
        post(payload("bounced"), key=OTHER_KEY),
        post(payload("bounced"), ago=301),
        post(payload("bounced"), ago=-301),
        post(payload("bounced"), headers={"svix-signature": "v1,AAAA"}),
        Client().post(ADDRESS, data=payload("bounced"), content_type="application/json"),
    ]
    assert {(answer.status_code, answer.content) for answer in answers} == {
        (401, answers[0].content)
    }
    assert code(answers[0]) == "invalid_signature"
    assert not ProviderEvent.objects.exists()


def test_a_new_secret_and_the_old_one_are_both_heard(sent: Delivery, settings: Settings) -> None:
    settings.EMAIL_PROVIDER_WEBHOOK_KEYS = [OTHER_KEY, KEY]
    assert post(payload("delivered"), key=KEY).status_code == 202
    assert post(payload("delivered"), key=OTHER_KEY).status_code == 202


def test_without_a_secret_nobody_is_heard(db: None, settings: Settings) -> None:
    settings.EMAIL_PROVIDER_WEBHOOK_KEYS = []
    answer = post(payload("bounced"))
    assert (answer.status_code, code(answer)) == (503, "not_configured")
    assert "EMAIL_PROVIDER_WEBHOOK_SECRET" in answer.json()["error"]["message"]


@pytest.mark.parametrize("method", ["get", "head", "put", "patch", "delete", "options"])
def test_other_methods_are_refused(db: None, method: str) -> None:
    answer = getattr(Client(), method)(ADDRESS)
    assert (answer.status_code, answer.headers["Allow"]) == (405, "POST")


def test_it_needs_neither_session_nor_csrf_token_and_sets_no_cookie(sent: Delivery) -> None:
    answer = post(payload("delivered"))
    assert answer.status_code == 202
    assert not answer.cookies


def test_being_logged_in_does_not_help(owner: User, client: Client) -> None:
    client.force_login(owner)
    answer = client.post(ADDRESS, data=payload("bounced"), content_type="application/json")
    assert answer.status_code == 401


def test_a_database_that_does_not_answer_has_the_provider_repeat_it(sent: Delivery) -> None:
    def gone(*_: Any) -> None:
        raise OperationalError("server closed the connection unexpectedly")

    with connection.execute_wrapper(gone):
        answer = post(payload("bounced"), event_id="evt_1")
    assert (answer.status_code, code(answer)) == (503, "unavailable")
    assert post(payload("bounced"), event_id="evt_1").json() == {"status": "accepted"}


def test_logs_hold_no_address_and_no_secret(
    sent: Delivery, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        post(payload("bounced"))
        post(payload("bounced"), key=OTHER_KEY)
        post(payload("bounced", message_id="msg-unknown"))
    said = " ".join(
        str(vars(record)) for record in caplog.records if record.name != "django.request"
    )
    assert "mamaput" not in said
    assert "MfKQ" not in said


def test_the_payload_is_kept_without_subject_and_bodies(sent: Delivery) -> None:
    post(payload("delivered", html="<p>secret</p>", text="secret", attachments=[{"a": "secret"}]))
    kept = ProviderEvent.objects.get().payload
    assert kept["data"]["email_id"] == "msg-41"
    assert "secret" not in json.dumps(kept)
    assert "subject" not in kept["data"]


# Hostile bodies -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content_type",
    [
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "multipart/form-data",
        "text/plain; charset=nonsense",
        "",
        "\x7f",
    ],
)
def test_the_content_type_does_not_matter(sent: Delivery, content_type: str) -> None:
    assert post(payload("bounced"), content_type=content_type).status_code == 202
    assert fresh(sent).after_sending == "bounced"


def test_an_event_that_a_form_would_spell_is_unreadable_not_a_fault(db: None) -> None:
    body = b"a=%00&b=" + b"x" * 1000
    assert post(body, content_type="application/x-www-form-urlencoded").status_code == 400


NASTY = [
    b"",
    b"null",
    b"true",
    b"[]",
    b'"text"',
    b"{",
    b"{}",
    b"\xff\xfe",
    b"\x00",
    b'{"type": null}',
    b'{"type": 7}',
    b'{"type": ""}',
    b'{"type": {"email.bounced": 1}}',
    b"[" * 100_000,
    b'{"a":' * 30_000 + b"1" + b"}" * 30_000,
    b'{"type": "email.bounced", "n": NaN}',
    b'{"type": "email.bounced", "n": Infinity}',
    b'{"type": "email.bounced", "n": ' + b"9" * 5000 + b"}",
]
ODD = [
    b'{"type": "email.bounced"}',
    b'{"type": "email.bounced", "data": null}',
    b'{"type": "email.bounced", "data": []}',
    b'{"type": "email.bounced", "data": {"email_id": null, "to": null, "bounce": null}}',
    b'{"type": "email.bounced", "data": {"email_id": 41, "to": 7, "bounce": "no", "tags": "no"}}',
    b'{"type": "email.bounced", "data": {"email_id": "msg-41\\u0000", "to": ["\\u0000"]}}',
    b'{"type": "email.bounced", "data": {"email_id": "\\ud800", "\\ud800": "\\udfff"}}',
    b'{"type": "email.bounced", "data": {"email_id": "' + b"x" * 9000 + b'"}}',
    b'{"type": "email.bounced", "data": {"to": [["a"], {"b": 1}], "tags": [1, {"name": 2}]}}',
    b'{"type": "email.bounced", "data": {"bounce": {"type": 1, "subType": [], "message": {}}}}',
    b'{"type": "email.bounced", "n": 1e400, "m": -1e400, "k": ' + b"9" * 4000 + b"}",
    b'{"type": "email.bounced", "created_at": "9999-12-31T23:59:59-23:59"}',
    b'{"type": "email.bounced", "created_at": "0001-01-01T00:00:00+23:59"}',
    b'{"type": "email.bounced", "created_at": -1}',
    b'{"type": "email.bounced", "created_at": "yesterday"}',
    b'{"type": "' + b"y" * 5000 + b'", "data": {"id": "x"}}',
    b'{"type": "email.\\u0000bounced"}',
    b'{"type": "email.invented_tomorrow", "data": {"email_id": "msg-41"}}',
    b'\xef\xbb\xbf{"type": "email.bounced"}',
    b'{"type": "email.bounced", "type": "email.delivered"}',
    b'{"type": "x", "a": ' + b"[" * 900 + b"]" * 900 + b"}",
]


@pytest.mark.parametrize("body", NASTY, ids=range(len(NASTY)))
def test_what_is_no_event_is_400(db: None, body: bytes) -> None:
    answer = post(body)
    assert (answer.status_code, code(answer)) == (400, "invalid_event")


@pytest.mark.parametrize("body", ODD, ids=range(len(ODD)))
def test_an_odd_event_is_kept(sent: Delivery, body: bytes) -> None:
    assert post(body).status_code in {202, 400}
    assert fresh(sent).status == "sent"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
events = st.fixed_dictionaries(
    {"type": st.sampled_from(["email.bounced", "message.bounced", "email.opened"]) | st.text()},
    optional={
        "created_at": json_values,
        "data": json_values
        | st.fixed_dictionaries(
            {},
            optional=dict.fromkeys(("email_id", "to", "bounce", "tags", "id"), json_values),
        ),
    },
)


@settings(
    max_examples=100,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(body=events.map(json.dumps).map(str.encode) | json_values.map(json.dumps).map(str.encode))
@pytest.mark.thorough
def test_whatever_is_signed_is_kept_or_refused(sent: Delivery, body: bytes) -> None:
    assert post(body).status_code in {202, 400}


@settings(max_examples=100, deadline=None)
@given(
    body=st.binary(max_size=300),
    headers=st.dictionaries(
        st.sampled_from(
            ["svix-id", "svix-timestamp", "svix-signature", "webhook-id", "content-type"]
        ),
        st.text(st.characters(min_codepoint=32, max_codepoint=255), max_size=60),
        max_size=5,
    ),
)
@pytest.mark.thorough
def test_whatever_a_stranger_sends_is_refused(body: bytes, headers: dict[str, str]) -> None:
    answer = Client(raise_request_exception=False).generic("POST", ADDRESS, body, headers=headers)
    assert answer.status_code == 401
