"""What each provider's events mean, and why e-mails come back, in plain words."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from deliveries import events
from deliveries.models import ProviderEvent
from deliveries.reports import Report
from tests.events.provider import payload


def read(body: dict[str, Any]) -> Report:
    return events.read(json.dumps(body).encode(), event_id="evt_1")


# As https://resend.com/docs/webhooks/emails/bounced shows it.
DOCUMENTED = {
    "type": "email.bounced",
    "created_at": "2024-11-22T23:41:12.126Z",
    "data": {
        "broadcast_id": "8b146471-e88e-4322-86af-016cd36fd216",
        "created_at": "2024-11-22T23:41:11.894719+00:00",
        "email_id": "56761188-7520-42d8-8898-ff6fc54ce618",
        "from": "Acme <onboarding@resend.dev>",
        "to": ["delivered@resend.dev"],
        "subject": "Sending this example",
        "bounce": {
            "message": "The recipient's email address is on the suppression list because it has "
            "a recent history of producing hard bounces.",
            "subType": "Suppressed",
            "type": "Permanent",
        },
        "tags": {"category": "confirm_email"},
    },
}


def test_the_documented_bounce() -> None:
    report = read(DOCUMENTED)
    assert (report.outcome, report.provider_message_id) == (
        "suppressed",
        "56761188-7520-42d8-8898-ff6fc54ce618",
    )
    assert report.reason == "e-mails to this address came back before"
    assert report.at == datetime(2024, 11, 22, 23, 41, 12, 126000, tzinfo=UTC)
    assert report.address == "delivered@resend.dev"


@pytest.mark.parametrize(
    ("type_", "outcome", "shelf"),
    [
        ("email.delivered", "delivered", "waiting"),
        ("email.delivery_delayed", "delayed", "waiting"),
        ("email.bounced", "bounced", "waiting"),
        ("email.complained", "complained", "waiting"),
        ("email.failed", "failed", "waiting"),
        ("email.suppressed", "suppressed", "waiting"),
        ("email.sent", None, "no_effect"),
        ("email.opened", None, "no_effect"),
        ("email.clicked", None, "no_effect"),
        ("email.scheduled", None, "no_effect"),
        ("contact.created", None, "unknown_type"),
        ("email.invented_tomorrow", None, "unknown_type"),
        ("message.delivered", "delivered", "waiting"),
        ("message.delayed", "delayed", "waiting"),
        ("message.bounced", "bounced", "waiting"),
        ("message.complained", "complained", "waiting"),
        ("message.failed", "failed", "waiting"),
        ("message.suppressed", "suppressed", "waiting"),
        ("message.opened", None, "no_effect"),
    ],
)
def test_types(type_: str, outcome: str | None, shelf: str) -> None:
    report = read({"type": type_, "data": {"email_id": "msg-41", "id": "msg-41"}})
    assert (report.outcome, report.shelf) == (outcome, ProviderEvent.State(shelf))
    assert report.provider_message_id == "msg-41"


def test_every_type_of_every_dialect_is_in_the_table_above() -> None:
    [mark] = [m for m in test_types.pytestmark if m.name == "parametrize"]  # type: ignore[attr-defined]
    tested = {row[0] for row in mark.args[1]}
    assert {type_ for dialect in events.dialects() for type_ in dialect.types} <= tested


@pytest.mark.parametrize(
    ("bounce", "outcome", "reason"),
    [
        ({"type": "Permanent", "subType": "NoEmail"}, "bounced", "the mailbox does not exist"),
        (
            {"type": "Permanent", "subType": "General"},
            "bounced",
            "the customer's mail server refused the address for good",
        ),
        (
            {"type": "Permanent", "subType": "General", "diagnosticCode": ["smtp; 550 5.1.2 no"]},
            "bounced",
            "the domain does not exist",
        ),
        ({"type": "Transient", "subType": "MailboxFull"}, "bounced_for_now", "the mailbox is full"),
        (
            {"type": "Transient", "subType": "AttachmentRejected"},
            "bounced_for_now",
            "the customer's mail server refused the attachment",
        ),
        ({"message": "552 5.2.2 over quota"}, "bounced", "the mailbox is full"),
        ({"message": "Go  away\n\x00now"}, "bounced", "“Go away now”"),
        (
            {"type": "Permanent", "subType": "OnAccountSuppressionList"},
            "suppressed",
            "e-mails to this address came back before",
        ),
        (
            {"type": "Undetermined", "subType": "Undetermined"},
            "bounced",
            "the customer's mail server did not say why",
        ),
        ({}, "bounced", "the customer's mail server refused it"),
    ],
)
def test_bounces_in_plain_words(bounce: dict[str, Any], outcome: str, reason: str) -> None:
    report = read(payload("bounced", bounce=bounce))
    assert (report.outcome, report.reason) == (outcome, reason)


def test_a_reason_is_not_endless() -> None:
    assert len(read(payload("bounced", bounce={"message": "x" * 10_000})).reason) < 310


@pytest.mark.parametrize(
    ("what", "reason"),
    [
        ("delivered", ""),
        ("complained", ""),
        ("delayed", "the customer's mail server did not take it yet"),
        ("suppressed", "e-mails to this address came back before"),
        ("failed", "the provider's daily quota was used up"),
    ],
)
def test_other_reasons(what: str, reason: str) -> None:
    assert read(payload(what)).reason == reason


def test_a_code_for_now_and_one_for_good_may_differ() -> None:
    later = read(payload("delayed", delay={"message": "451 4.7.1 Greylisted, try again"}))
    assert later.reason == "the customer's mail server takes it only later"
    never = read(payload("bounced", bounce={"message": "550 5.7.1 Spam"}))
    assert never.reason == "the customer's mail server refused it by its own rules"


@pytest.mark.parametrize(
    "tags", [{"delivery": "delivery-1"}, [{"name": "delivery", "value": "delivery-1"}]]
)
def test_our_tag_is_found_in_either_form(tags: object) -> None:
    assert read(payload("bounced", tags=tags)).tag == "delivery-1"


@pytest.mark.parametrize("to", [["a@x.example", "b@x.example"], [], None, 7, [["a"]]])
def test_of_several_recipients_nobody_is_named(to: object) -> None:
    assert read(payload("bounced", to=to)).address == ""


@pytest.mark.parametrize(
    ("written", "understood"),
    [
        ("2026-03-02T10:00:00.123456789Z", datetime(2026, 3, 2, 10, 0, 0, 123456, tzinfo=UTC)),
        ("2026-03-02T11:00:00+01:00", datetime(2026, 3, 2, 10, tzinfo=UTC)),
        ("2026-03-02 10:00:00.126+00", datetime(2026, 3, 2, 10, 0, 0, 126000, tzinfo=UTC)),
        ("2026-03-02T10:00:00", datetime(2026, 3, 2, 10, tzinfo=UTC)),
        ("1970-01-01T00:00:00Z", None),
        ("soon", None),
        (1772445600, None),
    ],
)
def test_times(written: object, understood: datetime | None) -> None:
    assert read(payload("bounced") | {"created_at": written}).at == understood


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"type": 1}', b"[" * 90_000])
def test_what_is_no_event_is_said_to_be_none(body: bytes) -> None:
    with pytest.raises(events.Unreadable):
        events.read(body, event_id="evt_1")
