"""The ledger's gauges: right for every state, few, and cheap beside any number of old rows."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction
from pytest_django import DjangoAssertNumQueries
from pytest_django.fixtures import Settings

from deliveries import gauges, ledger, presence
from deliveries.models import Delivery
from deliveries.reports import Report
from invoices.models import Organization
from tests import factories
from tests.ledger.steps import (
    REFUSED,
    RETRY,
    SENT,
    Status,
    at,
    bring_to,
    claim,
    claim_one,
    make_deliveries,
    replay,
    settle,
)
from tests.ledger.test_plans import indexes, plans
from tests.ledger.test_plans import invoices as old_rows  # noqa: F401 - a fixture
from tests.metrics.scraping import Scrape

HOUR = timedelta(hours=1)


@pytest.fixture
def support(db: None) -> User:
    return User.objects.create(username="support")


# Lanes ----------------------------------------------------------------------------------------


def test_the_backlog_is_told_by_lane_and_status(organization: Organization) -> None:
    make_deliveries(organization, 4)
    settle(claim_one(), RETRY)
    scrape = Scrape()
    assert scrape("backlog", lane="email", status="queued") == 3
    assert scrape("backlog", lane="email", status="retrying") == 1


def test_counting_stops_somewhere(
    organization: Organization, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gauges, "COUNTED_UP_TO", 3)
    make_deliveries(organization, 4)
    assert Scrape()("backlog", lane="email", status="queued") == 3


@pytest.mark.parametrize("status", Status.values)
def test_only_what_waits_has_waited(delivery: Delivery, status: str) -> None:
    bring_to(delivery, status)
    waited = 90 if status in {Status.QUEUED, Status.RETRYING} else 0
    assert Scrape(at(90))("oldest_waiting_seconds", lane="email") == waited


def test_a_dead_letter_replayed_after_days_has_just_begun_to_wait(
    delivery: Delivery, support: User
) -> None:
    bring_to(delivery, Status.DEAD)
    replay(delivery, support.pk, now=at(days=3))
    moment = at(days=3, seconds=7)
    assert Scrape(moment)("oldest_waiting_seconds", lane="email") == 7
    assert ledger.lag("email", now=moment) == timedelta(seconds=7)


def test_retries_and_put_backs_do_not_begin_anew_to_wait(delivery: Delivery) -> None:
    settle(claim_one(now=at(10)), RETRY, now=at(20))
    assert ledger.wake_due("email", now=at(30)) == 1
    assert Scrape(at(90))("oldest_waiting_seconds", lane="email") == 90


def test_what_runs_is_told_with_the_age_of_its_lease(
    organization: Organization, settings: Settings
) -> None:
    settings.DELIVERY_LEASE_SECONDS = 60
    make_deliveries(organization, 2)
    first, second = claim_one(), claim_one(now=at(20))
    scrape = Scrape(at(30))
    assert scrape("running", lane="email") == 2
    assert scrape("oldest_lease_seconds", lane="email") == 30
    ledger.extend([first], lease=timedelta(seconds=60), now=at(40))
    assert Scrape(at(50))("oldest_lease_seconds", lane="email") == 30  # The second one's.
    assert second.token


def test_a_lease_that_nobody_takes_over_grows_older_than_a_lease(
    delivery: Delivery, settings: Settings
) -> None:
    settings.DELIVERY_LEASE_SECONDS = 60
    claim_one()
    scrape = Scrape(at(100))
    assert scrape("running", lane="email") == 0
    assert scrape("oldest_lease_seconds", lane="email") == 100


def test_a_pause_and_an_outage_are_told(db: None) -> None:
    ledger.configure("email", limit=7, rate_per_second=None)
    scrape = Scrape()
    told = ("lane_limit", "lane_paused", "lane_failing", "oldest_lease_seconds")
    assert [scrape(name, lane="email") for name in told] == [7, 0, 0, 0]
    ledger.pause("email", reason="It answers 401.", for_=HOUR, now=at())
    ledger.record_results("email", reached=False, failures=5)
    assert Scrape(at(3599))("lane_paused", lane="email") == 1
    assert Scrape(at(3600))("lane_paused", lane="email") == 0
    assert Scrape()("lane_failing", lane="email") == 1


# Dead letters and workers ---------------------------------------------------------------------


def test_the_dead_are_told_by_kind_and_reason(organization: Organization) -> None:
    make_deliveries(organization, 2)
    for each in claim():
        settle(each, REFUSED)
    scrape = Scrape()
    assert scrape("dead", kind="invoice", reason="rejected") == 2
    assert scrape("dead", kind="reminder", reason="rejected") == 0
    assert scrape("dead", kind="invoice", reason="outcome_unknown") == 0


def test_a_dead_letter_of_a_kind_that_this_version_does_not_know_is_told(
    delivery: Delivery,
) -> None:
    bring_to(delivery, Status.DEAD)
    Delivery.objects.update(kind="postcard")
    assert Scrape()("dead", kind="postcard", reason="rejected") == 1


def test_workers_count_while_they_report(db: None) -> None:
    assert Scrape()("workers_alive") == 0
    presence.beat("lagos-1", threads=5, in_flight=0, now=at())
    assert Scrape(at(29))("workers_alive") == 1
    assert Scrape(at(30))("workers_alive") == 0


# E-mails per sent invoice ---------------------------------------------------------------------


def emails_and_sent(seconds: float = 60) -> tuple[float, float]:
    scrape = Scrape(at(seconds))
    return scrape("recent_emails", kind="invoice"), scrape("recent_sent", kind="invoice")


def reported(message_id: str, *, tag: str) -> None:
    ledger.report(
        Report(
            event_id=f"event of {message_id}",
            type="email.delivered",
            outcome=Delivery.AfterSending.DELIVERED,
            provider_message_id=message_id,
            tag=tag,
        ),
        now=at(30),
    )


def test_one_email_for_each_that_was_sent_within_the_hour(delivery: Delivery) -> None:
    bring_to(delivery, Status.SENT)
    reported("msg-41", tag=delivery.idempotency_key)
    assert emails_and_sent() == (1, 1)
    assert emails_and_sent(3600) == (0, 0)


def test_a_second_email_that_the_provider_reports_is_told(delivery: Delivery) -> None:
    bring_to(delivery, Status.SENT)
    reported("msg-42", tag=delivery.idempotency_key)
    assert emails_and_sent() == (2, 1)


def test_one_id_for_two_deliveries_is_told(organization: Organization) -> None:
    make_deliveries(organization, 2)
    for each in claim():
        settle(each, SENT)
    assert emails_and_sent() == (1, 2)


# Few and cheap --------------------------------------------------------------------------------


def test_labels_are_few_and_fixed(organization: Organization) -> None:
    make_deliveries(organization, 3)
    settle(claim_one(), REFUSED)
    names = {label for _, labels in Scrape().samples for label, _ in labels}
    assert names == {"lane", "status", "kind", "reason"}


def test_organizations_add_no_series(organization: Organization) -> None:
    make_deliveries(organization, 1)
    before = len(Scrape().samples)
    for number in range(5):
        make_deliveries(factories.make_organization(f"company-{number}"), 1)
    assert len(Scrape().samples) == before < 50


def test_a_scrape_costs_a_fixed_number_of_statements(
    organization: Organization, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    make_deliveries(organization, 5)
    for number in range(10):
        ledger.pause(f"lane-{number}", reason="because", for_=HOUR)
    with django_assert_num_queries(5 + 2):  # And a savepoint, inside the test's transaction.
        gauges.render(now=at())


@pytest.mark.usefixtures("old_rows")
@pytest.mark.thorough
def test_no_scrape_reads_the_whole_ledger(monkeypatch: pytest.MonkeyPatch) -> None:
    # As few of these few thousand as it is of millions.
    monkeypatch.setattr(gauges, "RECENT_UP_TO", 20)
    with connection.cursor() as cursor:
        cursor.execute(
            """
            UPDATE ONLY deliveries_delivery SET status = 'dead', dead_reason = 'rejected',
                last_error = 'because', sent_at = NULL
            WHERE id IN (
                SELECT id FROM ONLY deliveries_delivery WHERE status = 'sent' LIMIT 100
            )
            """
        )
        cursor.execute(
            """
            INSERT INTO deliveries_deliveryevent
                (delivery_id, at, type, correlation_id, sentence, worker, details)
            SELECT id, %s - n * interval '1 minute', 'sent', 'c', 's', '', '{}'
            FROM (SELECT id, row_number() OVER (ORDER BY id DESC) AS n
                  FROM ONLY deliveries_delivery
                  WHERE status = 'sent') AS old
            ORDER BY n DESC
            """,
            [at()],
        )
        cursor.execute("SELECT brin_summarize_new_values('event_by_time')")
        cursor.execute("ANALYZE deliveries_delivery, deliveries_deliveryevent")
    with plans() as found:
        gauges.render(now=at())
    lanes, dead, recent = found
    partial = {"delivery_ready", "delivery_due", "delivery_waiting_since", "delivery_running"}
    assert indexes(lanes) - {"deliveries_lane_pkey"} <= partial
    # Without a vacuum, as in a test, its own index is worth no more than the other one.
    assert indexes(dead) <= {"delivery_dead_by_reason", "delivery_dead"}
    assert "event_by_time" in indexes(recent)
    read = {n["Relation Name"] for plan in found for n in plan if n["Node Type"] == "Seq Scan"}
    assert read <= {"deliveries_lane", "deliveries_providerevent"}  # Small, or empty here.


def test_a_scrape_writes_nothing(transactional_db: None) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION READ ONLY")
        assert gauges.render()
