"""What no adapter can send: a sender at no domain is the account's problem, not the message's."""

from collections.abc import Callable

import pytest
from django.core.exceptions import ImproperlyConfigured
from pytest_django.fixtures import Settings

from deliveries import providers
from deliveries.errors import AccountProblem, PermanentFailure
from deliveries.models import Message
from deliveries.providers import resend, sandbox, smtp_writing
from tests import factories

FROM_NOWHERE = '"Mainland Supplies Ltd" <invoices@☃.net>'


def by_resend(message: Message) -> object:
    return resend.encode(message, idempotency_key="delivery-1")


def by_sandbox(message: Message) -> object:
    return sandbox.encode(message)


def by_smtp(message: Message) -> object:
    return smtp_writing.write(message, message_id="delivery-1@invoicehub.example")


Write = Callable[[Message], object]


@pytest.mark.parametrize("write", [by_resend, by_smtp])
def test_a_sender_at_no_domain_is_an_account_problem(write: Write) -> None:
    with pytest.raises(AccountProblem) as failure:
        write(factories.make_message(from_address=FROM_NOWHERE))
    assert failure.value.summary == "The sender's address (EMAIL_FROM) cannot be used."
    assert "☃" in str(failure.value)


@pytest.mark.parametrize("write", [by_resend, by_smtp])
@pytest.mark.parametrize("field", ["to", "cc", "reply_to"])
def test_another_address_at_no_domain_is_the_messages_problem(write: Write, field: str) -> None:
    address = "a@☃.net"
    message = factories.make_message(**{field: address if field == "reply_to" else [address]})
    with pytest.raises(PermanentFailure) as failure:
        write(message)
    assert not failure.value.by_provider


@pytest.mark.parametrize("write", [by_resend, by_sandbox, by_smtp])
@pytest.mark.parametrize("field", ["subject", "text", "html"])
def test_half_a_character_is_the_messages_problem(write: Write, field: str) -> None:
    with pytest.raises(PermanentFailure) as failure:
        write(factories.make_message(**{field: "half \ud800 a character"}))
    assert not failure.value.by_provider


def test_smtp_is_not_made_for_a_sender_at_no_domain(settings: Settings) -> None:
    settings.EMAIL_FROM = "invoices@☃.net"
    with pytest.raises(ImproperlyConfigured, match="EMAIL_FROM cannot be used"):
        providers.from_settings("smtp")
