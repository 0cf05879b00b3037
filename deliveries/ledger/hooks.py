"""Telling a delivery's kind what became of it, inside the transaction that records it."""

import logging
from collections.abc import Callable, Iterable

from django.db import DatabaseError, OperationalError, transaction

from deliveries import kinds
from deliveries.errors import UnknownKind
from deliveries.models import Delivery

logger = logging.getLogger(__name__)


def settled(delivery_ids: Iterable[int]) -> None:
    """Call `on_settled` for each, by invoice; joins the caller's transaction.

    A hook that fails must not undo the record: the provider *has* accepted that message. The
    failure is logged, and its own writes are rolled back. Where the database itself fails, the
    whole transaction is to be tried again, so that goes up.
    """
    _call(delivery_ids, lambda delivery: kinds.get(delivery.kind).on_settled(delivery))


def replayed(delivery_ids: Iterable[int]) -> None:
    """Call `on_replayed` for each, by invoice; joins the caller's transaction."""
    _call(delivery_ids, lambda delivery: kinds.get(delivery.kind).on_replayed(delivery))


def _call(delivery_ids: Iterable[int], hook: Callable[[Delivery], None]) -> None:
    ids = list(delivery_ids)
    if not ids:
        return
    # Hooks lock invoices: two batches that share some must come to them in the same order.
    for delivery in Delivery.objects.filter(pk__in=ids).order_by("invoice_id", "pk"):
        try:
            with transaction.atomic():
                hook(delivery)
        except UnknownKind:
            logger.warning("unknown kind", extra={"delivery": delivery.pk, "kind": delivery.kind})
        except OperationalError:
            raise
        except (Exception, DatabaseError):
            logger.exception(
                "kind could not follow its delivery",
                extra={"delivery": delivery.pk, "invoice": delivery.reference},
            )
