"""What the tests of this folder begin with."""

import pytest

from invoices.models import Customer, Organization


@pytest.fixture
def customer(organization: Organization) -> Customer:
    return Customer.objects.create(
        organization=organization, name="Mama Put Kitchen", email="accounts@mamaput.example"
    )
