"""What a provider's log says after a restore beyond what this database waits for."""

import csv
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from deliveries.models import Delivery
from invoices.models import Organization
from tests import factories
from tests.ledger.steps import SENT, Status, claim_one, everything, fresh, settle

COLUMNS = "idempotency_key,provider_id,correlation_id"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log.csv"


def reconcile(log: Path, *options: str) -> str:
    out = StringIO()
    taken_at = ["--backup-taken-at", "2026-03-02T10:00:00Z"]
    call_command("reconcile_after_restore", *taken_at, "--sent", str(log), *options, stdout=out)
    return out.getvalue()


def write(log: Path, *rows: str, header: str = COLUMNS) -> None:
    log.write_text("\n".join([header, *rows]) + "\n")


# What was sent first after the backup ------------------------------------------------------------


def test_what_belongs_to_nothing_here_is_told_to_finance(delivery: Delivery, log: Path) -> None:
    write(log, "delivery-first,msg-1,req-1", "delivery-other,msg-2,req-2")
    said = reconcile(log, "--complete")
    assert "2 messages of the log belong to nothing in this database" in said
    assert "these invoices are drafts again" in said
    assert "sending them again makes a second e-mail" in said
    assert "delivery-first msg-1\n" in said
    assert "delivery-other msg-2\n" in said
    assert fresh(delivery).status == Status.QUEUED


def test_they_are_written_to_a_file_if_asked_for(delivery: Delivery, log: Path) -> None:
    write(log, "delivery-first,msg-1,req-1")
    path = log.with_name("unknown.csv")
    said = reconcile(log, "--unknown", str(path), "--dry-run")
    assert "1 message of the log belongs to nothing in this database" in said
    assert str(path) in said
    assert "delivery-first" not in said
    with path.open(newline="") as file:
        assert list(csv.DictReader(file)) == [
            {"idempotency_key": "delivery-first", "provider_id": "msg-1", "correlation_id": "req-1"}
        ]


def test_a_file_that_cannot_be_written_stops_it_before_it_begins(
    delivery: Delivery, log: Path
) -> None:
    write(log, "delivery-first,msg-1,req-1")
    with pytest.raises(CommandError, match="unknown"):
        reconcile(log, "--unknown", str(log.parent / "nowhere" / "unknown.csv"))
    assert fresh(delivery).status == Status.QUEUED


def test_the_log_is_not_written_over(delivery: Delivery, log: Path) -> None:
    write(log, "delivery-first,msg-1,req-1")
    before = log.read_bytes()
    with pytest.raises(CommandError, match="--unknown"):
        reconcile(log, "--unknown", str(log.parent / "." / log.name))
    assert log.read_bytes() == before


def test_test_e_mails_are_left_out(delivery: Delivery, log: Path) -> None:
    write(log, "test-0b1c,msg-1", header="idempotency_key,provider_id")
    assert "belong" not in reconcile(log, "--complete")


def test_without_correlation_ids_complete_is_refused_for_what_it_cannot_tell(
    delivery: Delivery, log: Path
) -> None:
    write(log, "delivery-first,msg-1", header="idempotency_key,provider_id")
    with pytest.raises(CommandError, match="sent for the first time") as error:
        reconcile(log, "--complete")
    assert "or again under a new key" in str(error.value)
    assert fresh(delivery).status == Status.QUEUED


# What a log cannot mean --------------------------------------------------------------------------


def test_two_ids_of_one_key_are_told_as_two_e_mails(delivery: Delivery, log: Path) -> None:
    key = delivery.idempotency_key
    write(log, f"{key},msg-1,c", f"{key},msg-1,c", f"{key},msg-2,c")
    said = reconcile(log)
    assert "1 delivery went out more than once" in said
    assert f"{delivery.dedupe_key}: msg-1, msg-2" in said
    assert fresh(delivery).provider_message_id == "msg-1"


def test_another_id_than_the_delivery_was_sent_under_is_told(delivery: Delivery, log: Path) -> None:
    settle(claim_one(), SENT)
    write(log, f"{delivery.idempotency_key},msg-2,c")
    assert f"{delivery.dedupe_key}: msg-2, msg-41" in reconcile(log)


def test_one_id_of_two_keys_is_refused(delivery: Delivery, log: Path) -> None:
    write(log, f"{delivery.idempotency_key},msg-1,c", "delivery-other,msg-1,c")
    refused(log, "line 3: msg-1 is the id of another key")


def test_an_id_that_another_delivery_has_is_refused(
    delivery: Delivery, organization: Organization, log: Path
) -> None:
    settle(claim_one(), SENT)
    other = factories.make_delivery(factories.make_invoice(organization))
    write(log, f"{other.idempotency_key},msg-41,c")
    refused(log, f"msg-41 of {other.idempotency_key} is the id of {delivery.dedupe_key}")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (f"{COLUMNS}\ndelivery-1\x00,msg-1,c\n", "line 2: NUL"),
        (f"{COLUMNS}\ndelivery-1,msg-1,c\x00\n", "line 2: NUL"),
        (f"{COLUMNS}\ndelivery-1,ms", "line 2: it has 2 columns of 3"),
        (f"{COLUMNS}\ndelivery-1,msg-1,c,d\n", "line 2: it has 4 columns of 3"),
        (f"{COLUMNS}\ndelivery-1,msg-1,c", "ends in mid line"),
        (f"{COLUMNS},provider_id\ndelivery-1,msg-1,c,msg-2\n", "twice"),
    ],
)
def test_what_was_cut_or_mangled_is_refused(
    delivery: Delivery, log: Path, text: str, why: str
) -> None:
    log.write_text(text)
    refused(log, why)


def refused(log: Path, why: str) -> None:
    before = everything()
    with pytest.raises(CommandError) as error:
        reconcile(log, "--complete")
    assert why in str(error.value)
    assert everything() == before
