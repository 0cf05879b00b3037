"""The ledger in the admin: to look at, and to replay what died."""

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest

from deliveries import ledger
from deliveries.admin.readonly import ReadOnlyAdmin
from deliveries.models import Delivery, DeliveryEvent
from deliveries.policy import Policy

EVENT_COLUMNS = ("at", "type", "sentence", "attempt", "worker", "actor", "correlation_id")


class EventInline(admin.TabularInline):  # type: ignore[type-arg]
    model = DeliveryEvent
    fields = readonly_fields = EVENT_COLUMNS
    ordering = ["id"]
    extra = 0
    can_delete = False
    verbose_name_plural = "timeline"

    def has_add_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    def get_queryset(self, request: HttpRequest) -> QuerySet[DeliveryEvent]:
        return super().get_queryset(request).select_related("actor")


@admin.register(Delivery)
class DeliveryAdmin(ReadOnlyAdmin):
    list_display = [
        "reference",
        "kind",
        "organization",
        "status",
        "dead_reason",
        "attempts",
        "last_error",
        "created_at",
        "finished_at",
    ]
    list_filter = ["status", "dead_reason", "kind"]
    list_select_related = ["organization"]
    search_fields = ["reference", "dedupe_key", "correlation_id", "provider_message_id"]
    ordering = ["-id"]
    inlines = [EventInline]
    actions = ["replay"]

    def has_replay_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("deliveries.replay_delivery")

    @admin.action(description="Replay: put dead deliveries back", permissions=["replay"])
    def replay(self, request: HttpRequest, queryset: QuerySet[Delivery]) -> None:
        batch = ledger.replay_many(
            queryset.values_list("pk", flat=True),
            actor_id=request.user.pk or 0,
            reason="replayed in the admin",
            key_lifetime=Policy.from_settings().key_lifetime,
        )
        self.message_user(request, f"{len(batch.done)} replayed.", messages.SUCCESS)
        for why in sorted(set(batch.skipped.values())):
            count = sum(reason == why for reason in batch.skipped.values())
            self.message_user(request, f"{count} skipped: {why}.", messages.WARNING)
