"""Sending many invoices by one click: what Send does, for each of them, in a few transactions.

The choice is recorded first, whole; then it is worked off in chunks, each one transaction in
which invoices turn to sending exactly if their deliveries are recorded. A crash in between loses
nothing: what is recorded is sent, and the next click on the same form goes on with the rest.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import IntegrityError, connection, transaction
from django.db.models import Count, F, prefetch_related_objects
from django.utils.translation import gettext as _

from deliveries import kinds, ledger
from deliveries.models import Delivery
from invoices import sending
from invoices.models import Batch, BatchItem, Invoice, InvoiceQuerySet, Organization
from invoices.problems import Kind, problems_of

logger = logging.getLogger(__name__)

LIMIT = 10_000
# A chunk holds the flow's row: a colleague's click on Send waits for one chunk at most.
CHUNK = 1_000

_Why = BatchItem.Skipped


class TooMany(Exception):
    """More invoices were chosen than one batch takes; the text says what to do."""


class NothingChosen(Exception):
    """None of the chosen invoices is there."""


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """Why an invoice is skipped: what to count by, and a sentence."""

    why: BatchItem.Skipped
    sentence: str
    # Of a problem, which one.
    kind: Kind | None = None


def chosen_ids(invoices: InvoiceQuerySet) -> list[int]:
    """Return the ids of a choice, in the order in which they are locked; raise if it cannot be."""
    ids = list(invoices.order_by("pk").values_list("pk", flat=True)[: LIMIT + 1])
    if len(ids) > LIMIT:
        raise TooMany(
            _("At most %(limit)s invoices can be sent at once: narrow the list, then send again.")
            % {"limit": f"{LIMIT:,}"}
        )
    if not ids:
        raise NothingChosen
    return ids


def send_many(
    invoice_ids: Sequence[int], *, organization: Organization, user_id: int, once: UUID, chosen: str
) -> Batch:
    """Promise the e-mails of all of them that can be sent; return the batch, worked off.

    `once` names the form: a second click is the same batch. `chosen` says in words what was
    chosen. A transaction for the choice, then one for each chunk; must not run in another one, or
    a colleague's clicks wait for all of it. The correlation id in force is the deliveries'.
    """
    batch = batch_of(once, organization) or _record(
        invoice_ids, organization=organization, user_id=user_id, once=once, chosen=chosen
    )
    return proceed(batch)


def batch_of(once: UUID, organization: Organization) -> Batch | None:
    return Batch.objects.filter(organization=organization, once=once).first()


def proceed(batch: Batch) -> Batch:
    """Work off what is still to be done; several at once share the work."""
    while _chunk(batch.pk):
        pass
    batch.refresh_from_db()
    logger.info(
        "batch requested",
        extra={"batch": batch.pk, "queued": batch.queued, "skipped": batch.skipped},
    )
    return batch


def _record(
    invoice_ids: Sequence[int], *, organization: Organization, user_id: int, once: UUID, chosen: str
) -> Batch:
    # Asked for again: the ids are a form's, and another organization's invoices are not there.
    ids = chosen_ids(Invoice.objects.of(organization).filter(pk__in=invoice_ids))
    try:
        with transaction.atomic():
            batch = Batch.objects.create(
                organization=organization,
                requested_by_id=user_id,
                once=once,
                chosen=chosen[:200],
                size=len(ids),
            )
            BatchItem.objects.bulk_create(
                [BatchItem(batch=batch, invoice_id=pk) for pk in ids], batch_size=2_000
            )
    except IntegrityError as error:
        # The other half of a double click was first.
        if (first := batch_of(once, organization)) is None or "batch_once" not in str(error):
            raise
        return first
    return batch


def _chunk(batch_id: int) -> bool:
    """Do the next of what is to be done, in one transaction; say whether there was anything."""
    with transaction.atomic():
        batch = Batch.objects.select_for_update(no_key=True).get(pk=batch_id)
        if not (items := _pending(batch)):
            return False
        invoices = _locked(items)
        with_reason = refusals(invoices)
        promised = _promise(
            [invoice for invoice in invoices if invoice.pk not in with_reason],
            user_id=batch.requested_by_id,
        )
        _note(batch_id, promised, with_reason)
        Batch.objects.filter(pk=batch_id).update(
            queued=F("queued") + len(promised), skipped=F("skipped") + len(with_reason)
        )
    return True


def _pending(batch: Batch) -> list[BatchItem]:
    """Lock the next items to be done, before their invoices, as who throws a draft away does."""
    pending = batch.items.filter(delivery__isnull=True, skipped="").order_by("invoice_id")
    items = list(pending.select_for_update()[:CHUNK])
    if not items and batch.pending:
        # Drafts that were thrown away took their items with them.
        Batch.objects.filter(pk=batch.pk).update(size=F("queued") + F("skipped"))
    return items


def _note(batch_id: int, promised: dict[int, int], with_reason: dict[int, Refusal]) -> None:
    """Write down what became of a chunk; in SQL, since bulk_update took most of the time."""
    outcomes = [
        *((pk, delivery_id, "", "") for pk, delivery_id in promised.items()),
        *((pk, None, one.why.value, one.sentence[:1000]) for pk, one in with_reason.items()),
    ]
    if not outcomes:
        return
    with connection.cursor() as cursor:
        cursor.execute(_NOTE, [*map(list, zip(*outcomes, strict=True)), batch_id])


_NOTE = """
    UPDATE invoices_batchitem item
    SET delivery_id = outcome.delivery_id, skipped = outcome.skipped, reason = outcome.reason
    FROM unnest(%s::bigint[], %s::bigint[], %s::text[], %s::text[])
         AS outcome (invoice_id, delivery_id, skipped, reason)
    WHERE item.batch_id = %s AND item.invoice_id = outcome.invoice_id
"""


def _locked(items: Sequence[BatchItem]) -> list[Invoice]:
    """Lock the invoices in the order of their ids, so that two batches cannot deadlock."""
    return list(
        Invoice.objects.select_for_update(no_key=True, of=("self",))
        .filter(pk__in=[item.invoice_id for item in items])
        .select_related("customer", "organization")
        .order_by("pk")
    )


def _promise(invoices: Sequence[Invoice], *, user_id: int) -> dict[int, int]:
    """Turn locked invoices to sending and record their deliveries; return these by invoice."""
    ids = [invoice.pk for invoice in invoices]
    earlier = dict(
        Delivery.objects.filter(invoice__in=ids, kind=sending.KIND)
        .values_list("invoice_id")
        .annotate(count=Count("pk"))
    )
    wanted = [
        ledger.Wanted(
            organization_id=invoice.organization_id,
            invoice_id=invoice.pk,
            dedupe_key=sending.key_of(invoice.pk, earlier=earlier.get(invoice.pk, 0)),
            reference=invoice.number,
        )
        for invoice in invoices
    ]
    Invoice.objects.filter(pk__in=ids).update(status=Invoice.Status.SENDING, failure_reason="")
    ledger.request_many(wanted, kind=kinds.get(sending.KIND), requested_by=user_id)
    made = Delivery.objects.filter(dedupe_key__in=[intent.dedupe_key for intent in wanted])
    return dict(made.values_list("invoice_id", "pk"))


# What is skipped --------------------------------------------------------------------------------


def refusals(invoices: Sequence[Invoice]) -> dict[int, Refusal]:
    """Return why each of those that cannot be sent is skipped; customers must be loaded."""
    prefetch_related_objects(list(invoices), "lines")
    last = {
        delivery.invoice_id: delivery
        for delivery in Delivery.objects.latest_of_each(list(invoices), kind=sending.KIND)
    }
    found = ((invoice.pk, _refusal(invoice, last.get(invoice.pk))) for invoice in invoices)
    return {pk: refusal for pk, refusal in found if refusal}


def _refusal(invoice: Invoice, last: Delivery | None) -> Refusal | None:
    if sending.is_sendable(invoice, last):
        return _fatal(invoice)
    match invoice.status:
        case Invoice.Status.PAID:
            return Refusal(why=_Why.PAID, sentence=_("It is paid."))
        case Invoice.Status.VOID:
            return Refusal(why=_Why.VOID, sentence=_("It is void."))
        case Invoice.Status.SENT:
            return Refusal(why=_Why.SENT, sentence=_("It is sent already."))
        case Invoice.Status.FAILED:
            sentence = _("It was not sent before, and waits for support: %(reason)s")
            return Refusal(
                why=_Why.NOT_SENT, sentence=sentence % {"reason": invoice.failure_reason.strip()}
            )
        case _:
            return Refusal(why=_Why.UNDER_WAY, sentence=_("It is on its way already."))


def _fatal(invoice: Invoice) -> Refusal | None:
    """Return what keeps the e-mail from being composed; what is only odd is sent, as by Send."""
    fatal = [problem for problem in problems_of(invoice) if problem.fatal]
    if not fatal:
        return None
    sentence = " ".join(problem.sentence for problem in fatal)
    return Refusal(why=_Why.PROBLEM, sentence=sentence, kind=fatal[0].kind)
