"""After a restore: what may have gone out since the backup does not go out again."""

from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from deliveries import ledger
from deliveries.ledger import Case
from deliveries.models import Delivery, WorkerPresence
from invoices.models import Invoice, Organization
from tests import factories
from tests.ledger.steps import (
    KEY_LIFETIME,
    Reason,
    Status,
    Type,
    bring_to,
    claim_one,
    events,
    fresh,
    hand_over,
    invoice_of,
    last_event,
    settle,
)
from tests.ledger.steps import SENT as ACCEPTED

TAKEN_AT = "2026-03-02T10:00:00Z"


def reconcile(*arguments: str, taken_at: str = TAKEN_AT) -> list[int]:
    """Run the command; return what it counted: sent, set aside, doubted, left."""
    out = StringIO()
    call_command("reconcile_after_restore", "--backup-taken-at", taken_at, *arguments, stdout=out)
    return [int(line.split()[0]) for line in out.getvalue().splitlines()[:4]]


def log_of(folder: Path, *rows: str, header: str = "idempotency_key,provider_id") -> list[str]:
    path = folder / "log.csv"
    path.write_text("\n".join([header, *rows]) + "\n")
    return ["--sent", str(path)]


# Without the provider's log ----------------------------------------------------------------------


@pytest.mark.parametrize("status", ["queued", "running", "retrying"])
def test_what_waited_is_set_aside_for_a_person(delivery: Delivery, status: str) -> None:
    if status == "running":
        claim_one()
    else:
        bring_to(delivery, status)
    assert reconcile() == [0, 1, 0, 0]
    row = fresh(delivery)
    assert (row.status, row.dead_reason) == (Status.DEAD, Reason.OUTCOME_UNKNOWN)
    assert row.may_have_arrived
    assert last_event(delivery).type == Type.DIED
    assert "restored from a backup of 2026-03-02 10:00:00 UTC" in last_event(delivery).sentence
    assert invoice_of(delivery).status == "failed"


def test_a_replay_of_what_was_set_aside_asks_for_confirmation(delivery: Delivery) -> None:
    """Also an hour after the backup: it may have gone out under another key since."""
    now = datetime.now(UTC)
    taken_at = now - timedelta(minutes=1)
    Delivery.objects.update(created_at=taken_at)
    reconcile(taken_at=taken_at.isoformat())
    [prospect] = ledger.prospects([delivery.pk], key_lifetime=KEY_LIFETIME)
    assert prospect.case is Case.UNKNOWN


def test_what_was_set_aside_can_be_vouched_for(delivery: Delivery, owner: User) -> None:
    reconcile()
    ledger.vouch(delivery.pk, provider_message_id="msg-7", actor_id=owner.pk, reason="seen")
    assert fresh(delivery).status == Status.SENT
    assert invoice_of(delivery).status == "sent"


def test_a_replay_of_what_was_dead_before_asks_from_now_on(delivery: Delivery) -> None:
    bring_to(delivery, Status.DEAD)
    assert reconcile() == [0, 0, 1, 0]
    assert fresh(delivery).dead_reason == Reason.REJECTED
    [prospect] = ledger.prospects([delivery.pk], key_lifetime=KEY_LIFETIME)
    assert prospect.case is Case.UNKNOWN
    assert last_event(delivery).type == Type.NOTED


@pytest.mark.parametrize("status", ["sent", "cancelled"])
def test_what_was_over_is_left_alone(delivery: Delivery, status: str) -> None:
    bring_to(delivery, status)
    before = Delivery.objects.values().get()
    assert reconcile() == [0, 0, 0, 0]
    assert Delivery.objects.values().get() == before


def test_twice_is_as_good_as_once(delivery: Delivery, organization: Organization) -> None:
    dead = factories.make_delivery(factories.make_invoice(organization))
    Delivery.objects.filter(pk=dead.pk).update(
        status="dead", dead_reason="rejected", last_error="no", finished_at=factories.NOW
    )
    assert reconcile() == [0, 1, 1, 0]
    told = events(delivery), events(dead)
    assert reconcile() == [0, 0, 0, 2]
    assert (events(delivery), events(dead)) == told


@pytest.mark.parametrize("taken_at", ["2026-03-02T09:00:00Z", "2026-03-02T08:00:00Z"])
def test_what_waits_is_set_aside_however_young_it_is(delivery: Delivery, taken_at: str) -> None:
    """The snapshot is later than the moment that somebody noted: by a second, or by the backup."""
    Delivery.objects.update(created_at="2026-03-02T09:00:00.5Z")
    assert reconcile(taken_at=taken_at) == [0, 1, 0, 0]
    assert fresh(delivery).status == Status.DEAD


def test_what_is_younger_than_the_backup_is_found_in_the_log(
    delivery: Delivery, tmp_path: Path
) -> None:
    log = log_of(tmp_path, f"{delivery.idempotency_key},msg-7")
    assert reconcile(*log, taken_at="2026-03-02T08:59:00Z") == [1, 0, 0, 0]
    row = fresh(delivery)
    assert (row.status, row.sent_at) == (Status.SENT, row.created_at)


def test_what_was_requested_since_the_start_is_left_alone_if_asked_for(delivery: Delivery) -> None:
    out = StringIO()
    options = ["--backup-taken-at", "2026-03-02T08:58:00Z"]
    until = ["--requested-until", "2026-03-02T08:59:00Z"]
    call_command("reconcile_after_restore", *options, *until, stdout=out)
    assert "1 that wait were requested after --requested-until and stay" in out.getvalue()
    assert fresh(delivery).status == Status.QUEUED


def test_a_dry_run_changes_nothing(delivery: Delivery) -> None:
    assert reconcile("--dry-run") == [0, 1, 0, 0]
    assert fresh(delivery).status == Status.QUEUED


# With the provider's log -------------------------------------------------------------------------


def test_what_the_log_holds_is_recorded_as_sent(delivery: Delivery, tmp_path: Path) -> None:
    log = log_of(tmp_path, f"{delivery.idempotency_key},msg-7")
    assert reconcile(*log) == [1, 0, 0, 0]
    row = fresh(delivery)
    assert (row.status, row.provider_message_id) == (Status.SENT, "msg-7")
    assert last_event(delivery).type == Type.SENT
    assert invoice_of(delivery).status == "sent"
    assert reconcile(*log) == [0, 0, 0, 0]


def test_a_message_under_an_earlier_key_counts_too(
    delivery: Delivery, owner: User, tmp_path: Path
) -> None:
    claim = claim_one()
    message = hand_over(claim)
    Delivery.objects.update(idempotency_key="delivery-new")
    assert reconcile(*log_of(tmp_path, f"{message.idempotency_key},msg-7")) == [1, 0, 0, 0]


def test_what_a_log_does_not_hold_is_set_aside_unless_the_log_is_complete(
    delivery: Delivery, tmp_path: Path
) -> None:
    log = log_of(tmp_path)
    assert reconcile(*log, "--complete") == [0, 0, 0, 1]
    assert fresh(delivery).status == Status.QUEUED
    assert reconcile(*log) == [0, 1, 0, 0]


def test_a_replay_under_a_key_unknown_here_is_recognized_by_its_correlation_id(
    delivery: Delivery, tmp_path: Path
) -> None:
    log = log_of(
        tmp_path,
        f"delivery-of-a-replay,msg-7,{delivery.correlation_id}",
        header="idempotency_key,provider_id,correlation_id",
    )
    assert reconcile(*log, "--complete") == [0, 1, 0, 0]


def test_no_log_can_tell_of_what_was_recorded_anew_after_the_restore(
    delivery: Delivery, tmp_path: Path
) -> None:
    options = [*log_of(tmp_path), "--complete"]
    assert reconcile(*options, taken_at="2026-03-02T08:59:00Z") == [0, 1, 0, 0]


def test_a_complete_log_with_unknown_keys_and_no_correlation_ids_is_refused(
    delivery: Delivery, tmp_path: Path
) -> None:
    with pytest.raises(CommandError, match="delivery-of-a-replay"):
        reconcile(*log_of(tmp_path, "delivery-of-a-replay,msg-7"), "--complete")
    assert fresh(delivery).status == Status.QUEUED


def test_a_dead_letter_that_the_log_holds_was_sent(delivery: Delivery, tmp_path: Path) -> None:
    reconcile()
    assert reconcile(*log_of(tmp_path, f"{delivery.idempotency_key},msg-7")) == [1, 0, 0, 0]
    assert fresh(delivery).status == Status.SENT


# How it is called --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "taken_at",
    ["", "yesterday", "2026-03-02T10:00:00", "2026-13-02T10:00:00Z", "9999-12-31T00:00Z"],
)
def test_a_time_that_is_none_is_refused(db: None, taken_at: str) -> None:
    with pytest.raises(CommandError, match="--backup-taken-at") as error:
        reconcile(taken_at=taken_at)
    assert error.value.returncode == 2


def test_complete_without_a_log_is_refused(db: None) -> None:
    with pytest.raises(CommandError, match="--complete") as error:
        reconcile("--complete")
    assert error.value.returncode == 2


@pytest.mark.parametrize(
    ("rows", "header"),
    [
        ([], "key,id"),
        (["delivery-1,"], "idempotency_key,provider_id"),
        (['"delivery-1'], "idempotency_key,provider_id"),
        (["delivery-1," + "x" * 256], "idempotency_key,provider_id"),
    ],
)
def test_half_a_log_is_refused_whole(
    delivery: Delivery, tmp_path: Path, rows: list[str], header: str
) -> None:
    with pytest.raises(CommandError, match=r"log\.csv"):
        reconcile(*log_of(tmp_path, *rows, header=header))
    with pytest.raises(CommandError, match="cannot be read"):
        reconcile("--sent", str(tmp_path / "nowhere.csv"))
    assert fresh(delivery).status == Status.QUEUED


def test_it_refuses_beside_a_running_worker(delivery: Delivery) -> None:
    WorkerPresence.objects.create(name="worker-1", host="h", pid=1, version="1", threads=5)
    with pytest.raises(CommandError, match="worker-1 is running"):
        reconcile()
    assert fresh(delivery).status == Status.QUEUED


def test_an_invoice_sent_before_the_backup_is_not_asked_about(
    delivery: Delivery, invoice: Invoice
) -> None:
    settle(claim_one(), ACCEPTED)
    reconcile()
    invoice.refresh_from_db()
    assert invoice.status == "sent"
