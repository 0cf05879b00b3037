"""The pages about reminders: an invoice's card, the list, a day's, the settings."""

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from freezegun import freeze_time
from pytest_django import DjangoAssertNumQueries

from deliveries.models import Delivery, WorkerPresence
from deliveries.outcomes import Outcome
from invoices import reminders
from invoices.models import Customer, Invoice, Organization
from invoices.overdue import due_pages, preview
from tests import factories
from tests.invoices.test_reminders import DAY, MONDAY, make_overdue, run
from tests.ledger import steps

FRIDAY = date(2026, 3, 6)


@pytest.fixture(autouse=True)
def friday_morning() -> Iterator[None]:
    with freeze_time("2026-03-06 09:00"):
        yield


@pytest.fixture
def member(organization: Organization) -> User:
    return factories.make_member(organization, "member", "member")


@pytest.fixture
def as_owner(client: Client, owner: User) -> Client:
    client.force_login(owner)
    return client


@pytest.fixture
def overdue(organization: Organization) -> Invoice:
    return make_overdue(organization, number="INV-0001")


def text(response: Any) -> str:
    assert response.status_code == 200
    content: str = response.content.decode()
    return content


def said(response: Any) -> str:
    """Return what a page says, in one line and without its markup."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", text(response)))


def send_one(outcome: Outcome = steps.SENT, *, day: date = MONDAY, subject: str = "") -> None:
    """Hand the next delivery over as a worker does, ten past the run of that day."""
    now = datetime(day.year, day.month, day.day, 8, 10, tzinfo=UTC)
    claim = steps.claim_one(now=now)
    steps.hand_over(claim, factories.make_message(subject=subject or "Reminder"), now=now)
    steps.settle(claim, outcome, now=now)


def of_page(client: Client, invoice: Invoice) -> str:
    page = said(client.get(f"/invoices/{invoice.pk}"))
    return page[page.index(" Reminders Last") :]


# An invoice's card ----------------------------------------------------------------------------


def test_the_card_tells_the_last_how_many_and_the_next_in_the_organizations_time(
    as_owner: Client, overdue: Invoice
) -> None:
    run(MONDAY)
    send_one()
    run(MONDAY + DAY)
    send_one(day=MONDAY + DAY)
    card = of_page(as_owner, overdue)
    assert "Last Sent 3 Mar, 09:10 So far 2 Next Monday 9 March, 09:00" in card
    assert "For 2 Mar Sent 2 Mar, 09:10" in card


def test_an_invoice_without_reminders_yet_says_when_the_first_comes(
    as_owner: Client, organization: Organization
) -> None:
    invoice = make_overdue(organization, due_on=date(2026, 3, 31))
    assert "Last None yet So far None Next Wednesday 1 April, 09:00" in of_page(as_owner, invoice)


@pytest.mark.parametrize("status", ["draft", "sending", "failed", "paid", "void"])
def test_an_invoice_that_has_none_and_gets_none_has_no_card(
    as_owner: Client, organization: Organization, status: str
) -> None:
    invoice = factories.make_invoice(organization, status=status, failure_reason="x")
    assert 'id="reminders"' not in text(as_owner.get(f"/invoices/{invoice.pk}"))


@pytest.mark.parametrize(
    ("table", "change", "why"),
    [
        (Invoice, {"reminders_paused": True}, "Paused for this invoice."),
        (Customer, {"reminders_paused": True}, "Paused for this customer."),
        (Customer, {"removed_at": factories.NOW}, "The customer was removed."),
        (Organization, {"reminders_enabled": False}, "Reminders are switched off."),
        (
            Organization,
            {"reminder_limit": 1},
            "It has had as many reminders as the settings allow.",
        ),
        (Invoice, {"status": "paid"}, "The invoice is paid."),
        (Invoice, {"status": "void"}, "The invoice is void."),
        (Invoice, {"sent_at": None}, "It is not known when the invoice was sent."),
    ],
)
def test_without_a_next_one_the_card_says_why(
    as_owner: Client, overdue: Invoice, table: Any, change: dict[str, object], why: str
) -> None:
    run(MONDAY)
    table.objects.update(**change)
    assert f"Next None {why}" in of_page(as_owner, overdue)


def test_all_that_stands_in_the_way_is_said_not_just_the_first(
    as_owner: Client, overdue: Invoice
) -> None:
    Invoice.objects.update(reminders_paused=True)
    Customer.objects.update(reminders_paused=True)
    assert "Paused for this invoice. Paused for this customer." in of_page(as_owner, overdue)


def test_what_counts_towards_the_limit_is_what_is_counted(
    as_owner: Client, overdue: Invoice
) -> None:
    Organization.objects.update(reminder_limit=5)
    outcomes: list[Outcome] = [steps.SENT, steps.REFUSED, steps.VOIDED]
    for offset, outcome in enumerate(outcomes):
        run(MONDAY + offset * DAY)
        send_one(outcome, day=MONDAY + offset * DAY)
    assert "So far 2 of at most 5, 1 of them sent" in of_page(as_owner, overdue)


@pytest.mark.parametrize(
    ("outcome", "state"),
    [
        (steps.SENT, "Sent 2 Mar, 09:10"),
        (steps.RETRY, "Retrying next try due now The provider answered 503"),
        (steps.REFUSED, "Not sent 2 Mar, 09:10 The provider refused it (422): no such mailbox."),
        (steps.UNKNOWN, "We do not know given up 2 Mar, 09:10 The customer may or may not have it"),
        (steps.VOIDED, "Cancelled 2 Mar, 09:10 Not sent: INV-0001 was voided."),
    ],
)
def test_a_reminders_state_is_told_in_words_with_the_reason(
    as_owner: Client, overdue: Invoice, outcome: Outcome, state: str
) -> None:
    run(MONDAY)
    send_one(outcome)
    assert f"Last {state}" in of_page(as_owner, overdue)


def test_a_reminder_is_recorded_before_it_is_sent(as_owner: Client, overdue: Invoice) -> None:
    run(MONDAY)
    assert "Last Recorded waiting since" in of_page(as_owner, overdue)
    steps.claim_one()
    assert "Last Sending" in of_page(as_owner, overdue)


def test_each_reminders_email_and_steps_can_be_read(as_owner: Client, overdue: Invoice) -> None:
    run(MONDAY)
    assert "It has not been composed" in of_page(as_owner, overdue)
    send_one(subject="Reminder: invoice INV-0001 is 29 days overdue")
    card = of_page(as_owner, overdue)
    for part in (
        "Sending was requested.",
        "The provider accepted it as msg-41.",
        "The e-mail as it was sent",
        "Subject Reminder: invoice INV-0001 is 29 days overdue",
    ):
        assert part in card


def test_only_the_latest_are_shown_in_full(as_owner: Client, overdue: Invoice) -> None:
    for offset in range(32):
        run(MONDAY + offset * DAY)
    card = of_page(as_owner, overdue)
    assert card.count(" For ") == 20
    assert "4 earlier reminders are not shown here." in card


def test_a_reminder_changes_nothing_of_what_is_said_of_the_invoices_own_email(
    as_owner: Client, organization: Organization
) -> None:
    invoice = factories.make_invoice(organization, due_on=date(2026, 2, 1))
    factories.make_delivery(invoice)
    steps.settle(steps.claim_one(), steps.SENT)
    Invoice.objects.update(sent_at=datetime(2026, 1, 5, tzinfo=UTC))
    run(MONDAY)
    send_one(steps.REFUSED)
    page = said(as_owner.get(f"/invoices/{invoice.pk}"))
    panel = page[page.index(" E-mail ") : page.index(" Customer ")]
    assert "E-mail Sent 2 Mar" in panel
    assert panel.count("Sending was requested.") == 1
    assert "refused" not in panel
    assert "refused" in page


def test_bad_data_hide_no_page(as_owner: Client, organization: Organization) -> None:
    forever = make_overdue(organization, due_on=date(9999, 12, 31))
    unknown = "The due date or the time zone is one that nobody can reckon with."
    assert unknown in of_page(as_owner, forever)
    lost = make_overdue(organization, number="LOST-1")
    Organization.objects.update(time_zone="Mars/Base")
    # No such zone is known: it counts as UTC.
    assert "Next Monday 9 March, 08:00" in of_page(as_owner, lost)
    assert "LOST-1" in said(as_owner.get("/reminders?date=2026-03-09"))


def test_a_longer_history_takes_no_more_queries(
    as_owner: Client, overdue: Invoice, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    # Session, user, membership; invoice, lines; lane, workers, stranded; the panel's delivery and
    # events; the card's reminders, counts, events, messages; the header.
    for offset in range(3):
        run(MONDAY + offset * DAY)
        send_one(day=MONDAY + offset * DAY)
        with django_assert_num_queries(17):
            as_owner.get(f"/invoices/{overdue.pk}")


# Pausing --------------------------------------------------------------------------------------

CHANGES = (
    "reminders/pause",
    "reminders/resume",
    "customer/reminders/pause",
    "customer/reminders/resume",
)


@pytest.mark.parametrize("who", ["owner", "member"])
def test_an_invoices_reminders_are_paused_and_resumed(
    client: Client, owner: User, member: User, overdue: Invoice, who: str
) -> None:
    client.force_login(User.objects.get(username=who))
    assert "Pause reminders" in of_page(client, overdue)
    answer = client.post(f"/invoices/{overdue.pk}/reminders/pause")
    assert answer.headers["Location"] == f"/invoices/{overdue.pk}#reminders"
    assert "Reminders of INV-0001 are paused." in said(client.get(f"/invoices/{overdue.pk}"))
    assert "Resume reminders" in of_page(client, overdue)
    assert run(FRIDAY) == 0
    client.post(f"/invoices/{overdue.pk}/reminders/resume")
    assert "Pause reminders" in of_page(client, overdue)
    assert run(FRIDAY) == 1


def test_a_customers_reminders_are_paused_for_all_their_invoices(
    as_owner: Client, organization: Organization, overdue: Invoice
) -> None:
    other = make_overdue(organization)
    Invoice.objects.filter(pk=other.pk).update(customer=overdue.customer)
    as_owner.post(f"/invoices/{overdue.pk}/customer/reminders/pause")
    assert "Paused for this customer." in of_page(as_owner, other)
    assert "Resume for the customer" in of_page(as_owner, other)
    assert run(FRIDAY) == 0
    as_owner.post(f"/invoices/{other.pk}/customer/reminders/resume")
    assert run(FRIDAY) == 2


def test_pausing_twice_is_as_good_as_once(as_owner: Client, overdue: Invoice) -> None:
    for _ in range(2):
        answer = as_owner.post(f"/invoices/{overdue.pk}/reminders/pause")
        assert answer.status_code == 302
    overdue.refresh_from_db()
    assert overdue.reminders_paused


@pytest.mark.parametrize("change", CHANGES)
def test_a_viewer_looks_but_changes_nothing(
    client: Client, viewer: User, overdue: Invoice, change: str
) -> None:
    client.force_login(viewer)
    assert client.post(f"/invoices/{overdue.pk}/{change}").status_code == 403
    assert "/reminders/" not in text(client.get(f"/invoices/{overdue.pk}"))


@pytest.mark.parametrize("change", CHANGES)
def test_others_cannot_pause(client: Client, outsider: User, overdue: Invoice, change: str) -> None:
    address = f"/invoices/{overdue.pk}/{change}"
    assert client.post(address).headers["Location"].startswith("/login")
    client.force_login(outsider)
    assert client.post(address).status_code == 404
    overdue.refresh_from_db()
    assert not overdue.reminders_paused
    assert not overdue.customer.reminders_paused


@pytest.mark.parametrize("change", CHANGES)
def test_a_pause_is_only_posted(as_owner: Client, overdue: Invoice, change: str) -> None:
    assert as_owner.get(f"/invoices/{overdue.pk}/{change}").status_code == 405


def test_a_paid_invoice_has_nothing_to_pause(as_owner: Client, overdue: Invoice) -> None:
    run(MONDAY)
    Invoice.objects.update(status="paid")
    assert "Pause" not in of_page(as_owner, overdue)


# The invoice list -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("outcome", "told"),
    [
        (steps.SENT, "Reminded 2 Mar"),
        (steps.RETRY, "Reminder under way"),
        (steps.REFUSED, "Reminder not sent 2 Mar"),
        (steps.UNKNOWN, "Reminder: we do not know 2 Mar"),
    ],
)
def test_the_list_tells_the_last_reminder_of_what_is_overdue(
    as_owner: Client, overdue: Invoice, outcome: Outcome, told: str
) -> None:
    run(MONDAY)
    send_one(outcome)
    assert told in said(as_owner.get("/invoices"))
    Invoice.objects.update(status="paid")
    assert told not in said(as_owner.get("/invoices"))


def test_a_cancelled_reminder_does_not_hide_the_last_that_was_sent(
    as_owner: Client, overdue: Invoice
) -> None:
    run(MONDAY)
    send_one()
    run(MONDAY + DAY)
    send_one(steps.VOIDED, day=MONDAY + DAY)
    assert "Reminded 2 Mar" in said(as_owner.get("/invoices"))


def test_a_list_with_reminders_takes_one_query_more_however_long_it_is(
    as_owner: Client, organization: Organization, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    WorkerPresence.objects.create(
        name="worker-1", host="lagos-1", pid=1, version="0.1.0", threads=5
    )
    for total in (1, 12):
        while Invoice.objects.count() < total:
            make_overdue(organization)
        run(MONDAY + total * DAY)
        with django_assert_num_queries(11):
            as_owner.get("/invoices")


# A day's reminders ----------------------------------------------------------------------------


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
        due = [due for page in due_pages(day) for due in page]
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
            with django_assert_num_queries(10):
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


# Settings -------------------------------------------------------------------------------------

SETTINGS = "/settings/reminders"
GIVEN = {"reminders_enabled": "on", "reminders_after_days": "7", "reminder_limit": "3"}


def values() -> tuple[bool, int, int | None]:
    organization = Organization.objects.get(slug="mainland-supplies")
    return (
        organization.reminders_enabled,
        organization.reminders_after_days,
        organization.reminder_limit,
    )


def test_an_owner_sets_when_and_how_often(as_owner: Client) -> None:
    assert 'name="reminders_after_days" value="1"' in text(as_owner.get(SETTINGS))
    answer = as_owner.post(SETTINGS, GIVEN)
    assert answer.headers["Location"] == SETTINGS
    assert "The settings are saved." in said(as_owner.get(SETTINGS))
    assert values() == (True, 7, 3)
    as_owner.post(SETTINGS, {"reminders_after_days": "1", "reminder_limit": ""})
    assert values() == (False, 1, None)


@pytest.mark.parametrize("days", ["", "0", "-1", "366", "1.5", "soon", "9" * 30])
def test_days_that_make_no_sense_are_refused_with_a_sentence(as_owner: Client, days: str) -> None:
    page = said(as_owner.post(SETTINGS, GIVEN | {"reminders_after_days": days}))
    assert page.count("Enter a whole number of days from 1 to 365.") == 1
    assert "Nothing is saved yet" in page
    assert values() == (True, 1, None)


@pytest.mark.parametrize("limit", ["0", "-1", "1001", "1.5", "few", "9" * 30])
def test_a_limit_that_makes_no_sense_is_refused_with_a_sentence(
    as_owner: Client, limit: str
) -> None:
    page = said(as_owner.post(SETTINGS, GIVEN | {"reminder_limit": limit}))
    assert page.count("Enter a whole number from 1 to 1000, or leave it empty") == 1
    assert values() == (True, 1, None)


def test_an_error_belongs_to_its_field_for_those_who_hear_the_page(as_owner: Client) -> None:
    page = text(as_owner.post(SETTINGS, GIVEN | {"reminder_limit": "0"}))
    [field] = re.findall(r"<input[^>]*reminder_limit[^>]*>", page)
    assert 'aria-invalid="true"' in field
    [described_by] = re.findall(r'aria-describedby="([^"]+)"', field)
    for part in described_by.split():
        assert f'id="{part}"' in page


def test_saving_writes_no_column_but_its_own(as_owner: Client, organization: Organization) -> None:
    as_owner.post(SETTINGS, GIVEN | {"name": "Other Ltd", "closed_at": "2026-01-01"})
    before = organization.name
    organization.refresh_from_db()
    assert (organization.name, organization.closed_at) == (before, None)


@pytest.mark.parametrize("role", ["member", "viewer"])
def test_others_of_the_organization_see_the_settings_and_change_nothing(
    client: Client, organization: Organization, role: str
) -> None:
    client.force_login(factories.make_member(organization, "someone", role))
    page = said(client.get(SETTINGS))
    assert "First reminder 1 day after the due date" in page
    assert "Owners of the organization can change this." in page
    assert SETTINGS not in re.findall(r'action="([^"]*)"', text(client.get(SETTINGS)))
    assert client.post(SETTINGS, GIVEN).status_code == 403
    assert values() == (True, 1, None)


def test_an_outsiders_settings_are_those_of_another_organization(
    client: Client, organization: Organization, outsider: User
) -> None:
    assert client.get(SETTINGS).headers["Location"] == f"/login?next={SETTINGS}"
    assert client.post(SETTINGS, GIVEN).headers["Location"].startswith("/login")
    client.force_login(outsider)
    assert client.post(SETTINGS, GIVEN).status_code == 302
    assert values() == (True, 1, None)


def test_settings_are_neither_put_nor_deleted(as_owner: Client) -> None:
    assert as_owner.put(SETTINGS).status_code == 405
    assert as_owner.delete(SETTINGS).status_code == 405


def test_the_pages_hold_no_inline_script_or_style(as_owner: Client, overdue: Invoice) -> None:
    run(MONDAY)
    for address in (f"/invoices/{overdue.pk}", "/reminders?date=2026-03-02", SETTINGS):
        page = text(as_owner.get(address))
        assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=", page)
