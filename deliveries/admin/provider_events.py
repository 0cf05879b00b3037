"""What providers have told us, also of messages that we do not know."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html

from deliveries.admin.readonly import ReadOnlyAdmin
from deliveries.models import Delivery, ProviderEvent
from deliveries.models.reports import STANDINGS

_State = ProviderEvent.State
_TONES: dict[str, str] = {
    _State.WAITING: "wait",
    _State.APPLIED: "good",
    _State.OUTRANKED: "quiet",
    _State.NO_EFFECT: "quiet",
    _State.UNKNOWN_TYPE: "wait",
}


class StateFilter(admin.SimpleListFilter):
    """What came of it, in the words of the list."""

    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(state.value, STANDINGS.get(state, str(state.label))) for state in _State]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(state=self.value()) if self.value() else queryset


@admin.register(ProviderEvent)
class ProviderEventAdmin(ReadOnlyAdmin):
    list_display = ["received", "shown_type", "shown_state", "reason", "of_delivery", "message_id"]
    list_display_links = ["received"]
    list_filter = [StateFilter]
    list_select_related = ["delivery"]
    ordering = ["-id"]
    sortable_by = ()
    search_fields = ["event_id"]
    search_help_text = "An event's id, or the provider's message id, whole."
    fields = (
        *("event_id", "type", "shown_state", "outcome", "reason", "address"),
        *("provider_message_id", "of_delivery", "happened", "received", "payload"),
    )
    readonly_fields = ("shown_state", "of_delivery", "happened", "received")

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        # They hold addresses, as messages do.
        return request.user.has_perm("deliveries.view_message")

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).defer("payload")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        term = search_term.strip()
        if not term:
            return queryset, False
        if "\x00" in term:
            return queryset.none(), False
        # By index each: those that wait, and those that have found their delivery.
        deliveries = Delivery.objects.filter(provider_message_id=term).values_list("pk", flat=True)
        found = (
            Q(event_id=term)
            | Q(provider_message_id=term, state=_State.WAITING)
            | Q(delivery__in=list(deliveries[:10]))
        )
        return queryset.filter(found), False

    def get_changelist_instance(self, request: HttpRequest) -> ChangeList:
        """Find in one query whose the page's events are that moved nothing."""
        changes = super().get_changelist_instance(request)
        alone = [event for event in changes.result_list if event.delivery_id is None]
        found = _by_message_id(event.provider_message_id for event in alone)
        for event in alone:
            event.found = found.get(event.provider_message_id)
        return changes

    @admin.display(description="received")
    def received(self, event: ProviderEvent) -> str:
        return _moment(event.received_at)

    @admin.display(description="happened, by the provider's clock")
    def happened(self, event: ProviderEvent) -> str:
        return _moment(event.happened_at)

    @admin.display(description="type")
    def shown_type(self, event: ProviderEvent) -> str:
        return format_html('<span class="nowrap">{}</span>', event.type[:40])

    @admin.display(description="state")
    def shown_state(self, event: ProviderEvent) -> str:
        return format_html(
            '<span class="pill pill-{}">{}</span>', _TONES[event.state], event.standing
        )

    @admin.display(description="delivery")
    def of_delivery(self, event: ProviderEvent) -> str:
        delivery = event.delivery or _found(event)
        if delivery is None:
            return ""
        address = reverse("admin:deliveries_delivery_change", args=[delivery.pk])
        return format_html('<a class="nowrap" href="{}">{}</a>', address, delivery.reference)

    @admin.display(description="provider's message id")
    def message_id(self, event: ProviderEvent) -> str:
        return format_html('<span class="id">{}</span>', event.provider_message_id)


def _moment(at: datetime) -> str:
    return format_html('<span class="nowrap">{}</span>', f"{at:%Y-%m-%d %H:%M:%S} UTC")


def _found(event: Any) -> Delivery | None:
    """Return the delivery that the event names, though it moved nothing there."""
    if not hasattr(event, "found"):
        event.found = _by_message_id([event.provider_message_id]).get(event.provider_message_id)
    found: Delivery | None = event.found
    return found


def _by_message_id(ids: Iterable[str]) -> dict[str, Delivery]:
    known = sorted({id_ for id_ in ids if id_})
    # By an index that leaves the empty ones out.
    named = Delivery.objects.exclude(provider_message_id="")
    deliveries = named.filter(provider_message_id__in=known).order_by("id") if known else []
    return {delivery.provider_message_id: delivery for delivery in deliveries}
