"""The whole way over real HTTP: worker, sandbox, its signed webhooks, and back to us."""

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from pytest_django.live_server_helper import LiveServer

from deliveries import signatures
from deliveries.models import Delivery, ProviderEvent
from deliveries.providers.sandbox import SandboxProvider
from deliveries.sandbox import SandboxProvider as Sandbox
from deliveries.sandbox import Webhooks, webhooks
from tests import factories
from tests.events.provider import SECRET
from tests.ledger.programs import wait_until
from tests.ledger.steps import fresh
from tests.worker.stage import PATIENCE_SECONDS, make_worker


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhooks, "FIRST_AFTER_SECONDS", 0.0)
    monkeypatch.setattr(webhooks, "NEXT_AFTER_SECONDS", 0.02)
    monkeypatch.setattr(webhooks, "PAUSES_SECONDS", (0.01,) * 5)


@pytest.fixture
def send_to(transactional_db: None, live_server: LiveServer) -> Iterator[Callable[[str], Delivery]]:
    """Send an invoice to that address by a sandbox that tells us three times what became of it."""
    telling = Webhooks(f"{live_server.url}/webhooks/email", SECRET, repeats=3)
    with Sandbox(webhooks=telling) as sandbox:

        def send(address: str) -> Delivery:
            invoice = factories.make_invoice(factories.make_organization(), email=address)
            delivery = factories.make_delivery(invoice, now=None)
            provider = SandboxProvider(sandbox.url, timeout_seconds=PATIENCE_SECONDS)
            make_worker(provider).run(once=True)
            return delivery

        yield send


@pytest.mark.parametrize(
    ("address", "ending", "reason"),
    [
        ("ann@customer.example", "delivered", ""),
        ("bounce@customer.example", "bounced", "the mailbox does not exist"),
        ("Bounce+late@customer.example", "bounced", "the mailbox does not exist"),
        ("full@customer.example", "bounced_for_now", "the mailbox is full"),
        ("suppressed@customer.example", "suppressed", "e-mails to this address came back before"),
        ("failed@customer.example", "failed", "the provider's daily quota was used up"),
        ("complain@customer.example", "complained", ""),
        ("delayed@customer.example", "delivered", ""),
    ],
)
def test_what_became_of_it_comes_back(
    send_to: Callable[[str], Delivery], address: str, ending: str, reason: str
) -> None:
    delivery = send_to(address)
    wait_until(lambda: fresh(delivery).after_sending == ending)
    assert fresh(delivery).after_sending_reason == reason
    event = ProviderEvent.objects.filter(outcome=ending).get()
    assert event.delivery_id == delivery.pk


class Grudging(BaseHTTPRequestHandler):
    """Refuses each event twice before it takes it."""

    seen: list[tuple[str, str]]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        key = signatures.Key.of(SECRET)
        now = float(self.headers["svix-timestamp"])
        id_ = signatures.verify(body, self.headers, [key], now_seconds=now)  # type: ignore[arg-type]
        self.seen.append((id_, body.decode()))
        self.send_response(500 if len(self.seen) < 3 else 202)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def test_an_event_that_is_not_taken_is_posted_again_under_its_id() -> None:
    Grudging.seen = []
    with HTTPServer(("127.0.0.1", 0), Grudging) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        telling = Webhooks(f"http://127.0.0.1:{server.server_port}/", SECRET)
        telling.start()
        telling.tell("msg_1", key="delivery-1", recipients=["ann@customer.example"])
        wait_until(lambda: len(Grudging.seen) == 3)
        telling.stop()
        server.shutdown()
        thread.join()
    assert len(set(Grudging.seen)) == 1


def test_a_listener_that_is_gone_is_given_up_in_the_end() -> None:
    telling = Webhooks("http://127.0.0.1:9/", SECRET)
    telling.start()
    telling.tell("msg_1", key="delivery-1", recipients=["ann@customer.example"])
    wait_until(lambda: not telling._posts)
    telling.stop()


@pytest.mark.parametrize(
    ("url", "secret"),
    [("nonsense", SECRET), ("ftp://a.example/", SECRET), ("http://a.example/", "whsec_")],
)
def test_what_cannot_work_is_refused(url: str, secret: str) -> None:
    with pytest.raises(ValueError, match=r"address|bytes"):
        Webhooks(url, secret)
