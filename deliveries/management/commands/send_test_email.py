"""`manage.py send_test_email`: prove that the configured provider takes e-mails from us."""

import uuid
from argparse import ArgumentParser
from typing import Any, NoReturn

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.core.validators import validate_email
from django.utils.html import escape

from deliveries import providers
from deliveries.errors import (
    AccountProblem,
    OutcomeUnknown,
    PermanentFailure,
    ProviderFailure,
    TemporaryFailure,
    Throttled,
)
from deliveries.models import Message

_TO_DO: dict[type[ProviderFailure], str] = {
    AccountProblem: "Mend the account or the settings. A worker would pause the lane until then.",
    Throttled: "Wait a while and try again. A worker would pause the lane for as long.",
    PermanentFailure: "Look at EMAIL_FROM and at the address. A worker would not try again.",
    OutcomeUnknown: "Look in the inbox: it may have arrived. A worker would ask a person.",
    TemporaryFailure: "Try again; if it stays so, look at the provider's address and the network. "
    "A worker would retry.",
}


class Command(BaseCommand):
    help = (
        "Send one small e-mail through the configured provider, at once and past the ledger, and "
        "say what came of it. Exit code 0 if the provider accepted it, 1 if it did not, 2 if the "
        "address or the settings are wrong and nothing was tried."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("address", help="who gets it: yourself, say")

    def handle(self, *, address: str, **_: Any) -> None:
        provider = _provider(address)
        key = f"test-{uuid.uuid4()}"
        self.stdout.write(f"From {settings.EMAIL_FROM} to {address}, {_where()}.")
        try:
            receipt = provider.send(_message(address, key), idempotency_key=key)
        except ProviderFailure as failure:
            _give_up(failure)
        finally:
            provider.close()
        self.stdout.write(f"Accepted under the id {receipt.id}. Now look in the inbox.")


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
    url = settings.EMAIL_PROVIDER_URL
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


def _give_up(failure: ProviderFailure) -> NoReturn:
    to_do = _TO_DO.get(type(failure), "")
    raise CommandError(f"{type(failure).__name__}: {failure}\n{to_do}".strip(), returncode=1)
