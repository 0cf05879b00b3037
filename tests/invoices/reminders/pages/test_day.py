"""The page of a day's reminders."""

from datetime import date

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from freezegun import freeze_time
from pytest_django import DjangoAssertNumQueries

from deliveries.models import Delivery, WorkerPresence
from deliveries.outcomes import Outcome
from invoices import reminders
from invoices.models import Invoice, Organization
from invoices.overdue import due_pages, preview
from tests.invoices.reminders.pages.reading import said, send_one
from tests.invoices.reminders.runs import DAY, MONDAY, make_overdue, run
from tests.ledger import steps
from tests.reading import text

pytestmark = pytest.mark.thorough


def test_a_day_lists_its_reminders_with_what_became_of_each(
    as_owner: Client, overdue: Invoice
) -> None:
    run(MONDAY)
    send_one()
    page = said(as_owner.get("/reminders?date=2026-03-02"))
    told = "INV-0001 Mama Put Kitchen accounts@mamaput.example ₦45,000.00 Due 1 Feb 29 days overdue"
    assert f"{told} Sent 2 Mar, 09:10" in page
    assert f'href="/invoices/{overdue.pk}#reminders"' in text(
        as_owner.get("/reminders?date=2026-03-02")
    )


def test_a_day_has_what_is_for_it_whenever_it_was_recorded(
    as_owner: Client, overdue: Invoice
) -> None:
    with freeze_time("2026-03-05 00:10"):
        run(MONDAY + 2 * DAY)
    assert "INV-0001" in said(as_owner.get("/reminders?date=2026-03-04"))
    assert "INV-0001" not in said(as_owner.get("/reminders?date=2026-03-05"))


def test_states_are_counted_and_one_of_them_can_be_looked_at(
    as_owner: Client, organization: Organization
) -> None:
    for number in ("A-1", "B-2", "C-3", "D-4", "E-5", "F-6", "G-7"):
        make_overdue(organization, number=number)
    run(MONDAY)
    came_to: list[Outcome] = [steps.SENT, steps.RETRY, steps.REFUSED, steps.UNKNOWN, steps.VOIDED]
    for outcome in came_to:
        send_one(outcome)
    steps.claim_one()
    page = said(as_owner.get("/reminders?date=2026-03-02"))
    counts = "Recorded 1 Sending 1 Retrying 1 Sent 1 We do not know 1 Not sent 1 Cancelled 1"
    assert f"All 7 {counts}" in page
    refused = said(as_owner.get("/reminders?date=2026-03-02&state=not_sent"))
    assert "C-3" in refused
    assert all(number not in refused for number in ("A-1", "B-2", "D-4", "E-5", "F-6", "G-7"))
    assert "D-4" in said(as_owner.get("/reminders?date=2026-03-02&state=unknown"))
    assert "A-1" in said(as_owner.get("/reminders?date=2026-03-02&state=nonsense"))


def test_a_state_that_none_is_in_any_more_says_so(as_owner: Client, overdue: Invoice) -> None:
    run(MONDAY)
    page = said(as_owner.get("/reminders?date=2026-03-02&state=sent"))
    assert "None of them now" in page
    assert "Sent 0" in page


@pytest.mark.parametrize(
    ("now", "title"),
    [
        ("2026-03-06 08:00", "Friday 6 March"),
        ("2026-03-06 07:59", "Thursday 5 March"),
        ("2026-03-08 12:00", "Friday 6 March"),  # Sunday
        ("2026-03-09 07:59", "Friday 6 March"),
        ("2026-03-09 08:00", "Monday 9 March"),
    ],
)
def test_the_day_of_the_last_run_is_shown_unless_asked(
    as_owner: Client, now: str, title: str
) -> None:
    with freeze_time(now):
        assert f"Reminders, {title}" in said(as_owner.get("/reminders"))


@pytest.mark.parametrize(
    ("day", "before", "after"),
    [
        ("2026-03-04", "2026-03-03", "2026-03-05"),
        ("2026-03-06", "2026-03-05", "2026-03-09"),
        ("2026-03-09", "2026-03-06", "2026-03-10"),
        ("2026-03-07", "2026-03-06", "2026-03-09"),
    ],
)
def test_the_days_beside_it_skip_weekends(
    as_owner: Client, day: str, before: str, after: str
) -> None:
    page = text(as_owner.get(f"/reminders?date={day}"))
    assert f'rel="prev" href="?date={before}"' in page
    assert f'rel="next" href="?date={after}"' in page


def test_a_weekend_has_no_reminders_and_says_so(as_owner: Client, overdue: Invoice) -> None:
    assert "No reminders at weekends" in said(as_owner.get("/reminders?date=2026-03-07"))


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ("tomorrow", "“tomorrow” is not a day such as 2026-03-06."),
        ("2026-02-30", "“2026-02-30” is not a day such as"),
        ("<b>", "“&lt;b&gt;” is not a day"),
        ("0001-01-01", "0001-01-01 is too far away."),
        ("9999-12-31", "9999-12-31 is too far away."),
    ],
)
def test_a_bad_date_is_said_and_the_last_run_shown(
    as_owner: Client, given: str, problem: str
) -> None:
    page = said(as_owner.get(f"/reminders?date={given}"))
    assert problem in page
    assert "Friday 6 March" in page


def test_an_empty_date_is_no_mistake(as_owner: Client) -> None:
    assert "is not a day" not in said(as_owner.get("/reminders?date="))


def test_a_past_day_without_reminders_says_so(as_owner: Client) -> None:
    assert "None has been recorded for this day." in said(as_owner.get("/reminders"))


def test_a_run_that_is_ahead_shows_who_would_get_one(
    as_owner: Client, organization: Organization, overdue: Invoice
) -> None:
    make_overdue(organization, number="LATER", due_on=date(2026, 3, 9))
    make_overdue(organization, number="PAUSED", reminders_paused=True)
    page = said(as_owner.get("/reminders?date=2026-03-09"))
    assert "Would get one as things stand 1 The run is on Monday 9 March, 09:00" in page
    assert "INV-0001" in page
    assert "36 days overdue" in page
    assert not any(number in page for number in ("LATER", "PAUSED"))
    assert "LATER" in said(as_owner.get("/reminders?date=2026-03-10"))
    assert not Delivery.objects.exists()


def test_a_preview_is_what_the_run_then_records(
    as_owner: Client, organization: Organization, outsider: User
) -> None:
    for offset in range(-4, 4):
        make_overdue(organization, due_on=MONDAY + offset * DAY)
    make_overdue(Organization.objects.get(slug="nordlicht"))
    for day in (MONDAY, MONDAY + DAY):
        due = [due for page in due_pages(day) for due in page.due]
        foreseen = preview(organization, day)
        assert foreseen.complete
        assert sorted(foreseen.invoice_ids) == sorted(
            each.invoice_id for each in due if each.organization_id == organization.pk
        )


def test_a_preview_ends_somewhere(
    as_owner: Client, organization: Organization, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("invoices.overdue.LOOKED_AT", 2)
    for day in (1, 2, 3):
        make_overdue(organization, number=f"DUE-{day}", due_on=date(2026, 2, day))
    page = said(as_owner.get("/reminders?date=2026-03-09"))
    assert "as things stand at least 2" in page
    assert "The 2 that were due last are shown." in page
    assert "DUE-1" not in page


def test_nobody_is_foreseen_where_reminders_are_switched_off(
    as_owner: Client, overdue: Invoice
) -> None:
    Organization.objects.update(reminders_enabled=False)
    page = said(as_owner.get("/reminders?date=2026-03-09"))
    assert "Reminders are switched off: no more are recorded." in page
    assert "INV-0001" not in page


def test_a_day_has_pages_that_keep_the_day(as_owner: Client, organization: Organization) -> None:
    for _ in range(51):
        make_overdue(organization)
    run(MONDAY)
    page = text(as_owner.get("/reminders?date=2026-03-02"))
    assert "1–50 of 51" in page
    assert 'rel="next" href="?date=2026-03-02&amp;page=2"' in page
    assert "51–51 of 51" in text(as_owner.get("/reminders?date=2026-03-02&page=2"))


def test_a_longer_day_takes_no_more_queries(
    as_owner: Client, organization: Organization, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    WorkerPresence.objects.create(
        name="worker-1", host="lagos-1", pid=1, version="0.1.0", threads=5
    )
    # Session, user, membership; reminders counted, by state, read or foreseen; their invoices;
    # lane, workers; the header.
    for total in (1, 12):
        while Invoice.objects.count() < total:
            make_overdue(organization)
        run(MONDAY)
        for day in ("2026-03-02", "2026-03-09"):
            # What is foreseen asks for the mailboxes, too.
            with django_assert_num_queries(10 if day == "2026-03-02" else 11):
                as_owner.get(f"/reminders?date={day}")


def test_members_and_viewers_see_a_days_reminders(
    client: Client, member: User, viewer: User, overdue: Invoice
) -> None:
    run(MONDAY)
    for person in (member, viewer):
        client.force_login(person)
        assert "INV-0001" in said(client.get("/reminders?date=2026-03-02"))


def test_a_days_reminders_are_shown_to_nobody_else(
    client: Client, outsider: User, overdue: Invoice
) -> None:
    run(MONDAY)
    for day in ("2026-03-02", "2026-03-09"):
        assert client.get(f"/reminders?date={day}").headers["Location"].startswith("/login?next=")
    client.force_login(outsider)
    for day in ("2026-03-02", "2026-03-09"):
        assert "INV-0001" not in said(client.get(f"/reminders?date={day}"))


def test_a_days_reminders_are_only_read(as_owner: Client) -> None:
    assert as_owner.post("/reminders").status_code == 405


def test_the_header_leads_there(as_owner: Client) -> None:
    assert '<a href="/reminders">Reminders</a>' in text(as_owner.get("/invoices"))
    assert '<a href="/reminders" aria-current="page">' in text(as_owner.get("/reminders"))


def test_a_days_reminders_are_found_by_their_index(
    organization: Organization, overdue: Invoice
) -> None:
    for offset in range(60):
        run(MONDAY + offset * DAY)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE deliveries_delivery")
        cursor.execute("SET LOCAL enable_seqscan = off")
    of_day = reminders.of_day(organization, MONDAY)
    for query in (of_day[:50], of_day.order_by()):
        plan = query.explain()
        assert "delivery_reminders_of_a_day" in plan
        assert "Filter" not in plan
