"""`manage.py send_test_email`: prove that the configured provider takes e-mails from us."""

import uuid
from argparse import ArgumentParser
from contextlib import suppress
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.core.validators import validate_email
from django.utils.html import escape

from deliveries import providers
from deliveries.addresses import without_password
from deliveries.errors import ProviderFailure
from deliveries.management.what_next import what_next
from deliveries.models import Message
from deliveries.providers import Receipt


class Command(BaseCommand):
    help = (
        "Send one small e-mail through the configured provider, at once and past the ledger, and "
        "say what came of it. Exit code 0 if the provider accepted it, 1 if it did not, 2 if the "
        "address or the settings are wrong and nothing was tried. (Django's `sendtestemail` knows "
        "EMAIL_HOST only: it proves nothing of EMAIL_PROVIDER.)"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("address", help="who gets it: yourself, say")

    def handle(self, *, address: str, **_: Any) -> None:
        provider = _provider(address)
        key = f"test-{uuid.uuid4()}"
        self.stdout.write(f"From {settings.EMAIL_FROM} to {address}, {_where()}.")
        id_ = _handed_over(provider, _message(address, key), key)
        self.stdout.write(f"Accepted under the id {id_}. Now look in the inbox.")


def _provider(address: str) -> providers.Provider:
    try:
        validate_email(address)
    except ValidationError:
        raise CommandError(f"{address!r} is no e-mail address.", returncode=2) from None
    try:
        return providers.from_settings(settings.EMAIL_PROVIDER)
    except ImproperlyConfigured as error:
        raise CommandError(str(error), returncode=2) from error


def _where() -> str:
    if settings.EMAIL_PROVIDER == "smtp":
        return (
            f"by SMTP to {settings.EMAIL_HOST}:{settings.EMAIL_PORT} "
            f"(encryption: {settings.EMAIL_SECURITY})"
        )
    url = without_password(settings.EMAIL_PROVIDER_URL)
    return f"by {settings.EMAIL_PROVIDER}{f' at {url}' if url else ''}"


def _message(address: str, key: str) -> Message:
    text = (
        "This is a test of InvoiceHub's e-mail settings. If you can read it, they work.\n\n"
        f"Its id is {key}."
    )
    return Message(
        from_address=f'"InvoiceHub" <{settings.EMAIL_FROM}>',
        to=[address],
        subject="InvoiceHub: test of the e-mail settings",
        text=text,
        html="".join(f"<p>{escape(line)}</p>" for line in text.split("\n\n")),
        headers={"X-Correlation-ID": key},
        attachments=[],
    )


def _handed_over(provider: providers.Provider, message: Message, key: str) -> str:
    """Hand the message over and return its id; raise `CommandError` with what to do."""
    try:
        receipt: object = provider.send(message, idempotency_key=key)
    except ProviderFailure as failure:
        words = f"{type(failure).__name__}: {failure}\n{what_next(failure)}"
        raise CommandError(words.strip(), returncode=1) from failure
    except Exception as error:
        what = f"raised {type(error).__name__}, which is none of deliveries.errors"
        raise _fault(what) from error
    finally:
        with suppress(Exception):
            provider.close()
    if not isinstance(receipt, Receipt):
        raise _fault(f"returned {type(receipt).__name__} where a Receipt was due")
    return receipt.id


def _fault(what: str) -> CommandError:
    return CommandError(
        f"The adapter {settings.EMAIL_PROVIDER} {what}. The test may have arrived.\n"
        "Mend the adapter (--traceback shows where). A worker would count it as a fault of ours, "
        "and try again.",
        returncode=1,
    )
