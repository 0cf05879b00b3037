"""The lists of deliveries and dead letters, and a delivery's page: to look at, not to edit."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.test import Client

from deliveries.models import Delivery
from deliveries.outcomes import Dead
from tests.support.conftest import LogIn, another, kill

ALL = "/admin/deliveries/delivery/"
DEAD = "/admin/deliveries/deadletter/"


def text(client: Client, address: str, **query: str) -> str:
    answer = client.get(address, query, follow=True)
    assert answer.status_code == 200
    return answer.content.decode()


def test_a_dead_letter_says_what_happened_and_what_to_do(
    dead: Delivery, support: User, log_in: LogIn
) -> None:
    page = text(log_in(support), DEAD)
    assert dead.reference in page
    assert "The provider refused it (422): no such address" in page
    assert "Correct the customer or the invoice, then replay" in page
    assert dead.invoice.customer.name in page


def test_only_dead_letters_are_in_their_list(dead: Delivery, support: User, log_in: LogIn) -> None:
    waiting = another(dead)
    page = text(log_in(support), DEAD)
    assert dead.reference in page
    assert waiting.reference not in page
    assert waiting.reference in text(log_in(support), ALL)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"dead_reason": "rejected"}, True),
        ({"dead_reason": "crashed"}, False),
        ({"kind": "invoice"}, True),
        ({"kind": "reminder"}, False),
        ({"age": "hour"}, True),
        ({"age": "older"}, False),
        ({"age": "nonsense"}, True),
        ({"organization": "999999"}, False),
        ({"organization": "x' or 1=1"}, True),
    ],
)
def test_dead_letters_are_filtered(
    dead: Delivery, support: User, log_in: LogIn, query: dict[str, str], found: bool
) -> None:
    address = f"{ALL}{dead.pk}/change/"
    assert (address in text(log_in(support), DEAD, **query)) == found


def test_the_filters_count_reasons_and_organizations(
    dead: Delivery, support: User, log_in: LogIn
) -> None:
    page = text(log_in(support), DEAD)
    assert "The provider refused it (1)" in page
    assert f"{dead.organization.name} (1)" in page


def test_the_newest_dead_letter_stands_first(dead: Delivery, support: User, log_in: LogIn) -> None:
    later = kill(another(dead))
    page = text(log_in(support), DEAD)
    assert page.index(f"{later.pk}/change/") < page.index(f"{dead.pk}/change/")


@pytest.mark.parametrize("address", [ALL, DEAD])
@pytest.mark.thorough
def test_a_list_asks_a_fixed_number_of_queries(
    dead: Delivery,
    support: User,
    log_in: LogIn,
    address: str,
    django_assert_num_queries: Callable[..., object],
) -> None:
    for _ in range(20):
        kill(another(dead))
    client = log_in(support)
    # Session, user, second step, permissions (2), count, rows, entries with lines, events and what
    # failed ones came to; dead letters: two filters that count.
    with django_assert_num_queries(13 if address == DEAD else 11):  # type: ignore[attr-defined]
        assert client.get(address).status_code == 200


def test_a_delivery_page_tells_the_story_and_leads_on(
    dead: Delivery, support: User, log_in: LogIn
) -> None:
    page = text(log_in(support), f"{ALL}{dead.pk}/change/")
    for part in (
        "Sending was requested.",
        "no such address",
        "Correct the customer or the invoice, then replay",
        f"/admin/invoices/invoice/{dead.invoice_id}/change/",
        f"/admin/invoices/customer/{dead.invoice.customer_id}/change/",
        'href="../replay/"',
        'href="../cancel/"',
        dead.idempotency_key,
        "(Africa/Lagos)",
    ):
        assert part in page, part


def test_a_dead_letter_leads_to_its_delivery(dead: Delivery, support: User, log_in: LogIn) -> None:
    answer = log_in(support).get(f"{DEAD}{dead.pk}/change/")
    assert answer.headers["Location"] == f"{ALL}{dead.pk}/change/"


@pytest.mark.parametrize("pk", ["0", "999999999", "9" * 30, "x", "1%20or%201"])
@pytest.mark.parametrize("list_", [ALL, DEAD])
def test_a_delivery_that_is_not_there_is_not_found(
    support: User, log_in: LogIn, list_: str, pk: str
) -> None:
    assert log_in(support).get(f"{list_}{pk}/change/", follow=True).status_code == 404


@pytest.mark.parametrize("list_", [ALL, DEAD])
@pytest.mark.parametrize("address", ["add/", "{pk}/delete/"])
def test_nobody_adds_or_deletes_a_delivery(
    dead: Delivery, superuser: User, log_in: LogIn, list_: str, address: str
) -> None:
    assert log_in(superuser).get(list_ + address.format(pk=dead.pk)).status_code == 403


def test_nobody_edits_a_delivery(dead: Delivery, superuser: User, log_in: LogIn) -> None:
    answer = log_in(superuser).post(f"{ALL}{dead.pk}/change/", {"status": "sent"})
    assert answer.status_code == 403
    dead.refresh_from_db()
    assert dead.status == Delivery.Status.DEAD


def test_hostile_words_of_a_provider_are_text(
    delivery: Delivery, support: User, log_in: LogIn
) -> None:
    words = "<script>alert(1)</script>" + "x" * 5_000
    kill(delivery, Dead(reason=Delivery.DeadReason.REJECTED, error=words, may_have_accepted=False))
    for address in (DEAD, f"{ALL}{delivery.pk}/change/", f"{ALL}{delivery.pk}/replay/"):
        assert "<script>alert" not in text(log_in(support), address)
