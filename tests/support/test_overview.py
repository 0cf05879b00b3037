"""The ledger's numbers of now: right, and cheap beside any number of old rows."""

from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connection
from pytest_django import DjangoAssertNumQueries

from deliveries import chart, ledger, overview, presence, right_now, spans
from deliveries.models import Delivery, DeliveryEvent, LaneEvent
from deliveries.overview import Count, Hour, LaneNow
from invoices.models import Organization
from tests.ledger.steps import RETRY, at, claim, make_deliveries, settle
from tests.ledger.test_plans import indexes, plans, types
from tests.ledger.test_plans import invoices as old_rows  # noqa: F401

HOUR = timedelta(hours=1)


def email(now: datetime) -> LaneNow:
    lane = overview.lane("email", now=now)
    assert lane is not None
    return lane


# Lanes ----------------------------------------------------------------------------------------


def test_a_lane_tells_what_runs_and_what_waits(organization: Organization) -> None:
    make_deliveries(organization, 8)
    ledger.configure("email", limit=5, rate_per_second=2.5)
    settle(claim(capacity=2, now=at(1))[0], RETRY, now=at(2))
    lane = email(at(60))
    assert (lane.limit, lane.rate_in_words, lane.running) == (5, "2.5 a second", 1)
    assert (lane.queued.number, lane.retrying.number, lane.waiting.number) == (6, 1, 7)
    assert lane.oldest_in_words == "1 min"


def test_a_lease_that_ran_out_does_not_count_as_running(organization: Organization) -> None:
    make_deliveries(organization, 2)
    claim(now=at())
    assert email(at(59)).running == 2
    assert email(at(60)).running == 0


def test_lanes_do_not_share_their_numbers(organization: Organization) -> None:
    make_deliveries(organization, 2)
    ledger.configure("webhooks", limit=1, rate_per_second=None)
    found = overview.lanes(now=at(10))
    assert [(lane.name, lane.waiting.number) for lane in found] == [("email", 2), ("webhooks", 0)]
    assert found[1].oldest_waiting is None


def test_a_pause_tells_until_when_why_and_by_whom(operations: User) -> None:
    ledger.pause("email", reason="Maintenance.", for_=HOUR, actor_id=operations.pk, now=at())
    pause = email(at(1)).pause
    assert pause is not None
    assert (pause.until, pause.reason, pause.by) == (at(3600), "Maintenance.", "operations")
    assert not pause.open_ended
    assert email(at(3600)).pause is None


def test_a_workers_pause_is_nobodys(operations: User) -> None:
    ledger.pause("email", reason="By hand.", for_=HOUR, actor_id=operations.pk, now=at())
    ledger.pause("email", reason="It answers 401.", for_=2 * HOUR, now=at(1))
    pause = email(at(2)).pause
    assert pause is not None
    assert (pause.reason, pause.by) == ("It answers 401.", "")


def test_a_workers_short_pause_leaves_a_persons_longer_one_alone(operations: User) -> None:
    ledger.pause("email", reason="By hand.", for_=HOUR, actor_id=operations.pk, now=at())
    before = email(at(2)).pause
    ledger.pause("email", reason="Slow down.", for_=timedelta(seconds=30), now=at(1))
    assert email(at(2)).pause == before
    assert LaneEvent.objects.count() == 1


def test_a_failing_provider_is_told(db: None) -> None:
    ledger.configure("email", limit=5, rate_per_second=None)
    ledger.record_results("email", reached=False, failures=4)
    assert not email(at()).probing
    ledger.record_results("email", reached=False, failures=1)
    assert email(at()).probing


# Dead, workers, the day -----------------------------------------------------------------------


def test_every_reason_is_counted_also_where_there_is_none(organization: Organization) -> None:
    for delivery in make_deliveries(organization, 3):
        die(delivery, "gave_up" if delivery.pk % 3 else "rejected")
    found = {each.reason.value: each.count.number for each in overview.dead()}
    assert list(found) == Delivery.DeadReason.values
    assert (found["gave_up"], found["rejected"], found["crashed"]) == (2, 1, 0)


def die(delivery: Delivery, reason: str) -> None:
    Delivery.objects.filter(pk=delivery.pk).update(
        status="dead", dead_reason=reason, last_error="because", finished_at=at()
    )


def test_workers_are_counted_by_when_they_were_last_seen(db: None) -> None:
    presence.beat("lagos-1", threads=5, in_flight=3, now=at(31))
    presence.beat("lagos-2", threads=5, in_flight=2, now=at(30))
    fleet = overview.fleet(now=at(60))
    assert (fleet.alive, fleet.gone, fleet.in_flight, fleet.threads) == (1, 1, 3, 5)


def test_no_worker_at_all_is_zero(db: None) -> None:
    assert overview.fleet(now=at()).alive == 0


def happened(delivery: Delivery, type_: str, when: datetime, *, times: int = 1) -> None:
    event = DeliveryEvent(delivery=delivery, at=when, type=type_, correlation_id="c", sentence="s")
    DeliveryEvent.objects.bulk_create([event] * times)


def test_the_day_is_told_by_hours_of_utc(delivery: Delivery) -> None:
    now = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
    happened(delivery, "sent", datetime(2026, 3, 1, 9, 59, 59, tzinfo=UTC))  # Too long ago.
    happened(delivery, "sent", datetime(2026, 3, 1, 10, 0, tzinfo=UTC))
    happened(delivery, "sent", datetime(2026, 3, 2, 9, 0, tzinfo=UTC), times=2)
    happened(delivery, "died", datetime(2026, 3, 2, 8, 59, tzinfo=UTC))
    happened(delivery, "attempt_failed", datetime(2026, 3, 2, 8, 59, tzinfo=UTC))
    hours = overview.day(now=now)
    assert len(hours) == 24
    assert hours[0] == Hour(at=datetime(2026, 3, 1, 10, tzinfo=UTC), sent=1)
    assert hours[-1] == Hour(at=datetime(2026, 3, 2, 9, tzinfo=UTC), sent=2)
    assert hours[-2].dead == 1
    assert sum(hour.sent + hour.dead for hour in hours) == 4
    assert hours[-1].label == "09:00–10:00 UTC"


# Words ----------------------------------------------------------------------------------------


def test_counting_stops_where_the_number_no_longer_matters() -> None:
    assert [str(Count.of(rows)) for rows in (0, 1234, 10_000, 10_001)] == [
        *("0", "1,234", "10,000", "10,000+")
    ]
    assert str(Count.of(6_000) + Count.of(6_000)) == "10,000+"
    assert not Count.of(0)


def test_no_more_than_ten_thousand_are_counted(
    organization: Organization, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(overview, "COUNTED_UP_TO", 3)
    for delivery in make_deliveries(organization, 9)[:4]:
        die(delivery, "rejected")
    assert str(email(at(1)).waiting) == "3+"
    assert str(overview.dead()[0].count) == "3+"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        *[(-5, "0 s"), (0.9, "0 s"), (59, "59 s"), (60, "1 min"), (3599, "59 min")],
        *[(3600, "1 h"), (11_100, "3 h 5 min"), (86_400, "24 h"), (172_800, "2 days")],
    ],
)
def test_spans_are_told_in_few_letters(seconds: float, words: str) -> None:
    assert spans.in_words(timedelta(seconds=seconds)) == words


# The chart ------------------------------------------------------------------------------------


def test_bars_are_scaled_and_the_smallest_is_still_seen() -> None:
    drawn = chart.draw([Hour(at=at(), sent=10_000, dead=4), Hour(at=at(3600), sent=1, dead=0)])
    first, second = drawn.bars
    assert first.sent_y == drawn.top
    assert second.sent_height == 3
    assert second.sent_y + second.sent_height == drawn.line
    assert (first.dead_height > 0, second.dead_height) == (True, 0)
    assert (drawn.sent, drawn.dead, drawn.most_sent) == (10_001, 4, 10_000)


def test_a_day_without_anything_has_no_bars() -> None:
    drawn = chart.draw([Hour(at=at(3600 * n)) for n in range(24)])
    assert drawn.empty
    assert {bar.sent_height + bar.dead_height for bar in drawn.bars} == {0}
    assert sum(bar.labelled for bar in drawn.bars) == 4


# Cost -----------------------------------------------------------------------------------------


def test_the_numbers_cost_a_fixed_number_of_statements(
    organization: Organization, support: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    make_deliveries(organization, 5)
    for number in range(10):
        ledger.pause(f"lane-{number}", reason="because", for_=HOUR)
    support.has_perm("deliveries.view_delivery")  # Permissions are read once.
    with django_assert_num_queries(6):
        right_now.shown_to(support)


@pytest.mark.usefixtures("old_rows")
@pytest.mark.thorough
def test_every_number_of_the_lanes_is_read_off_its_index() -> None:
    with plans() as found:
        assert overview.lane("email", now=at(1))
    [plan] = found
    # Of two that serve, the planner takes either; old rows are in none of them.
    partial = {"delivery_ready", "delivery_due", "delivery_waiting_since", "delivery_running"}
    assert {name for name in indexes(plan) if "delivery" in name} <= partial
    read = {node["Relation Name"] for node in plan if node["Node Type"] == "Seq Scan"}
    assert "deliveries_delivery" not in read


@pytest.mark.usefixtures("old_rows")
@pytest.mark.thorough
def test_the_dead_are_read_off_their_index() -> None:
    with plans() as found:
        overview.dead()
    [plan] = found
    assert indexes(plan) == {"delivery_dead"}
    assert "Seq Scan" not in types(plan)


@pytest.mark.thorough
def test_the_last_day_is_read_off_its_block_ranges(delivery: Delivery) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO deliveries_deliveryevent
                (delivery_id, at, type, correlation_id, sentence, worker, details)
            SELECT %s, %s - (40000 - n) * interval '5 minutes', 'sent', 'c', 's', '', '{}'
            FROM generate_series(1, 40000) AS n
            """,
            [delivery.pk, at()],
        )
        cursor.execute("SELECT brin_summarize_new_values('event_by_time')")
        cursor.execute("ANALYZE deliveries_deliveryevent")
    with plans() as found:
        overview.day(now=at())
    [plan] = found
    assert indexes(plan) == {"event_by_time"}
    assert "Seq Scan" not in types(plan)
