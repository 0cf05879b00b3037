"""What the pages of customers say."""

import re
from typing import Any

from django.test import Client

from invoices.models import Customer
from tests.reading import text

FIELDS = {
    "name": "Mama Put Kitchen",
    "email": "accounts@mamaput.example",
    "address": "12 Market Road",
    "tax_id": "",
    "language": "",
}


def seen(client: Client, customer: Customer) -> str:
    found = re.search(r'name="seen" value="([^"]+)"', text(client.get(page_of(customer))))
    assert found is not None
    return found[1]


def page_of(customer: Customer) -> str:
    return f"/customers/{customer.pk}"


def save(client: Client, customer: Customer, **values: object) -> Any:
    form = FIELDS | {"seen": seen(client, customer)} | values
    return client.post(page_of(customer), form)
