"""A provider that knows no keys: what it may have accepted is never sent again by itself."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db.models.functions import Now

from deliveries import ledger
from deliveries.errors import ConfirmationNeeded, TemporaryFailure
from deliveries.models import Delivery, Message
from deliveries.providers import Receipt
from deliveries.providers.smtp import SmtpProvider
from tests.providers.mail_server import MailServer
from tests.worker.conftest import Work
from tests.worker.stage import PATIENCE_SECONDS, FakeProvider, change, is_sent, now

NEVER = timedelta(0)


class WithoutKeys(FakeProvider):
    key_lifetime = NEVER


def smtp(server: MailServer) -> SmtpProvider:
    return SmtpProvider(
        "127.0.0.1",
        server.port,
        security="none",
        domain="invoicehub.example",
        timeout_seconds=PATIENCE_SECONDS,
    )


@pytest.fixture
def mail_server() -> Iterator[MailServer]:
    server = MailServer()
    yield server
    server.close()


def test_an_invoice_goes_out_by_smtp(
    work: Work, waiting: Delivery, mail_server: MailServer
) -> None:
    work(smtp(mail_server))
    [message] = mail_server.inbox.messages
    assert is_sent(waiting)
    assert message["Message-ID"] == f"<{now(waiting).provider_message_id}>"
    assert message["X-Correlation-ID"] == waiting.correlation_id


@pytest.mark.thorough
def test_lost_after_the_final_dot_it_waits_for_a_person(
    work: Work, waiting: Delivery, mail_server: MailServer, support: User
) -> None:
    mail_server.inbox.drop_at = "END"
    work(smtp(mail_server))
    dead = now(waiting)
    assert (dead.status, dead.dead_reason) == ("dead", "outcome_unknown")
    mail_server.inbox.drop_at = ""
    work(smtp(mail_server))
    assert len(mail_server.inbox.accepted) == 1
    words: dict[str, Any] = {
        "actor_id": support.pk,
        "reason": "It is not in their inbox.",
        "key_lifetime": NEVER,
    }
    with pytest.raises(ConfirmationNeeded):
        ledger.replay(waiting.pk, **words)
    ledger.replay(waiting.pk, **words, confirmed=True)
    work(smtp(mail_server))
    assert is_sent(waiting)
    first, second = (message["Message-ID"] for message in mail_server.inbox.messages)
    assert first != second


def test_what_a_killed_worker_may_have_handed_over_is_not_sent_again(
    work: Work, waiting: Delivery
) -> None:
    change(waiting, handed_over_at=Now())
    work(provider := WithoutKeys())
    dead = now(waiting)
    assert (dead.status, dead.dead_reason, provider.keys) == ("dead", "outcome_unknown", [])


@pytest.mark.thorough
def test_what_was_certainly_not_accepted_is_tried_again(work: Work, waiting: Delivery) -> None:
    failures = [
        TemporaryFailure("refused for now", may_have_accepted=False),
        TemporaryFailure("refused for now", may_have_accepted=False),
    ]

    def send(message: Message, key: str) -> Receipt:
        if failures:
            raise failures.pop()
        return Receipt(id="msg_1")

    provider = WithoutKeys(send)
    work(provider)
    while not is_sent(waiting):
        change(waiting, next_attempt_at=Now())
        work(provider)
    assert is_sent(waiting)
    assert len(provider.keys) == 3
