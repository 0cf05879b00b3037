"""The drills: what may go wrong, made to happen to real processes, and what must hold after it."""

import os
import signal
import statistics
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import psycopg
import requests
from psycopg.rows import dict_row

from invoicehub.rehearsal.fleet import Fleet, Person
from invoicehub.rehearsal.processes import Process
from invoicehub.rehearsal.waiting import NotInTime, wait_for

PASSWORD = "drill password"  # noqa: S105 - of a database that lives for a minute
FINAL = {"sent", "dead", "cancelled"}


@dataclass(frozen=True, kw_only=True)
class Result:
    """One drill's row in the table. `broken` names the promises that did not hold."""

    name: str
    answers_ms: Sequence[float]
    states: Mapping[str, int]
    emails_per_invoice: Sequence[int]
    attempts: Sequence[int]
    seconds: float
    broken: Sequence[str] = field(default_factory=tuple)

    @property
    def held(self) -> bool:
        return not self.broken


@dataclass
class Clicks:
    """How the clicks of one drill were answered."""

    milliseconds: list[float] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    deliveries: list[int] = field(default_factory=list)


class Rehearsal:
    """Runs drills, one after the other, on a fleet with sample data."""

    def __init__(
        self, fleet: Fleet, *, database_url: str, restart_database: Callable[[], None], quick: bool
    ) -> None:
        self.fleet = fleet
        self.quick = quick
        self.restart_database = restart_database
        self._database_url = database_url
        self._used: set[int] = set()
        self._workers: list[Process] = []
        self._web: Process | None = None

    def run(self, name: str, drill: Callable[["Rehearsal"], "Expected"]) -> Result:
        """Run one drill and hold what happened against the promises."""
        started = time.monotonic()
        self.fleet.provider.recover()
        self.fleet.provider.empty()
        try:
            expected = drill(self)
            late: list[str] = []
        except NotInTime as error:
            return Result(
                name=name,
                answers_ms=[],
                states={},
                emails_per_invoice=[],
                attempts=[],
                seconds=time.monotonic() - started,
                broken=[str(error)],
            )
        rows = self.rows(expected.invoices)
        emails = self._emails(rows)
        return Result(
            name=name,
            answers_ms=expected.sent.milliseconds,
            states=Counter(row["status"] for row in rows),
            emails_per_invoice=sorted(emails),
            attempts=sorted(row["attempts"] for row in rows),
            seconds=time.monotonic() - started,
            broken=[*late, *broken_promises(expected, rows, emails)],
        )

    # What drills are made of

    def fresh(self, count: int) -> list[int]:
        """Return the ids of draft invoices that no drill has used."""
        rows = self._query(
            "SELECT id FROM invoices_invoice WHERE number LIKE 'DEMO-%%' AND status = 'draft' "
            "AND NOT id = ANY(%s) ORDER BY id LIMIT %s",
            [list(self._used), count],
        )
        ids = [row["id"] for row in rows]
        self._used.update(ids)
        return ids

    def workers(self, count: int, **settings: str) -> list[Process]:
        """Have so many workers running, new ones if settings are given."""
        if settings:
            self.stop_workers()
        self._workers = [worker for worker in self._workers if worker.running]
        while len(self._workers) < count:
            self._workers.append(self.fleet.start_worker(**settings))
        self.fleet.until_workers_are_present(count)
        return list(self._workers)

    def one_more_worker(self, name: str) -> None:
        self._workers.append(self.fleet.start_worker(name=name))

    def stop_workers(self) -> None:
        for worker in self._workers:
            worker.terminate()
        self._workers = []

    def web(self) -> str:
        """Have a web server running; return its address."""
        if self._web is None or not self._web.running:
            self._web = self.fleet.start_web()
        return self.fleet.web_url

    def kill_web(self) -> None:
        if self._web is not None:
            self._web.kill()

    def click(self, invoices: Sequence[int]) -> Clicks:
        """Send each of the invoices, all at the same instant."""
        return self._click_at_once(invoices)

    def click_same(self, invoice: int, *, clients: int) -> Clicks:
        return self._click_at_once([invoice] * clients)

    def until_under_way(self, count: int = 1) -> None:
        """Wait until the provider has so many messages in hand."""
        wait_for(
            lambda: self.fleet.provider.stats()["in_flight"] >= count,
            f"the provider has {count} in hand",
            seconds=30,
        )

    def until_final(self, invoices: Sequence[int], *, seconds: float = 60) -> None:
        wait_for(
            lambda: all(row["status"] in FINAL for row in self.rows(invoices)),
            f"all {len(invoices)} deliveries are final",
            seconds=seconds,
        )

    def until(self, invoices: Sequence[int], condition: Callable[[dict[str, Any]], bool]) -> None:
        wait_for(
            lambda: all(condition(row) for row in self.rows(invoices)),
            "the deliveries are where the drill wants them",
            seconds=60,
        )

    def rows(self, invoices: Sequence[int]) -> list[dict[str, Any]]:
        """Return the invoices' deliveries as the database has them now."""
        return self._query(
            "SELECT d.id, d.invoice_id, d.status, d.attempts, d.claims, d.dead_reason, d.locked_by,"
            " d.idempotency_key, d.provider_message_id, i.number, i.status AS invoice_status,"
            " (SELECT count(*) FROM deliveries_deliveryevent e WHERE e.delivery_id = d.id"
            "  AND e.type = 'lease_lost') AS leases_lost "
            "FROM deliveries_delivery d JOIN invoices_invoice i ON i.id = d.invoice_id "
            "WHERE d.invoice_id = ANY(%s) ORDER BY d.id",
            [list(invoices)],
        )

    def _click_at_once(self, invoices: Sequence[int]) -> Clicks:
        sent = Clicks()
        person = Person(self.web(), username="finance", password=PASSWORD)

        def click(person: Person, invoice: int) -> tuple[float, requests.Response]:
            started = time.monotonic()
            answer = person.send(invoice)
            return (time.monotonic() - started) * 1000, answer

        calls = [lambda i=invoice: click(person.twin(), i) for invoice in invoices]
        for milliseconds, answer in self.fleet.at_once(calls):
            sent.milliseconds.append(milliseconds)
            sent.statuses.append(answer.status_code)
            if answer.status_code == 202:
                sent.deliveries.append(answer.json()["deliveryId"])
        return sent

    def _emails(self, rows: Sequence[Mapping[str, Any]]) -> list[int]:
        """Count, for each delivery's invoice, the e-mails in the provider's inbox.

        By the subject, not by our keys: two e-mails under different keys are two e-mails.
        """
        inbox = Counter(message["subject"].split()[1] for message in self.fleet.provider.messages())
        return [inbox[row["number"]] for row in rows]

    def _query(self, statement: str, parameters: list[Any]) -> list[dict[str, Any]]:
        with psycopg.connect(
            self._database_url, autocommit=True, row_factory=dict_row
        ) as connection:
            return connection.execute(statement, parameters).fetchall()


@dataclass(frozen=True, kw_only=True)
class Expected:
    """How a drill has to end: each invoice in `status`, with one e-mail exactly if sent."""

    invoices: Sequence[int]
    sent: Clicks
    status: str = "sent"
    dead_reason: str = ""
    attempts: int | None = None
    leases_lost: bool = False


def broken_promises(
    expected: Expected, rows: Sequence[Mapping[str, Any]], emails: Sequence[int]
) -> list[str]:
    """Return, in words, each promise that did not hold."""
    broken = []
    if wrong := [status for status in expected.sent.statuses if status != 202]:
        broken.append(f"{len(wrong)} clicks were answered {sorted(set(wrong))} instead of 202")
    if len(set(expected.sent.deliveries)) != len(expected.invoices):
        broken.append("clicks and deliveries do not match one to one")
    if len(rows) != len(expected.invoices):
        broken.append(f"{len(expected.invoices)} invoices have {len(rows)} deliveries")
    wanted = 1 if expected.status == "sent" else 0
    for row, count in zip(rows, emails, strict=True):
        broken += _broken_for(expected, row, count, wanted)
    if expected.leases_lost and not any(row["leases_lost"] for row in rows):
        broken.append("no lease was lost, so the drill did not rehearse anything")
    return broken


def _broken_for(expected: Expected, row: Mapping[str, Any], emails: int, wanted: int) -> list[str]:
    broken = []
    number = row["number"]
    if emails != wanted:
        broken.append(f"{number}: {emails} e-mails instead of {wanted}")
    if (row["status"], row["dead_reason"]) != (expected.status, expected.dead_reason):
        broken.append(f"{number}: {row['status']} {row['dead_reason']}".rstrip())
    page = {"sent": "sent", "dead": "failed"}[expected.status]
    if row["invoice_status"] != page:
        broken.append(f"{number}: its page says {row['invoice_status']}")
    if expected.attempts is not None and row["attempts"] != expected.attempts:
        broken.append(f"{number}: {row['attempts']} attempts instead of {expected.attempts}")
    return broken


def ten_at_once(rehearsal: Rehearsal) -> Expected:
    rehearsal.workers(2)
    invoices = rehearsal.fresh(10)
    sent = rehearsal.click(invoices)
    rehearsal.until_final(invoices)
    return Expected(invoices=invoices, sent=sent, attempts=1)


def every_worker_killed_mid_job(rehearsal: Rehearsal) -> Expected:
    workers = rehearsal.workers(2)
    rehearsal.fleet.provider.fail(delay_ms=1000)
    invoices = rehearsal.fresh(6)
    sent = rehearsal.click(invoices)
    rehearsal.until_under_way(3)
    for worker in workers:
        worker.kill()
    rehearsal.fleet.provider.recover()
    rehearsal.workers(2)
    rehearsal.until_final(invoices)
    return Expected(invoices=invoices, sent=sent, leases_lost=True)


def provider_down_for_a_while(rehearsal: Rehearsal) -> Expected:
    rehearsal.workers(2)
    rehearsal.fleet.provider.fail(down=True)
    invoices = rehearsal.fresh(4)
    sent = rehearsal.click(invoices)
    seconds = 3 if rehearsal.quick else 20
    started = time.monotonic()
    rehearsal.until(invoices, lambda row: row["attempts"] > 0 or row["status"] == "queued")
    wait_for(lambda: time.monotonic() - started > seconds, "the outage ends", seconds=60)
    rehearsal.fleet.provider.recover()
    rehearsal.until_final(invoices, seconds=120)
    return Expected(invoices=invoices, sent=sent)


def provider_down_beyond_the_budget(rehearsal: Rehearsal) -> Expected:
    rehearsal.workers(
        1,
        DELIVERY_MAX_ATTEMPTS="3",
        DELIVERY_BACKOFF_BASE_SECONDS="0.2",
        DELIVERY_OUTAGE_SECONDS="0.2",
    )
    rehearsal.fleet.provider.fail(down=True)
    invoices = rehearsal.fresh(1)
    sent = rehearsal.click(invoices)
    rehearsal.until_final(invoices)
    rehearsal.stop_workers()
    return Expected(invoices=invoices, sent=sent, status="dead", dead_reason="gave_up", attempts=3)


def an_address_refused(rehearsal: Rehearsal) -> Expected:
    rehearsal.workers(2)
    rehearsal.fleet.provider.fail(fail_addresses=["invoices@ekomarkets.example"])
    invoices = rehearsal.fresh(2)
    sent = rehearsal.click(invoices)
    rehearsal.until_final(invoices)
    return Expected(invoices=invoices, sent=sent, status="dead", dead_reason="rejected", attempts=1)


def twenty_clients_at_once(rehearsal: Rehearsal) -> Expected:
    rehearsal.workers(2)
    invoices = rehearsal.fresh(1)
    sent = rehearsal.click_same(invoices[0], clients=20)
    rehearsal.until_final(invoices)
    return Expected(invoices=invoices, sent=sent, attempts=1)


def accepted_then_dropped(rehearsal: Rehearsal) -> Expected:
    rehearsal.workers(2)
    rehearsal.fleet.provider.fail(drop_after_accept_next=3)
    invoices = rehearsal.fresh(3)
    sent = rehearsal.click(invoices)
    rehearsal.until_final(invoices)
    return Expected(invoices=invoices, sent=sent)


def web_and_workers_killed(rehearsal: Rehearsal) -> Expected:
    workers = rehearsal.workers(2)
    rehearsal.fleet.provider.fail(delay_ms=1000)
    invoices = rehearsal.fresh(8)
    sent = rehearsal.click(invoices)
    rehearsal.until_under_way(3)
    rehearsal.kill_web()
    for worker in workers:
        worker.kill()
    rehearsal.fleet.provider.recover()
    rehearsal.web()
    rehearsal.workers(2)
    rehearsal.until_final(invoices)
    return Expected(invoices=invoices, sent=sent, leases_lost=True)


def database_restarted_mid_send(rehearsal: Rehearsal) -> Expected:
    rehearsal.workers(2)
    rehearsal.fleet.provider.fail(delay_ms=1000)
    invoices = rehearsal.fresh(5)
    sent = rehearsal.click(invoices)
    rehearsal.until_under_way(3)
    rehearsal.restart_database()
    rehearsal.fleet.provider.recover()
    rehearsal.until_final(invoices)
    return Expected(invoices=invoices, sent=sent)


def a_lease_shorter_than_the_job(rehearsal: Rehearsal) -> Expected:
    """A worker stands still, as a machine does that is suspended, until its lease has ended."""
    rehearsal.stop_workers()
    [frozen] = rehearsal.workers(1)
    rehearsal.fleet.provider.fail(delay_ms=1000)
    invoices = rehearsal.fresh(1)
    sent = rehearsal.click(invoices)
    rehearsal.until_under_way()
    os.killpg(frozen.pid, signal.SIGSTOP)
    rehearsal.fleet.provider.recover()
    rehearsal.one_more_worker("relief")
    rehearsal.until(invoices, lambda row: row["status"] == "sent")
    os.killpg(frozen.pid, signal.SIGCONT)
    wait_for(
        lambda: (
            "outcome not recorded: lease lost" in frozen.output()
            or "lease lost while running" in frozen.output()
        ),
        "the frozen worker learns that it lost its lease",
        seconds=30,
    )
    return Expected(invoices=invoices, sent=sent, leases_lost=True)


DRILLS: dict[str, Callable[[Rehearsal], Expected]] = {
    "ten at once": ten_at_once,
    "an address refused": an_address_refused,
    "same invoice from 20 clients at once": twenty_clients_at_once,
    "accepted, then the connection dropped": accepted_then_dropped,
    "provider down for a while": provider_down_for_a_while,
    "PostgreSQL restarted mid-send": database_restarted_mid_send,
    "every worker killed mid-job": every_worker_killed_mid_job,
    "web and workers killed, sends outstanding": web_and_workers_killed,
    "a lease shorter than the job": a_lease_shorter_than_the_job,
    "provider down beyond the budget": provider_down_beyond_the_budget,
}


def median(values: Sequence[float]) -> float:
    return statistics.median(values) if values else 0.0
