"""The customers of an organization: finding them, changing them, removing them."""

import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib.postgres.search import SearchVector
from django.db import transaction
from django.db.models import Count, Q, QuerySet, Sum
from django.db.models.functions import Lower, Now

from invoices import corrections, editing, searching
from invoices.models import Customer, Invoice, Organization

logger = logging.getLogger(__name__)

FIELDS = ("name", "email", "address", "tax_id", "language", "reminders_paused")
PAGE = 50


class AlreadyThere(Exception):
    """The organization has a customer of this name and address."""

    def __init__(self, customer: Customer) -> None:
        super().__init__(f"Customer {customer.pk} has this name and address.")
        self.customer = customer


class SameAddress(Exception):
    """The organization has a customer of another name with this address."""

    def __init__(self, customer: Customer) -> None:
        super().__init__(f"Customer {customer.pk} has this address.")
        self.customer = customer


@dataclass(frozen=True, kw_only=True)
class Account:
    """What a customer has been invoiced, and owes, in one currency."""

    currency: str
    invoices: int
    open_invoices: int
    open_minor: int


@dataclass(frozen=True, kw_only=True)
class Found:
    """A page of customers by name; `next` is the last one's id where more follow, else None."""

    customers: tuple[Customer, ...]
    next: int | None


def find(
    organization: Organization, *, term: str = "", removed: bool = False, after: int | None = None
) -> Found:
    """Return the page of customers that follows the customer `after`; two queries.

    `term` is the beginning of an address, or beginnings of words of the name, all of them.
    """
    customers = (
        Customer.objects.filter(organization=organization, removed_at__isnull=not removed)
        .annotate(name_lower=Lower("name"))
        .order_by("name_lower", "pk")
    )
    page = list(_following(_matching(customers, term.strip()), organization, after)[: PAGE + 1])
    return Found(customers=tuple(page[:PAGE]), next=page[PAGE - 1].pk if len(page) > PAGE else None)


def _matching(customers: QuerySet[Any], term: str) -> QuerySet[Any]:
    if not term:
        return customers
    searchable: QuerySet[Any] = customers.alias(
        email_lower=Lower("email"), words=SearchVector("name", config="simple")
    )
    return searchable.filter(searching.address_begins(term) | searching.words_begin(term))


def _following(
    customers: QuerySet[Any], organization: Organization, after: int | None
) -> QuerySet[Any]:
    """Keyset paging: a page in the middle of a million customers costs what the first does."""
    if after is None:
        return customers
    last = Customer.objects.filter(organization=organization, pk=after)
    name = last.values_list(Lower("name"), flat=True).first()
    if name is None:
        return customers
    # The first condition is the index's; the second is the rest of the row comparison.
    return customers.filter(name_lower__gte=name).exclude(name_lower=name, pk__lte=after)


def accounts(customers: Collection[Customer]) -> dict[int, list[Account]]:
    """Return what each customer was invoiced, by currency; one query for all of them.

    Open is what a customer has and has not paid: drafts are nobody's debt, nor are void ones.
    """
    is_open = Q(status=Invoice.Status.SENT)
    rows = (
        Invoice.objects.filter(customer__in=customers)
        .values("customer_id", "currency")
        .order_by("customer_id", "currency")
        .annotate(
            invoices=Count("pk"),
            open_invoices=Count("pk", filter=is_open),
            open_minor=Sum("amount_minor", filter=is_open, default=0),
        )
    )
    found: dict[int, list[Account]] = {customer.pk: [] for customer in customers}
    for row in rows:
        account = Account(
            currency=row["currency"],
            invoices=row["invoices"],
            open_invoices=row["open_invoices"],
            open_minor=row["open_minor"],
        )
        found[row["customer_id"]].append(account)
    return found


def with_address(organization: Organization, email: str) -> QuerySet[Customer]:
    """Return the customers of an address, whatever its case; nobody for an empty one."""
    found = organization.customers.filter(removed_at__isnull=True).order_by("pk")
    return found.filter(email__iexact=email.strip()) if email.strip() else found.none()


def add(
    organization: Organization, values: Mapping[str, Any], *, user_id: int, shared: str = ""
) -> Customer:
    """Make a customer of what a form found valid; one transaction.

    `shared` is an address that several customers may have: somebody was asked. Raise
    `AlreadyThere`, `SameAddress`.
    """
    with transaction.atomic():
        # One at a time: of a double click, the second must find the first one's customer.
        Organization.objects.select_for_update(no_key=True).get(pk=organization.pk)
        same = organization.customers.filter(
            name=values["name"], email__iexact=values["email"], removed_at__isnull=True
        ).first()
        if same is not None:
            raise AlreadyThere(same)
        namesake = with_address(organization, values["email"]).first()
        if namesake is not None and not is_same_address(values["email"], shared):
            raise SameAddress(namesake)
        customer = Customer.objects.create(
            organization=organization, **{field: values[field] for field in FIELDS}
        )
    logger.info("customer added", extra={"customer": customer.pk, "user": user_id})
    return customer


def is_same_address(one: str, other: str) -> bool:
    return one.strip().lower() == other.strip().lower()


def change(customer: Customer, values: Mapping[str, Any], *, seen: str, user_id: int) -> list[str]:
    """Write what a form found valid, and return the names of the fields that changed.

    One transaction. E-mails that wait are composed with the new data, and their timelines tell.
    Raise `editing.ChangedMeanwhile` if the form was shown with other data; see `editing.write`.
    """
    with transaction.atomic():
        locked = Customer.objects.select_for_update(no_key=True).get(pk=customer.pk)
        changed = editing.write(locked, {field: values[field] for field in FIELDS}, seen=seen)
        corrections.customer_corrected(locked, changed, user_id=user_id)
    if changed:
        logger.info("customer changed", extra={"customer": customer.pk, "user": user_id})
    return changed


def remove(customer: Customer, *, user_id: int) -> bool:
    """Take a customer out of the list; say whether it was there. Its invoices stay.

    E-mails that wait are cancelled, with the reason, when a worker takes them up.
    """
    return _set_removed(customer, True, user_id)


def restore(customer: Customer, *, user_id: int) -> bool:
    """Take a removed customer back; say whether it was removed."""
    return _set_removed(customer, False, user_id)


def _set_removed(customer: Customer, removed: bool, user_id: int) -> bool:
    changed = Customer.objects.filter(pk=customer.pk, removed_at__isnull=removed).update(
        removed_at=Now() if removed else None
    )
    if changed:
        logger.info(
            "customer removed" if removed else "customer restored",
            extra={"customer": customer.pk, "user": user_id},
        )
    return bool(changed)
