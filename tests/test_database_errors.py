"""What of the database is told in a sentence, and what is a fault of ours."""

import pytest
from django.db import Error, InternalError, OperationalError, connection, transaction
from psycopg.errors import IdleInTransactionSessionTimeout

from deliveries import ledger
from invoicehub.database_errors import is_away, sentence_of


def caused(error: Error, cause: Exception) -> Error:
    error.__cause__ = cause
    return error


def test_a_standby_takes_no_changes_and_is_not_away(db: None) -> None:
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION READ ONLY")
        with pytest.raises(InternalError) as caught:
            ledger.configure("email", limit=1, rate_per_second=None)
        transaction.set_rollback(True)
    sentence = sentence_of(caught.value) or ""
    assert sentence.startswith("the database takes no changes: is it a standby?")
    assert not is_away(caught.value)


def test_a_transaction_that_stood_still_is_no_fault_of_ours() -> None:
    assert is_away(caused(InternalError("ended"), IdleInTransactionSessionTimeout("idle")))
    assert is_away(OperationalError("connection refused"))
    assert not is_away(ValueError("no"))
    assert not is_away(None)
