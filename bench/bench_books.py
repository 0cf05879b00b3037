"""How long `check_ledger` reads a ledger of years.

BENCH_DELIVERIES=1000000 make bench ARGS="-k books"
"""

import os
import time
from collections.abc import Iterator

import pytest
from django.db import connection

from bench import history
from deliveries import ledger
from invoices import agreeing

pytestmark = [pytest.mark.slow, pytest.mark.timeout(7200)]

DELIVERIES = int(os.environ.get("BENCH_DELIVERIES", "1000000"))


@pytest.fixture
def years(transactional_db: None) -> Iterator[None]:
    history.DEAD = history.WAITING = 0
    history.make(DELIVERIES)
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO deliveries_message (delivery_id, idempotency_key, from_address, "
            '"to", cc, reply_to, subject, text, html, headers, attachments) '
            "SELECT id, idempotency_key, 'a@b.example', '{c@d.example}', '{}', '', 'Invoice', "
            "'Attached.', '', '{}', '[]' FROM deliveries_delivery"
        )
        cursor.execute("VACUUM ANALYZE")
    yield
    history.forget()


def test_the_books_of_years_are_read_in_moments(years: None) -> None:
    began = time.monotonic()
    assert ledger.sum_up().balances
    # Ten e-mails of each invoice, whose keys are the history's own.
    found = [*ledger.contradictions(), *agreeing.contradictions()]
    took = time.monotonic() - began
    print(f"\n{DELIVERIES:,} deliveries checked in {took:.1f} s: {[each.what for each in found]}")
    assert found == []
