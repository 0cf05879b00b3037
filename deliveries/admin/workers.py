"""The workers: who runs, since when, when last seen by the database's clock, and with how much."""

from datetime import timedelta
from typing import Protocol, cast

from django.contrib import admin
from django.db.models import Case, DurationField, ExpressionWrapper, F, QuerySet, Value, When
from django.db.models.expressions import Combinable
from django.db.models.functions import Now
from django.http import HttpRequest
from django.utils.html import format_html

from deliveries import spans
from deliveries.admin.readonly import ReadOnlyAdmin
from deliveries.models import ALIVE_WITHIN, WorkerPresence


class Seen(Protocol):
    """What the list's statement adds to a worker's row."""

    alive: int
    silent_for: timedelta
    up_for: timedelta


def _annotated(worker: WorkerPresence) -> Seen:
    return cast(Seen, worker)


@admin.register(WorkerPresence)
class WorkerPresenceAdmin(ReadOnlyAdmin):
    list_display = ["name", "state", "seen", "since", "busy", "version", "host", "pid"]
    fields = readonly_fields = ("name", "state", "seen", "since", "busy", "version", "host", "pid")
    sortable_by = ["name", "seen", "since", "version", "host"]
    search_fields = ["name", "host", "version"]

    def get_ordering(self, request: HttpRequest) -> list[str | Combinable]:
        """The living first, and by name: who was seen last would change at every look."""
        return ["-alive", "name"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[WorkerPresence]:
        silent_for = ExpressionWrapper(Now() - F("last_seen_at"), DurationField())
        return WorkerPresence.objects.annotate(
            silent_for=silent_for,
            up_for=ExpressionWrapper(Now() - F("started_at"), DurationField()),
            alive=Case(When(last_seen_at__gt=Now() - ALIVE_WITHIN, then=Value(1)), default=0),
        )

    @admin.display(description="state")
    def state(self, worker: WorkerPresence) -> str:
        alive = _annotated(worker).alive
        tone, word = ("good", "Alive") if alive else ("bad", "Gone")
        return format_html('<span class="pill pill-{}">{}</span>', tone, word)

    @admin.display(description="last seen", ordering="last_seen_at")
    def seen(self, worker: WorkerPresence) -> str:
        return f"{spans.in_words(_annotated(worker).silent_for)} ago"

    @admin.display(description="running since", ordering="started_at")
    def since(self, worker: WorkerPresence) -> str:
        began = f"{worker.started_at:%-d %b, %H:%M:%S} UTC"
        if not _annotated(worker).alive:
            return began
        return f"{began} ({spans.in_words(_annotated(worker).up_for)})"

    @admin.display(description="in flight")
    def busy(self, worker: WorkerPresence) -> str:
        words = f"{worker.in_flight} of {worker.threads}"
        return words if _annotated(worker).alive else f"{words} when last seen"
