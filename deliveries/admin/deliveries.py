"""The ledger in the admin: each delivery with its story, and the dead letters to work through."""

from typing import Any

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.timesince import timesince

from deliveries import advice, directory, overview, searching, tracing
from deliveries.admin import acting
from deliveries.admin.acts import ACTS, CANCEL, REPLAY, Act
from deliveries.admin.filters import (
    AgeFilter,
    ArrivalFilter,
    KindFilter,
    OrganizationFilter,
    ReasonFilter,
    ReportFilter,
    StatusFilter,
)
from deliveries.admin.readonly import ReadOnlyAdmin
from deliveries.models import DeadLetter, Delivery, Message

MOST_OTHERS = 20
# A provider may tell of one delay for days.
MOST_REPORTS = 50


class DeliveryListAdmin(ReadOnlyAdmin):
    """What the list of all deliveries and that of the dead letters share."""

    list_select_related = ["organization"]
    search_fields = ["reference"]
    search_help_text = (
        "An invoice's number, a customer's name or address, or any id: of a request or an action, "
        "of the provider, a key."
    )
    actions = ["replay", "cancel"]

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return request.user.has_perm("deliveries.view_delivery")

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def has_replay_permission(self, request: HttpRequest) -> bool:
        return REPLAY.allowed(request)

    def has_cancel_permission(self, request: HttpRequest) -> bool:
        return CANCEL.allowed(request)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        if not search_term.strip():
            return queryset, False
        meant = searching.deliveries_meant(
            search_term, addresses=request.user.has_perm("deliveries.view_message")
        )
        return queryset.filter(pk__in=meant.values("pk")), False

    def get_changelist_instance(self, request: HttpRequest) -> ChangeList:
        """Read what the page's invoices are in one query."""
        changes = super().get_changelist_instance(request)
        entries = directory.current().entries({row.invoice_id for row in changes.result_list})
        for row in changes.result_list:
            row.entry = entries.get(row.invoice_id)
        return changes

    @admin.display(description="invoice")
    def number(self, delivery: Delivery) -> str:
        address = reverse("admin:deliveries_delivery_change", args=[delivery.pk])
        return format_html('<a class="nowrap" href="{}">{}</a>', address, delivery.reference)

    @admin.display(description="customer")
    def customer(self, delivery: Any) -> str:
        return delivery.entry.customer if delivery.entry else ""

    @admin.display(description="what happened")
    def what_happened(self, delivery: Delivery) -> str:
        return _shortened(advice.what_happened(delivery))

    @admin.action(description="Replay: send again what is dead …", permissions=["replay"])
    def replay(self, request: HttpRequest, queryset: QuerySet[Delivery]) -> HttpResponse | None:
        return self._ask(request, REPLAY, queryset)

    @admin.action(description="Cancel: take out for good …", permissions=["cancel"])
    def cancel(self, request: HttpRequest, queryset: QuerySet[Delivery]) -> HttpResponse | None:
        return self._ask(request, CANCEL, queryset)

    def _ask(
        self, request: HttpRequest, act: Act, chosen: QuerySet[Delivery]
    ) -> HttpResponse | None:
        back = f"{self.opts.model_name}?{request.GET.urlencode()}"
        return acting.ask(self, request, act, chosen, back=back)


@admin.register(DeadLetter)
class DeadLetterAdmin(DeliveryListAdmin):
    """What waits for a person, newest first: what happened, and what to do about it."""

    list_display = ["number", "customer", "organization", "kind", "told", "what_to_do", "age"]
    list_display_links = None
    list_filter = [ReasonFilter, ArrivalFilter, AgeFilter, KindFilter, OrganizationFilter]
    ordering = ["-finished_at"]
    sortable_by = ()

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).filter(status=Delivery.Status.DEAD)

    @admin.display(description="what happened")
    def told(self, delivery: Delivery) -> str:
        return format_html(
            '<span class="pill pill-{}">{}</span><br>{}',
            advice.tone(delivery),
            advice.state(delivery)
            if delivery.may_have_arrived
            else delivery.get_dead_reason_display(),
            _shortened(delivery.last_error),
        )

    @admin.display(description="what to do")
    def what_to_do(self, delivery: Delivery) -> str:
        return advice.what_to_do(delivery)

    @admin.display(description="dead since")
    def age(self, delivery: Delivery) -> str:
        return format_html(
            '<span class="nowrap" title="{} UTC">{}</span>',
            f"{delivery.finished_at:%Y-%m-%d %H:%M:%S}",
            timesince(delivery.finished_at, depth=1) if delivery.finished_at else "",
        )

    def change_view(self, request: HttpRequest, object_id: str, *_: Any, **__: Any) -> HttpResponse:
        return acting.to_delivery(object_id)


@admin.register(Delivery)
class DeliveryAdmin(DeliveryListAdmin):
    list_display = ["number", "kind", "customer", "organization", "state", "what_happened", "asked"]
    list_display_links = None
    list_filter = [StatusFilter, ReportFilter, KindFilter]
    ordering = ["-id"]
    sortable_by = ()

    @admin.display(description="state")
    def state(self, delivery: Delivery) -> str:
        return format_html(
            '<span class="pill pill-{}">{}</span>',
            advice.tone(delivery),
            advice.state(delivery),
        )

    @admin.display(description="requested")
    def asked(self, delivery: Delivery) -> str:
        # In two where the list is narrow; the last column would be cut off otherwise.
        return format_html(
            '<span class="nowrap">{}</span> <span class="nowrap">{}</span>',
            f"{delivery.created_at:%Y-%m-%d}",
            f"{delivery.created_at:%H:%M} UTC",
        )

    def get_urls(self) -> list[URLPattern]:
        own = [
            path(
                f"{act.name}/",
                self.admin_site.admin_view(acting.view_of_many(self, act)),
                name=f"deliveries_delivery_{act.name}",
            )
            for act in ACTS
        ] + [
            path(
                f"<int:delivery_id>/{act.name}/",
                self.admin_site.admin_view(acting.view_of_one(self, act)),
                name=f"deliveries_delivery_{act.name}_one",
            )
            for act in ACTS
        ]
        return [*own, *super().get_urls()]

    def change_view(self, request: HttpRequest, object_id: str, *_: Any, **__: Any) -> HttpResponse:
        """Tell one delivery's whole story; nothing here can be changed but by its buttons."""
        if not self.has_view_permission(request) or request.method not in {"GET", "HEAD"}:
            raise PermissionDenied
        delivery = _delivery_or_404(object_id)
        entry = directory.current().entries([delivery.invoice_id])[delivery.invoice_id]
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": f"{delivery.kind.capitalize()} {delivery.reference}",
            "delivery": delivery,
            "entry": entry,
            "steps": tracing.steps_of([delivery], {entry.invoice_id: entry}),
            "others": _others(delivery),
            "tone": advice.tone(delivery),
            "state": advice.state(delivery),
            "reports": delivery.provider_events.order_by("id").defer("payload")[:MOST_REPORTS],
            # What changes by itself is looked at again by itself.
            "moving": delivery.status not in Delivery.FINAL,
            "lane": overview.lane(delivery.lane),
            "what_happened": advice.what_happened(delivery),
            "what_to_do": advice.what_to_do(delivery),
            "acts": [act for act in ACTS if act.offered(request, delivery)],
            "stored": Message.objects.filter(delivery=delivery)
            .order_by("-id")
            .only("pk", "subject", "created_at", "idempotency_key"),
        }
        return TemplateResponse(request, "support/delivery.html", context)


def _delivery_or_404(object_id: str) -> Delivery:
    if not (object_id.isascii() and object_id.isdigit() and len(object_id) < 19):
        raise Http404
    found = Delivery.objects.select_related("organization", "requested_by").filter(pk=object_id)
    delivery = found.first()
    if delivery is None:
        raise Http404
    return delivery


def _others(delivery: Delivery) -> QuerySet[Delivery]:
    """Return the newest other deliveries about the same invoice."""
    same = Delivery.objects.filter(invoice=delivery.invoice_id).exclude(pk=delivery.pk)
    return same.order_by("-pk")[:MOST_OTHERS]


def _shortened(text: str) -> str:
    return text if len(text) <= 200 else f"{text[:200].rstrip()}…"
