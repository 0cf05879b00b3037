"""What a page says of a delivery in each state: pure, at literal times."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from deliveries.models import Delivery
from invoices.models import Invoice, Organization
from invoices.money import find_locale
from invoices.pages import Formats, email_state, payment_state
from invoices.pages.states import overdue_note

NOW = datetime(2025, 11, 28, 9, 42, tzinfo=UTC)  # 10:42 in Lagos.
LAGOS = Formats(locale=find_locale("en-NG"), zone=ZoneInfo("Africa/Lagos"), now=NOW)


def say(status: str, **values: object) -> str:
    return email_state(Invoice(status="sending"), _delivery(status, values), LAGOS).sentence


def _delivery(status: str, values: dict[str, object]) -> Delivery:
    return Delivery(status=status, **({"created_at": NOW, "finished_at": NOW} | values))


def dead(reason: str, error: str, **values: object) -> str:
    return say("dead", dead_reason=reason, last_error=error, **values)


def test_a_draft_is_not_sent_yet_and_an_imported_invoice_had_no_email() -> None:
    assert email_state(Invoice(status="draft"), None, LAGOS).label == "Not sent yet"
    assert email_state(Invoice(status="paid"), None, LAGOS).label == "No e-mail from here"


def test_what_waits_and_what_runs_is_being_sent() -> None:
    assert say("queued") == "Sending, waiting since 10:42"
    assert say("running", locked_until=NOW + timedelta(seconds=60)) == "Sending, since 10:42"
    assert "Its worker is overdue" in say("running", locked_until=NOW - timedelta(seconds=1))


def test_a_retry_says_when_in_the_organizations_time_and_why() -> None:
    retry = {"last_error": "The provider answered 503", "next_attempt_at": NOW}
    later = retry | {"next_attempt_at": NOW + timedelta(minutes=5)}
    assert say("retrying", **later) == "Retrying, next try 10:47:00. The provider answered 503."
    assert say("retrying", **retry).startswith("Retrying, next try due now")
    tomorrow = retry | {"next_attempt_at": NOW + timedelta(hours=20)}
    assert "next try 29 Nov, 06:42:00" in say("retrying", **tomorrow)


def test_sent_says_when_with_the_year_only_where_it_is_another() -> None:
    assert say("sent", sent_at=NOW) == "Sent 28 Nov, 10:42"
    assert say("sent", sent_at=datetime(2024, 5, 1, 8, tzinfo=UTC)) == "Sent 1 May 2024, 09:00"


def test_what_the_provider_refused_is_not_sent_in_its_own_words() -> None:
    said = dead("rejected", "The provider refused it (422): no such mailbox")
    assert said == "Not sent 28 Nov, 10:42. The provider refused it (422): no such mailbox."


def test_what_crashed_its_workers_is_for_support() -> None:
    assert "It crashed 3 workers. Support has to look at it." in dead(
        "crashed", "crashed 3 workers"
    )


@pytest.mark.parametrize(
    "said",
    [
        dead("outcome_unknown", "The provider has another message under our key."),
        dead("gave_up", "Given up after 16 attempts.", handed_over_at=NOW),
        dead("crashed", "crashed 3 workers", handed_over_at=NOW),
    ],
)
def test_whatever_may_have_reached_the_customer_is_called_neither_sent_nor_not_sent(
    said: str,
) -> None:
    assert said.startswith("We do not know, given up 28 Nov, 10:42.")
    assert "Not sent" not in said
    assert "look at the provider’s log" in said


def test_a_cancelled_email_says_why() -> None:
    said = say("cancelled", last_error="Not sent: INV-0001 was voided.")
    assert said == "Cancelled 28 Nov, 10:42. Not sent: INV-0001 was voided."


@pytest.mark.parametrize("status", Delivery.Status.values)
def test_the_page_asks_again_until_the_state_is_final(status: str) -> None:
    state = email_state(Invoice(status="sending"), _delivery(status, {}), LAGOS)
    assert state.final == (status in Delivery.FINAL)


@pytest.mark.parametrize(
    ("status", "due_on", "label", "note"),
    [
        ("draft", date(2025, 11, 30), "Draft", ""),
        ("draft", date(2025, 11, 27), "Draft", "1 day past due"),
        ("sending", date(2025, 11, 28), "Open", ""),
        ("sent", date(2025, 11, 16), "Overdue", "12 days overdue"),
        ("failed", date(2025, 11, 16), "On hold", "12 days past due"),
        ("paid", date(2025, 11, 16), "Paid", ""),
        ("void", date(2025, 11, 16), "Void", ""),
    ],
)
def test_the_payment_column(status: str, due_on: date, label: str, note: str) -> None:
    invoice = Invoice(status=status, due_on=due_on)
    assert (payment_state(invoice, LAGOS).label, overdue_note(invoice, LAGOS)) == (label, note)


def test_days_are_those_of_the_organizations_calendar() -> None:
    late_evening = datetime(2025, 11, 28, 23, 30, tzinfo=UTC)  # The 29th in Lagos.
    lagos = Formats(locale=find_locale("en-NG"), zone=ZoneInfo("Africa/Lagos"), now=late_evening)
    invoice = Invoice(status="sent", due_on=date(2025, 11, 28))
    assert overdue_note(invoice, lagos) == "1 day overdue"


def test_bad_data_are_shown_rather_than_raised() -> None:
    formats = Formats.of(Organization(language="xx-nonsense", time_zone="Mars/Base"), now=NOW)
    assert formats.moment(NOW).text == "Nov 28, 09:42"
    assert formats.amount(1250, "???") == "1250 minor units of “???”"
