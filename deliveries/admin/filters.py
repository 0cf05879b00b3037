"""Filters of the delivery lists: each asks a partial index, or nothing at all."""

from datetime import timedelta
from typing import Any

from django.contrib import admin
from django.db.models import Count, QuerySet
from django.db.models.functions import Now
from django.http import HttpRequest

from deliveries import kinds
from deliveries.models import Delivery

MOST_ORGANIZATIONS = 30


class KindFilter(admin.SimpleListFilter):
    """The kinds that this code knows; asking the table for them would read all of it."""

    title = "kind"
    parameter_name = "kind"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(name, name.capitalize()) for name in kinds.names()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Delivery]) -> QuerySet[Delivery]:
        return queryset.filter(kind=self.value()) if self.value() in kinds.names() else queryset


class StatusFilter(admin.SimpleListFilter):
    title = "state"
    parameter_name = "status"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(status.value, str(status.label)) for status in Delivery.Status]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Delivery]) -> QuerySet[Delivery]:
        return queryset.filter(status=self.value()) if self.value() else queryset


class ReasonFilter(admin.SimpleListFilter):
    """Why deliveries are dead, with how many of each."""

    title = "reason"
    parameter_name = "dead_reason"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        counts = dict(
            Delivery.objects.dead().values_list("dead_reason").annotate(Count("pk")).order_by()
        )
        return [
            (reason.value, f"{reason.label} ({counts.get(reason.value, 0)})")
            for reason in Delivery.DeadReason
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Delivery]) -> QuerySet[Delivery]:
        return queryset.filter(dead_reason=self.value()) if self.value() else queryset


class ArrivalFilter(admin.SimpleListFilter):
    """Whether the customer may have it all the same."""

    title = "arrival"
    parameter_name = "arrival"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("maybe", "The customer may have it"), ("never", "Certainly not sent")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Delivery]) -> QuerySet[Delivery]:
        match self.value():
            case "maybe":
                return queryset.filter(handed_over_at__isnull=False)
            case "never":
                return queryset.filter(handed_over_at__isnull=True)
        return queryset


class ReportFilter(admin.SimpleListFilter):
    """What the provider reported after sending."""

    title = "after sending"
    parameter_name = "after_sending"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        outcomes = [(outcome.value, outcome.label) for outcome in Delivery.AfterSending]
        return [("came_back", "All that came back"), *reversed(outcomes)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Delivery]) -> QuerySet[Delivery]:
        if self.value() == "came_back":
            return queryset.filter(after_sending__in=Delivery.CAME_BACK)
        return queryset.filter(after_sending=self.value()) if self.value() else queryset


class OrganizationFilter(admin.SimpleListFilter):
    """The organizations with most dead letters."""

    title = "organization"
    parameter_name = "organization"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        most = (
            Delivery.objects.dead()
            .values_list("organization_id", "organization__name")
            .annotate(dead=Count("pk"))
            .order_by("-dead", "organization__name")
        )
        return [(str(pk), f"{name} ({dead})") for pk, name, dead in most[:MOST_ORGANIZATIONS]]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Delivery]) -> QuerySet[Delivery]:
        value = self.value() or ""
        is_id = value.isascii() and value.isdigit() and len(value) < 19
        return queryset.filter(organization_id=int(value)) if is_id else queryset


class AgeFilter(admin.SimpleListFilter):
    """Since when a delivery is dead, by the database's clock."""

    title = "age"
    parameter_name = "age"
    _AGES = (
        ("hour", "Up to an hour", timedelta(hours=1)),
        ("day", "Up to a day", timedelta(days=1)),
        ("week", "Up to a week", timedelta(days=7)),
    )

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [*((name, words) for name, words, _ in self._AGES), ("older", "Older")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Delivery]) -> QuerySet[Delivery]:
        ages = {name: length for name, _, length in self._AGES}
        match self.value():
            case "older":
                return queryset.filter(finished_at__lte=Now() - ages["week"])
            case str(name) if name in ages:
                return queryset.filter(finished_at__gt=Now() - ages[name])
        return queryset
