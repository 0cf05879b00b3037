"""Two people reconcile the same restored database at the same moment."""

from datetime import UTC, datetime

from deliveries import ledger
from deliveries.ledger import Reconciled
from deliveries.models import Delivery
from tests.ledger.programs import Programs, result
from tests.ledger.steps import KEY_LIFETIME, Status, Type, events, fresh


def reconcile() -> Reconciled:
    steps = ledger.reconcile(backup_taken_at=datetime.now(UTC), key_lifetime=KEY_LIFETIME)
    *_, counts = [Reconciled(), *steps]
    return counts


def lock(delivery_id: int) -> None:
    Delivery.objects.select_for_update().get(pk=delivery_id)


def test_two_at_once_tell_one_story(program: Programs, delivery: Delivery) -> None:
    """The second has begun to look before the first has changed anything."""
    holder, first, second = program(), program(), program()
    holder.begin()
    holder.do(lock, delivery.pk)
    one = first.start(reconcile)
    first.wait_until_blocked()
    other = second.start(reconcile)
    second.wait_until_blocked()
    holder.rollback()
    told = [result(one), result(other)]
    assert told == [Reconciled(set_aside=1), Reconciled(left=1)]
    assert fresh(delivery).status == Status.DEAD
    assert events(delivery) == [Type.REQUESTED, Type.DIED]
