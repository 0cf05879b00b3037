"""The main job on real processes: click, answer at once, e-mail out, page and logs true."""

import pytest

from deliveries.models import Delivery, DeliveryEvent
from invoicehub.rehearsal.fleet import Fleet, Person
from invoices.models import Invoice, Organization
from tests import factories
from tests.process.conftest import event_types, log_lines, settled

T = DeliveryEvent.Type


def test_two_clicks_and_two_failures_end_in_one_email_and_one_story(
    fleet: Fleet, person: Person, mainland: Organization
) -> None:
    invoice = factories.make_invoice(mainland, number="INV-0001")
    fleet.provider.fail(fail_next={"status": 503, "count": 2})
    first = person.send(invoice.pk, request_id="req-41")
    second = person.send(invoice.pk, request_id="req-42")
    worker = fleet.start_worker()
    assert [first.status_code, second.status_code] == [202, 202]
    assert first.json() == second.json()
    assert first.headers["Location"] == f"/deliveries/{first.json()['deliveryId']}"
    assert second.headers["X-Request-ID"] == "req-42"
    delivery = settled(first.json()["deliveryId"])
    assert (delivery.status, delivery.attempts) == ("sent", 3)
    assert event_types(delivery) == [
        T.REQUESTED,
        T.REQUESTED_AGAIN,
        T.ATTEMPT_FAILED,
        T.ATTEMPT_FAILED,
        T.SENT,
    ]
    [message] = fleet.provider.messages()
    assert message["headers"]["X-Correlation-ID"] == "req-41"
    invoice.refresh_from_db()
    assert invoice.status == Invoice.Status.SENT
    web = next(p for p in fleet.processes if p.name == "web")
    _assert_the_logs_tell_the_story(log_lines(web, worker), delivery)


def _assert_the_logs_tell_the_story(lines: list[dict[str, object]], delivery: Delivery) -> None:
    about = [line for line in lines if line.get("delivery") == delivery.pk]
    again = [line for line in about if line["message"] == "delivery already requested"]
    assert [(a["correlation_id"], a["first_correlation_id"]) for a in again] == [
        ("req-42", "req-41")
    ]
    rest = [line for line in about if line not in again]
    assert {line["correlation_id"] for line in rest} == {"req-41"}
    assert {line["invoice"] for line in about} == {"INV-0001"}
    told = [line["message"] for line in rest]
    assert told.count("attempt failed") == 2
    assert told.count("delivery sent") == 1
    assert told[0] == "delivery requested"


def test_fourteen_at_once_over_two_workers_never_exceed_five(
    fleet: Fleet, person: Person, mainland: Organization
) -> None:
    good = [factories.make_invoice(mainland, email=f"customer{n}@good.example") for n in range(12)]
    refused = factories.make_invoice(mainland, email="orders@@palmwine.example")
    imported = factories.make_invoice(mainland, amount_minor=None)
    fleet.provider.fail(delay_ms=100)
    workers = [fleet.start_worker(), fleet.start_worker()]
    answers = [person.send(invoice.pk) for invoice in (*good, refused, imported)]
    ended = [settled(answer.json()["deliveryId"]) for answer in answers]
    assert [answer.status_code for answer in answers] == [202] * 14
    assert [delivery.status for delivery in ended] == ["sent"] * 12 + ["dead"] * 2
    assert (ended[12].dead_reason, ended[12].attempts) == ("rejected", 1)
    assert ended[13].dead_reason == "not_sendable"
    assert "no amount" in ended[13].last_error
    assert fleet.provider.stats()["max_in_flight"] <= 5
    assert len(fleet.provider.messages()) == 12
    assert {Invoice.objects.get(pk=i.pk).status for i in (refused, imported)} == {"failed"}
    assert [worker.terminate() for worker in workers] == [0, 0]


@pytest.mark.thorough
def test_a_click_reaches_an_idle_worker_without_waiting_for_its_poll(
    fleet: Fleet, person: Person, mainland: Organization
) -> None:
    # A poll of five minutes: only the notice can bring the click to the worker in time.
    fleet.start_worker(DELIVERY_POLL_SECONDS="300")
    fleet.until_workers_are_present(1)
    invoice = factories.make_invoice(mainland)
    answer = person.send(invoice.pk)
    assert settled(answer.json()["deliveryId"]).status == "sent"


@pytest.mark.thorough
def test_twenty_clients_at_two_servers_get_one_delivery(
    fleet: Fleet, person: Person, mainland: Organization
) -> None:
    invoice = factories.make_invoice(mainland)
    fleet.start_web()
    elsewhere = Person(fleet.web_url, username="finance", password="a long password 1")
    people = [p.twin() for p in (person, elsewhere) for _ in range(10)]
    answers = fleet.at_once([lambda p=p: p.send(invoice.pk) for p in people])  # type: ignore[misc]
    assert {answer.status_code for answer in answers} == {202}
    assert len({answer.json()["deliveryId"] for answer in answers}) == 1
    assert Delivery.objects.count() == 1
    [delivery] = Delivery.objects.all()
    assert event_types(delivery).count("requested_again") == 19


@pytest.mark.thorough
def test_sigterm_under_load_leaves_no_leased_row_and_exits_0(
    fleet: Fleet, person: Person, mainland: Organization
) -> None:
    fleet.provider.fail(delay_ms=300)
    invoices = [factories.make_invoice(mainland) for _ in range(15)]
    for invoice in invoices:
        person.send(invoice.pk)
    worker = fleet.start_worker()
    fleet.until(lambda: fleet.provider.stats()["in_flight"] == 5, "five are under way")
    assert worker.terminate() == 0
    assert not Delivery.objects.filter(status="running").exists()
    assert Delivery.objects.filter(status="sent").count() == len(fleet.provider.messages())
    fleet.start_worker()
    fleet.until(
        lambda: Delivery.objects.filter(status="sent").count() == 15, "a second worker ends it"
    )
    assert len(fleet.provider.messages()) == 15


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("setting", "value", "said"),
    [
        ("EMAIL_PROVIDER_URL", "not an address", "EMAIL_PROVIDER_URL must be an address"),
        ("DELIVERY_LEASE_SECONDS", "2", "deliveries.E001"),
    ],
)
def test_nonsense_in_the_settings_is_refused_at_start(
    fleet: Fleet, setting: str, value: str, said: str
) -> None:
    worker = fleet.start_worker(**{setting: value})
    assert worker.wait() == 1
    assert said in worker.output()
