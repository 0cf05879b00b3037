"""What the tests of this folder begin with."""

import pytest

from invoices.models import Invoice, Organization
from tests.invoices.reminders.runs import make_overdue


@pytest.fixture
def overdue(organization: Organization) -> Invoice:
    return make_overdue(organization)
