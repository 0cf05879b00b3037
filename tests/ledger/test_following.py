"""An invoice that could not follow its delivery follows it later; it holds up nobody meanwhile."""

from collections.abc import Callable

import pytest

from deliveries import ledger
from deliveries.ledger import hooks
from deliveries.models import Delivery, UnfollowedDelivery
from invoices.models import Invoice, Organization
from tests import factories
from tests.ledger.note import Note
from tests.ledger.programs import Programs, execute
from tests.ledger.steps import SENT, Status, at, claim, settle


def fail(delivery: Delivery) -> None:
    raise RuntimeError("not today")


def test_a_hook_that_failed_is_called_again_until_it_succeeds(
    note: Note, organization: Organization, monkeypatch: pytest.MonkeyPatch
) -> None:
    [delivery] = note.request_many(organization, 1)
    with monkeypatch.context() as broken:
        broken.setattr(note, "on_settled", fail)
        settle(claim()[0], SENT)
        assert UnfollowedDelivery.objects.filter(delivery=delivery).exists()
        assert ledger.follow_up("email") == 0
    assert ledger.follow_up("email") == 1
    assert note.settled == [(delivery.pk, Status.SENT)]
    assert not UnfollowedDelivery.objects.exists()
    assert ledger.follow_up("email") == 0


def test_one_that_fails_for_ever_does_not_keep_the_others_waiting(
    note: Note, organization: Organization, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad, good = note.request_many(organization, 2)
    with monkeypatch.context() as broken:
        broken.setattr(note, "on_settled", fail)
        for held in claim():
            settle(held, SENT)
    healthy: Callable[[Delivery], None] = note.on_settled

    def fail_for_bad(delivery: Delivery) -> None:
        if delivery == bad:
            fail(delivery)
        healthy(delivery)

    monkeypatch.setattr(note, "on_settled", fail_for_bad)
    done = [ledger.follow_up("email", limit=1) for _ in range(2)]
    assert sorted(done) == [0, 1]
    assert note.settled == [(good.pk, Status.SENT)]


def test_once_the_time_for_all_is_up_the_rest_follows_later(
    note: Note, organization: Organization, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hundred locked invoices must not hold the lane for a hundred times one's patience."""
    deliveries = note.request_many(organization, 3)
    tried: list[int] = []

    def fail_slowly(delivery: Delivery) -> None:
        tried.append(delivery.pk)
        fail(delivery)

    with monkeypatch.context() as slow:
        slow.setattr(note, "on_settled", fail_slowly)
        slow.setattr(hooks, "PATIENCE_SECONDS", -1.0)
        ledger.settle_batch([(held, SENT) for held in claim(capacity=3)], worker="worker-1")
    assert len(tried) == 1  # the try to do all of them at once
    assert UnfollowedDelivery.objects.count() == 3
    assert ledger.follow_up("email") == 3
    assert sorted(pk for pk, _ in note.settled) == sorted(each.pk for each in deliveries)


@pytest.mark.usefixtures("transactional_db")
def test_an_invoice_that_somebody_has_locked_holds_up_no_other(program: Programs) -> None:
    organization = factories.make_organization()
    stuck, free = (factories.make_invoice(organization) for _ in range(2))
    for invoice in (stuck, free):
        factories.make_delivery(invoice)
    other = program()
    other.begin()
    other.do(execute, f"SELECT FROM invoices_invoice WHERE id = {stuck.pk} FOR UPDATE")
    assert ledger.settle_batch([(c, SENT) for c in claim()], worker="w", now=at(1)) == []
    assert set(Delivery.objects.values_list("status", flat=True)) == {Status.SENT}
    assert Invoice.objects.get(pk=free.pk).status == "sent"
    assert Invoice.objects.get(pk=stuck.pk).status == "sending"
    other.commit()
    assert ledger.follow_up("email") == 1
    assert Invoice.objects.get(pk=stuck.pk).status == "sent"
