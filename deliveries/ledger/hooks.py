"""Telling a delivery's kind what became of it, inside the transaction that records it."""

import logging
import time
from collections.abc import Callable, Collection, Iterable

from django.db import transaction

from deliveries import kinds
from deliveries.errors import connection_lost, sqlstate
from deliveries.ledger import sql
from deliveries.models import Delivery

logger = logging.getLogger(__name__)


# How long a hook may wait for a row that somebody else has locked, and all hooks of one call
# together. They wait inside the settling transaction, under the lane's lock: neither one stuck
# invoice nor a hundred of them must hold up the fleet.
LOCK_PATIENCE = "250ms"
PATIENCE_SECONDS = 1.0
LOCK_NOT_AVAILABLE = "55P03"


def settled(delivery_ids: Iterable[int]) -> None:
    """Call `on_settled` for each, by invoice; joins the caller's transaction.

    A hook that fails must not undo the record: the provider *has* accepted that message. Its own
    writes are rolled back, and `follow_up` calls it again later. Where the connection itself is
    lost, the whole transaction is to be tried again, so that goes up.
    """
    _note_unfollowed(_call(delivery_ids, _on_settled, seconds=PATIENCE_SECONDS))


def undoing_nothing(step: Callable[[], object], *, otherwise: str) -> bool:
    """Take a step that may fail by itself: it is logged so, and the caller's record stays.

    In a savepoint. Return whether it went well. Where the connection itself is lost, the whole
    transaction is to be tried again: that goes up.
    """
    error = _failure_of(step)
    if error:
        logger.error(otherwise, exc_info=error)
    return error is None


def follow_up(lane: str, *, limit: int = 100) -> int:
    """Call the hooks that failed again, longest ago first; return how many went well.

    One transaction. Hooks are functions of the delivery's final state: twice does no harm.
    """
    with transaction.atomic():
        rows = sql.rows(
            """
            SELECT d.id FROM deliveries_unfolloweddelivery unfollowed
            JOIN ONLY deliveries_delivery d ON d.id = unfollowed.delivery_id
            WHERE d.lane = %(lane)s AND d.kind = ANY(%(kinds)s)
            ORDER BY unfollowed.since, d.id LIMIT %(limit)s
            FOR NO KEY UPDATE OF unfollowed SKIP LOCKED
            """,
            {"lane": lane, "kinds": kinds.known(lane), "limit": limit},
        )
        ids = [row.id for row in rows]
        # One that was replayed since is on its way to another final state.
        final = Delivery.objects.filter(pk__in=ids, status__in=Delivery.FINAL)
        failed = _call(final.values_list("pk", flat=True), _on_settled, seconds=PATIENCE_SECONDS)
        _note_unfollowed(failed)
        followed = [delivery_id for delivery_id in ids if delivery_id not in failed]
        sql.run(
            "DELETE FROM deliveries_unfolloweddelivery WHERE delivery_id = ANY(%(ids)s)",
            {"ids": followed},
        )
    return len(followed)


def replayed(delivery_ids: Iterable[int]) -> set[int]:
    """Call `on_replayed` for each that is about to be put back; joins the caller's transaction.

    Return the ids of those whose invoice somebody else has locked, so that they stay as they are.
    """
    failed = _call(delivery_ids, _on_replayed)
    # A fault of ours must not keep a person from replaying; somebody else's lock passes.
    return {id_ for id_, error in failed.items() if sqlstate(error) == LOCK_NOT_AVAILABLE}


def _note_unfollowed(delivery_ids: Collection[int]) -> None:
    if delivery_ids:
        sql.run(
            f"""
            INSERT INTO deliveries_unfolloweddelivery (delivery_id, since)
            SELECT id, {sql.NOW} FROM unnest(%(ids)s::bigint[]) AS id ORDER BY id
            ON CONFLICT (delivery_id) DO UPDATE SET since = excluded.since
            """,
            {"ids": list(delivery_ids), "now": None},
        )


def _on_settled(delivery: Delivery) -> None:
    kinds.get(delivery.kind).on_settled(delivery)


def _on_replayed(delivery: Delivery) -> None:
    kinds.get(delivery.kind).on_replayed(delivery)


def _call(
    delivery_ids: Iterable[int],
    hook: Callable[[Delivery], None],
    *,
    seconds: float = float("inf"),
) -> dict[int, Exception]:
    """Call the hook for each, in a savepoint of its own; return what failed, by id.

    Those whose turn comes only after so many seconds have failed as well.
    """
    ids = list(delivery_ids)
    failed: dict[int, Exception] = {}
    if not ids:
        return failed
    until = time.monotonic() + seconds
    sql.run(f"SET LOCAL lock_timeout = '{LOCK_PATIENCE}'", {})
    # Hooks lock invoices: two batches that share some must come to them in the same order.
    deliveries = list(Delivery.objects.filter(pk__in=ids).order_by("invoice_id", "pk"))
    if _call_together(deliveries, hook):
        deliveries = []
    for delivery in deliveries:
        if time.monotonic() > until:
            failed[delivery.pk] = TimeoutError("Others before it took all the time there was.")
        elif error := _failure(hook, delivery):
            failed[delivery.pk] = error
    sql.run("SET LOCAL lock_timeout = DEFAULT", {})
    return failed


def _failure(hook: Callable[[Delivery], None], delivery: Delivery) -> Exception | None:
    error = _failure_of(lambda: hook(delivery))
    if error:
        fields = {
            "correlation_id": delivery.correlation_id,
            "delivery": delivery.pk,
            "invoice": delivery.reference,
        }
        logger.error("kind could not follow its delivery", exc_info=error, extra=fields)
    return error


def _call_together(deliveries: list[Delivery], hook: Callable[[Delivery], None]) -> bool:
    """Call the hook for all in one savepoint, which is quicker by far; tell whether all went well.

    PostgreSQL keeps 64 savepoints of a transaction at hand, and searches for those beyond.
    """

    def call_all() -> None:
        for delivery in deliveries:
            hook(delivery)

    return len(deliveries) > 1 and _failure_of(call_all) is None


def _failure_of(step: Callable[[], object]) -> Exception | None:
    """Take the step in a savepoint; return what went wrong, but raise a lost connection."""
    try:
        with transaction.atomic():
            step()
    except Exception as error:
        if connection_lost(error):
            raise
        return error
    return None
