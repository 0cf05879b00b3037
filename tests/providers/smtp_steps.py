"""What the tests of SMTP do again and again."""

from typing import Any

import pytest

from deliveries.errors import ProviderFailure
from deliveries.providers import Receipt
from deliveries.providers.smtp import SmtpProvider
from tests import factories

KEY = "delivery-5d0bd8c6-0d7c-4a70-a6a5-0f0b8c1a2f3e"


def send(provider: SmtpProvider, *, key: str = KEY, **values: Any) -> Receipt:
    return provider.send(factories.make_message(**values), idempotency_key=key)


def failing(provider: SmtpProvider, **values: Any) -> ProviderFailure:
    with pytest.raises(ProviderFailure) as failure:
        send(provider, **values)
    return failure.value
