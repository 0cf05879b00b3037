"""What the worker's tests play with: providers that do what a test says, workers in threads."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import psycopg
from django.db import close_old_connections, connection, connections

from deliveries.models import Delivery, DeliveryEvent, Lane, Message
from deliveries.policy import Policy
from deliveries.providers import Provider, Receipt
from deliveries.worker import Worker
from invoices.models import Invoice
from tests import factories

PATIENCE_SECONDS = 20

Send = Callable[[Message, str], Receipt]


def eventually(condition: Callable[[], object], *, seconds: float = PATIENCE_SECONDS) -> None:
    deadline = time.monotonic() + seconds
    pause = threading.Event()
    while True:
        # A test may have killed this thread's own connection.
        close_old_connections()
        if condition():
            return
        assert time.monotonic() < deadline, "the condition did not come true"
        pause.wait(0.01)


class FakeProvider:
    """Calls a function of the test instead of the network; notes what it was given."""

    def __init__(self, send: Send | None = None) -> None:
        self.keys: list[str] = []
        self.closed = 0
        self._send = send or (lambda message, key: Receipt(id=f"for {key}"))

    def send(self, message: Message, *, idempotency_key: str) -> Receipt:
        self.keys.append(idempotency_key)
        return self._send(message, idempotency_key)

    def close(self) -> None:
        self.closed += 1


class Gate:
    """A provider's `send` that waits inside until it is opened."""

    def __init__(self, receipt_id: str = "msg_1") -> None:
        self.entered = threading.Semaphore(0)
        self.opened = threading.Event()
        self._receipt_id = receipt_id

    def __call__(self, message: Message, key: str) -> Receipt:
        self.entered.release()
        assert self.opened.wait(PATIENCE_SECONDS)
        return Receipt(id=self._receipt_id)

    def await_entry(self) -> None:
        assert self.entered.acquire(timeout=PATIENCE_SECONDS)


def policy(**seconds: Any) -> Policy:
    """Return a policy for impatient tests; lengths of time in seconds."""
    defaults = {"poll": 0.05, "backoff_base": 0.001, "backoff_cap": 0.001}
    return factories.make_policy(
        **{
            name: timedelta(seconds=value) if isinstance(value, float) else value
            for name, value in (defaults | seconds).items()
        }
    )


class Running:
    """A worker that runs in a thread of the test."""

    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self.failure: BaseException | None = None
        self.thread = threading.Thread(target=self._run, name=f"runs-{worker.name}", daemon=True)
        self.thread.start()

    def stop(self) -> None:
        """Drain it; fail unless it ends well."""
        self.worker.stop()
        self.join()

    def join(self) -> None:
        self.thread.join(PATIENCE_SECONDS)
        assert not self.thread.is_alive(), "the worker did not end"
        if self.failure is not None:
            raise self.failure

    def _run(self) -> None:
        try:
            self.worker.run()
        except BaseException as failure:  # noqa: BLE001 - handed to the test's own thread
            self.failure = failure
        finally:
            connections.close_all()


def count_cycles(running: Running) -> list[float]:
    """Note the time of every cycle from now on."""
    cycle, times = running.worker._cycle, []

    def counted(pool: object) -> int:
        times.append(time.monotonic())
        return cycle(pool)  # type: ignore[arg-type]

    running.worker._cycle = counted  # type: ignore[method-assign]
    return times


def make_worker(
    provider: Provider, *, name: str = "w1", threads: int = 2, **numbers: Any
) -> Worker:
    return Worker(
        provider=provider, policy=policy(**numbers), name=name, threads=threads, chance=lambda: 0.0
    )


@contextmanager
def another_connection(database: str = "") -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
    """Reach the test's database beside Django: what is seen here has been committed."""
    reach = connection.get_connection_params()
    with psycopg.connect(
        host=reach["host"],
        port=reach["port"],
        user=reach["user"],
        dbname=database or reach["dbname"],
        autocommit=True,
    ) as other:
        yield other


def terminate_backends(*, like: str = "%") -> int:
    """Kill every other connection to the test's database whose last statement is like this."""
    connection.close()
    name = connection.settings_dict["NAME"]
    with another_connection("postgres") as other:
        found = other.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
            "WHERE datname = %s AND query LIKE %s",
            (name, like),
        ).fetchall()
    return len(found)


def listening_backends() -> list[int]:
    """Return the server processes that wait in LISTEN for this database."""
    with another_connection("postgres") as other:
        found = other.execute(
            "SELECT pid FROM pg_stat_activity WHERE datname = %s AND query LIKE 'LISTEN%%'",
            [connection.settings_dict["NAME"]],
        ).fetchall()
    return [pid for (pid,) in found]


def now(delivery: Delivery) -> Delivery:
    """Return the delivery as it stands in the database now."""
    return Delivery.objects.get(pk=delivery.pk)


def change(delivery: Delivery, **columns: object) -> None:
    """Set columns behind the ledger's back, as time or another worker would have."""
    Delivery.objects.filter(pk=delivery.pk).update(**columns)


def status(delivery: Delivery) -> str:
    return now(delivery).status


def is_sent(delivery: Delivery) -> bool:
    return status(delivery) == Delivery.Status.SENT


def events(delivery: Delivery) -> list[str]:
    return list(
        DeliveryEvent.objects.filter(delivery=delivery)
        .order_by("id")
        .values_list("type", flat=True)
    )


def lane() -> Lane:
    return Lane.objects.get(pk="email")


def pause_left() -> float:
    """Return for how many seconds the lane still rests, by the database's clock."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT extract(epoch FROM paused_until - now()) FROM deliveries_lane")
        [(seconds,)] = cursor.fetchall()
    return float(seconds)


def invoice_of(delivery: Delivery) -> Invoice:
    return Invoice.objects.select_related("customer").get(pk=delivery.invoice_id)
