"""What the tests of this folder begin with."""

import pytest

from invoices.models import Customer, Invoice


@pytest.fixture
def customer(invoice: Invoice) -> Customer:
    return invoice.customer
