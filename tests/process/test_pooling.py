"""Everything behind a PgBouncer in transaction mode, with fewer connections than threads."""

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from django.db.models import QuerySet
from django.test import Client
from pytest_django.fixtures import Settings

from deliveries.models import Delivery, WorkerPresence
from deliveries.sandbox import SandboxProvider
from invoicehub.embedded.base import DatabaseWrapper
from invoicehub.rehearsal.fleet import Fleet, Person
from invoicehub.rehearsal.processes import Process
from invoices.models import Invoice, Organization
from invoices.sending import send
from tests import factories
from tests.invoices.importing.files import file_of, row
from tests.invoices.sending.test_batches_page import hidden
from tests.process.conftest import database_url, log_lines
from tests.process.pgbouncer import PgBouncer, needs_pgbouncer
from tests.process.test_reminders import last_run_day

pytestmark = [needs_pgbouncer]

# Two workers with five threads each, and a web server with sixteen, share these.
CONNECTIONS = 3


@pytest.fixture
def pooler(transactional_db: None, tmp_path: Path) -> Iterator[PgBouncer]:
    reach = connection.get_connection_params()
    with PgBouncer(reach, folder=tmp_path, size=CONNECTIONS) as pooler:
        yield pooler


@pytest.fixture
def behind_the_pooler(pooler: PgBouncer, settings: Settings) -> Iterator[None]:
    """Lead this process's own connections through the pooler, those of its threads too."""
    settings.DATABASE_POOLER = "transaction"
    straight = DatabaseWrapper.get_connection_params
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            DatabaseWrapper, "get_connection_params", lambda self: straight(self) | pooler.reach
        )
        patch.setitem(connection.settings_dict, "DISABLE_SERVER_SIDE_CURSORS", True)
        connection.close()
        yield
        connection.close()


@pytest.fixture
def settings_of_processes(pooler: PgBouncer) -> dict[str, str]:
    return {"DATABASE_URL": pooler.url, "DATABASE_POOLER": "transaction"}


@pytest.fixture
def fleet(settings_of_processes: dict[str, str], tmp_path: Path) -> Iterator[Fleet]:
    settings = settings_of_processes
    with Fleet(database_url=database_url(), folder=tmp_path, settings=settings) as fleet:
        fleet.start_provider()
        yield fleet


def drafts(organization: Organization, number: int) -> list[Invoice]:
    return [factories.make_invoice(organization) for _ in range(number)]


def subjects(fleet: Fleet) -> Counter[str]:
    return Counter(message["subject"].split()[1] for message in fleet.provider.messages())


def until_sent(fleet: Fleet, number: int) -> None:
    sent = Delivery.objects.filter(status="sent")
    fleet.until(lambda: sent.count() >= number, f"{number} are sent")


def troubles(*processes: Process) -> list[dict[str, Any]]:
    """Return what was logged as an error, or as a warning that an e-mail's failure is not."""
    expected = {"attempt failed", "not listening; polling goes on"}
    return [
        line
        for line in log_lines(*processes)
        if line["level"] in {"WARNING", "ERROR", "CRITICAL"} and line["message"] not in expected
    ]


def test_the_pooler_of_these_tests_keeps_nothing_of_a_session(pooler: PgBouncer) -> None:
    with psycopg.connect(pooler.url, autocommit=True, prepare_threshold=None) as client:
        client.execute("CREATE TEMPORARY TABLE kept (id integer)")
        with pytest.raises(psycopg.errors.UndefinedTable):
            client.execute("SELECT * FROM kept")


def test_clicks_a_bulk_send_and_a_failing_provider_behind_a_pooler_that_restarts(
    fleet: Fleet, person: Person, mainland: Organization, pooler: PgBouncer
) -> None:
    workers = [fleet.start_worker(), fleet.start_worker()]
    web = next(process for process in fleet.processes if process.name == "web")
    fleet.provider.fail(fail_next={"status": 503, "count": 3}, delay_ms=50)
    clicked, chosen = drafts(mainland, 10), drafts(mainland, 20)
    twins = [person.twin() for _ in clicked]
    answers = fleet.at_once(
        [
            lambda twin=twin, pk=invoice.pk: twin.send(pk)  # type: ignore[misc]
            for twin, invoice in zip(twins, clicked, strict=True)
        ]
    )
    assert {answer.status_code for answer in answers} == {202}
    until_sent(fleet, 10)
    assert troubles(web, *workers) == []
    fleet.provider.fail(delay_ms=100)
    bulk_send(person, chosen)
    fleet.until(lambda: len(fleet.provider.messages()) > 14, "the batch is under way")
    pooler.restart()
    until_sent(fleet, 30)
    assert subjects(fleet) == Counter(invoice.number for invoice in (*clicked, *chosen))
    lost = [line["exception"] for line in troubles(*workers) if "exception" in line]
    assert [text for text in lost if "OperationalError" not in text] == []
    assert [worker.terminate() for worker in workers] == [0, 0]
    deaf = [line for line in log_lines(*workers) if line["message"].startswith("not listening")]
    assert [line.get("why") for line in deaf] == ["a pooler, and no DATABASE_DIRECT_URL"] * 2


def bulk_send(person: Person, invoices: list[Invoice]) -> None:
    """Choose them in the list, look at the question and confirm it."""
    question = person.post("/invoices/send", {"invoice": [invoice.pk for invoice in invoices]})
    answer = person.post("/invoices/send", hidden(question.text))
    assert "/batches/" in answer.url, answer.text


def test_imports_exports_reminders_the_archive_and_the_admin_behind_a_pooler(
    behind_the_pooler: None,
    finance: User,
    mainland: Organization,
    sandbox: SandboxProvider,
    settings: Settings,
    client: Client,
    tmp_path: Path,
) -> None:
    settings.EMAIL_PROVIDER_URL = sandbox.url
    file = tmp_path / "march.csv"
    file.write_bytes(file_of(*(row(f"A-{number}") for number in range(1, 11))))
    call_command("import_invoices", str(file), "--organization", mainland.slug)
    make_old_and_overdue(Invoice.objects.filter(number__startswith="A-"))
    call_command("enqueue_reminders", "--date", str(last_run_day()))
    call_command("run_delivery_worker", "--once")
    assert Counter(Delivery.objects.values_list("status", flat=True)) == {"sent": 10}
    assert len({message["idempotency_key"] for message in sandbox.messages()}) == 10
    Delivery.objects.update(finished_at=datetime(2026, 1, 1, tzinfo=UTC))
    call_command("archive_deliveries")
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM deliveries_archiveddelivery")
        assert cursor.fetchone() == (10,)
    call_command("check_ledger")
    client.force_login(finance)
    export: Any = client.get("/invoices/export")
    assert b"".join(export.streaming_content).count(b"\r\nA-") == 10
    User.objects.filter(pk=finance.pk).update(is_staff=True, is_superuser=True)
    # Its choice of groups and permissions is read through a cursor.
    for page in (f"/admin/auth/user/{finance.pk}/change/", "/metrics", "/readyz", "/healthz"):
        assert client.get(page).status_code == 200, page


def make_old_and_overdue(invoices: QuerySet[Invoice]) -> None:
    """Turn drafts into invoices that were sent in January and not paid."""
    sent = datetime(2026, 1, 5, tzinfo=UTC)
    assert invoices.update(status="sent", sent_at=sent, due_on=date(2026, 2, 1)) == 10


def test_a_file_that_is_refused_leaves_nothing_behind_and_the_next_one_is_imported(
    behind_the_pooler: None, mainland: Organization, tmp_path: Path
) -> None:
    file = tmp_path / "april.csv"
    file.write_bytes(file_of(row("B-1"), row("B-1", customer_email="someone@else.example")))
    with pytest.raises(CommandError):
        call_command("import_invoices", str(file), "--organization", mainland.slug)
    assert not Invoice.objects.exists()
    file.write_bytes(file_of(row("B-1")))
    call_command("import_invoices", str(file), "--organization", mainland.slug)
    assert Invoice.objects.count() == 1


def test_the_time_zone_of_another_client_does_not_rub_off(
    pooler: PgBouncer, behind_the_pooler: None
) -> None:
    # The one thing that Django sets for a session; PgBouncer sets it again for whoever comes.
    with psycopg.connect(pooler.url, autocommit=True, prepare_threshold=None) as stranger:
        stranger.execute("SET TimeZone = 'Asia/Tokyo'")
        for _ in range(CONNECTIONS * 2):
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.execute("SHOW TimeZone")
                assert cursor.fetchone() == ("UTC",)
                shown = stranger.execute("SHOW TimeZone").fetchone()
                assert shown == ("Asia/Tokyo",)


def test_a_statement_that_is_repeated_is_never_prepared(behind_the_pooler: None) -> None:
    # psycopg by itself prepares at the sixth time, on a connection that the seventh does not get;
    # Django puts the values in itself, which rules that out, and turns it off besides.
    for _ in range(20):
        with connection.cursor() as cursor:
            cursor.execute("SELECT name FROM pg_prepared_statements")
            assert cursor.fetchall() == []
    assert connection.connection.prepare_threshold is None


def test_a_long_list_is_read_without_a_cursor_that_outlives_its_statement(
    behind_the_pooler: None, mainland: Organization
) -> None:
    drafts(mainland, 5)
    numbers = Invoice.objects.order_by("pk").values_list("number", flat=True)
    assert len(list(numbers.iterator(chunk_size=2))) == 5


def test_with_a_direct_address_workers_hear_of_each_click_past_the_pooler(
    fleet: Fleet, finance: User, mainland: Organization
) -> None:
    [invoice] = drafts(mainland, 1)
    # A poll of five minutes: only the notice can have woken the worker.
    fleet.start_worker(DELIVERY_POLL_SECONDS="300", DATABASE_DIRECT_URL=fleet.database_url)
    fleet.until_workers_are_present(1)
    fleet.until(WorkerPresence.objects.exists, "the worker is there")
    send(invoice.pk, organization=mainland, user_id=finance.pk)
    until_sent(fleet, 1)


@pytest.mark.slow
def test_a_pooler_that_restarts_again_and_again_loses_nothing_and_doubles_nothing(
    fleet: Fleet, finance: User, mainland: Organization, pooler: PgBouncer
) -> None:
    invoices = drafts(mainland, 200)
    for invoice in invoices:
        send(invoice.pk, organization=mainland, user_id=finance.pk)
    fleet.provider.fail(random_failure={"rate": 0.2, "seed": 20260302}, delay_ms=100)
    # No delivery is to blame for the leases that are lost.
    workers = [fleet.start_worker(DELIVERY_MAX_CLAIMS="1000") for _ in range(3)]
    for number in range(20, 200, 20):
        until_sent(fleet, number)
        pooler.restart()
    until_sent(fleet, 200)
    assert subjects(fleet) == Counter(invoice.number for invoice in invoices)
    assert [worker.terminate() for worker in workers] == [0, 0, 0]
