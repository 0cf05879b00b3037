"""What providers have told us, also of messages that we do not know."""

from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html

from deliveries.admin.readonly import ReadOnlyAdmin
from deliveries.models import Delivery, ProviderEvent

_State = ProviderEvent.State
_TONES: dict[str, str] = {
    _State.WAITING: "wait",
    _State.APPLIED: "good",
    _State.OUTRANKED: "quiet",
    _State.NO_EFFECT: "quiet",
    _State.UNKNOWN_TYPE: "wait",
}


@admin.register(ProviderEvent)
class ProviderEventAdmin(ReadOnlyAdmin):
    list_display = ["received", "shown_type", "shown_state", "reason", "of_delivery", "message_id"]
    list_display_links = ["received"]
    list_filter = ["state"]
    list_select_related = ["delivery"]
    ordering = ["-id"]
    sortable_by = ()
    search_fields = ["event_id"]
    search_help_text = "An event's id, or the provider's message id, whole."
    fields = (
        *("event_id", "type", "shown_state", "outcome", "reason", "address"),
        *("provider_message_id", "of_delivery", "happened_at", "received_at", "payload"),
    )
    readonly_fields = ("shown_state", "of_delivery")

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

    @admin.display(description="received")
    def received(self, event: ProviderEvent) -> str:
        moment = f"{event.received_at:%Y-%m-%d %H:%M:%S} UTC"
        return format_html('<span class="nowrap">{}</span>', moment)

    @admin.display(description="type")
    def shown_type(self, event: ProviderEvent) -> str:
        return format_html('<span class="nowrap">{}</span>', event.type[:40])

    @admin.display(description="state")
    def shown_state(self, event: ProviderEvent) -> str:
        return format_html(
            '<span class="pill pill-{}">{}</span>', _TONES[event.state], event.get_state_display()
        )

    @admin.display(description="delivery")
    def of_delivery(self, event: ProviderEvent) -> str:
        if event.delivery is None:
            return ""
        address = reverse("admin:deliveries_delivery_change", args=[event.delivery.pk])
        return format_html('<a class="nowrap" href="{}">{}</a>', address, event.delivery.reference)

    @admin.display(description="provider's message id")
    def message_id(self, event: ProviderEvent) -> str:
        return format_html('<span class="id">{}</span>', event.provider_message_id)
