"""Reads that end after a page of rows, however many there are."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction

_FOR_THIS_TRANSACTION = """
    SET LOCAL max_parallel_workers_per_gather = 0; SET LOCAL enable_seqscan = off;
    SET LOCAL jit = off
"""


@contextmanager
def by_index_alone() -> Iterator[None]:
    """Have PostgreSQL read off the indexes, by the one process that was asked: one transaction.

    It plans for all the rows that there may be. Starting parallel workers for those takes 10 ms and
    more, most on a busy machine, and from a table's beginning it may read past many that do not
    count. Each page is a range of an index. Up to version 17 a forbidden scan that cannot be
    avoided counts as so dear that it would be compiled first.
    """
    with transaction.atomic(savepoint=False):
        with connection.cursor() as cursor:
            cursor.execute(_FOR_THIS_TRANSACTION)
        yield
