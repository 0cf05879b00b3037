"""Pausing and resuming a lane in the admin: by whom, for how long and why."""

import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from deliveries import ledger
from deliveries.models import Lane, LaneEvent
from tests.support.conftest import LogIn
from tests.support.steering import HOUR, LIST, PAGE, left, pause, resume, text

pytestmark = pytest.mark.thorough

# Pausing --------------------------------------------------------------------------------------


def test_a_pause_stops_the_lane_and_is_recorded_with_who_and_why(
    steerer: Client, operations: User
) -> None:
    answer = pause(steerer, "  The provider’s quota is used up.  ")
    assert (answer.status_code, answer["Location"]) == (302, PAGE)
    page = text(steerer.get(PAGE))
    assert re.search(r"Lane email is paused until \d+ \w+ \d{4}, \d\d:\d\d UTC\.", page)
    assert "by operations: The provider’s quota is used up." in page
    event = LaneEvent.objects.get()
    assert (event.type, event.actor, event.reason) == (
        *("paused", operations, "The provider’s quota is used up."),
    )
    assert event.until == Lane.objects.get().paused_until


@pytest.mark.parametrize(("duration", "minutes"), [("15m", 15), ("1h", 60), ("4h", 240)])
def test_a_pause_lasts_as_long_as_was_chosen(steerer: Client, duration: str, minutes: int) -> None:
    pause(steerer, duration=duration)
    assert timedelta(minutes=minutes - 1) < left() <= timedelta(minutes=minutes)


@pytest.mark.parametrize(
    ("reason", "duration", "said"),
    [
        ("", "1h", "This field is required."),
        ("   ", "1h", "This field is required."),
        ("one\nline", "1h", "Write it in one line."),
        ("one\u2028line", "1h", "Write it in one line."),
        ("x" * 501, "1h", "at most 500 characters"),
        ("Because.", "2h", "Select a valid choice."),
        ("Because.", "", "This field is required."),
    ],
)
def test_a_senseless_pause_is_sent_back_with_what_is_wrong(
    steerer: Client, reason: str, duration: str, said: str
) -> None:
    page = text(pause(steerer, reason, duration))
    assert said in page
    assert not LaneEvent.objects.exists()


def test_what_was_typed_is_kept_when_it_is_sent_back(steerer: Client) -> None:
    page = pause(steerer, "<b>Maintenance", "2h").content.decode()
    assert 'value="&lt;b&gt;Maintenance"' in page
    assert 'aria-invalid="true"' in page


def test_a_reason_of_the_full_length_is_kept_and_shown_as_text(steerer: Client) -> None:
    reason = "<script>" + "x" * 492
    assert pause(steerer, f" {reason} ").status_code == 302
    assert Lane.objects.get().paused_reason == reason
    for address in (LIST, PAGE, "/admin/"):
        assert "<script>xx" not in steerer.get(address).content.decode()


def test_the_form_says_who_will_read_the_reason(steerer: Client) -> None:
    assert "Finance staff of every organization will read this" in text(steerer.get(PAGE))


def test_a_double_click_pauses_once(steerer: Client) -> None:
    assert [pause(steerer).status_code, pause(steerer).status_code] == [302, 302]
    assert LaneEvent.objects.count() == 1


def test_a_second_word_counts_also_where_it_makes_the_pause_shorter(steerer: Client) -> None:
    pause(steerer, duration="4h")
    pause(steerer, duration="15m")
    assert left() <= timedelta(minutes=15)
    assert LaneEvent.objects.count() == 2


def test_the_same_words_of_another_person_are_recorded_as_theirs(
    steerer: Client, log_in: LogIn
) -> None:
    pause(steerer)
    pause(log_in(User.objects.create_superuser("admin")))
    actors = LaneEvent.objects.values_list("actor__username", flat=True)
    assert list(actors) == ["operations", "admin"]


def test_a_workers_short_pause_does_not_shorten_a_persons(steerer: Client) -> None:
    pause(steerer, "By hand.", "4h")
    ledger.pause("email", reason="Slow down.", for_=timedelta(seconds=30))
    assert left() > timedelta(hours=3)
    assert "By hand." in text(steerer.get(PAGE))
    assert LaneEvent.objects.count() == 1


def test_a_pause_without_an_end_promises_no_time_anywhere(
    steerer: Client, owner: User, log_in: LogIn
) -> None:
    pause(steerer, "The account is locked.", "open")
    assert left() > timedelta(days=3650)
    year = str(timezone.now().year + 10)
    for address in (LIST, PAGE, "/admin/"):
        page = text(steerer.get(address))
        assert "until somebody resumes it" in page
        assert year not in page
    banner = text(log_in(owner).get("/invoices"))
    said = "E-mail is paused: The account is locked. It goes on when somebody resumes it."
    assert said in banner
    assert year not in banner


def test_a_pause_with_an_end_tells_it_to_finance(
    steerer: Client, owner: User, log_in: LogIn
) -> None:
    pause(steerer)
    banner = text(log_in(owner).get("/invoices"))
    assert re.search(r"E-mail is paused: Maintenance\. It goes on at .*\d\d:\d\d\.", banner)


# Resuming -------------------------------------------------------------------------------------


def test_resuming_lets_the_lane_go_on_and_is_recorded(steerer: Client, operations: User) -> None:
    ledger.pause("email", reason="It answers 401.", for_=HOUR)
    answer = resume(steerer)
    assert (answer.status_code, answer["Location"]) == (302, PAGE)
    assert "Lane email is not paused" in text(steerer.get(PAGE))
    assert Lane.objects.get().paused_until is None
    event = LaneEvent.objects.latest("pk")
    assert (event.type, event.actor, event.reason) == ("resumed", operations, "It is over.")


def test_a_second_resume_is_harmless(steerer: Client) -> None:
    pause(steerer)
    assert [resume(steerer).status_code, resume(steerer).status_code] == [302, 302]
    assert LaneEvent.objects.filter(type="resumed").count() == 1


@pytest.mark.parametrize("reason", ["", " ", "two\nlines", "x" * 501])
def test_resuming_needs_a_reason(steerer: Client, reason: str) -> None:
    pause(steerer)
    assert "errorlist" in resume(steerer, reason).content.decode()
    assert Lane.objects.get().paused_until is not None


def test_only_what_stands_can_be_resumed(steerer: Client) -> None:
    assert "Resume lane email" not in text(steerer.get(PAGE))
    pause(steerer)
    assert "Resume lane email" in text(steerer.get(PAGE))
