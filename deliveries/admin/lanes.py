"""Lanes, which operations pause and resume, and the workers that serve them."""

from django.contrib import admin

from deliveries.admin.readonly import ReadOnlyAdmin
from deliveries.models import Lane, WorkerPresence


@admin.register(Lane)
class LaneAdmin(ReadOnlyAdmin):
    list_display = ["name", "limit", "rate_per_second", "paused_until", "paused_reason"]


@admin.register(WorkerPresence)
class WorkerPresenceAdmin(ReadOnlyAdmin):
    list_display = ["name", "host", "pid", "version", "threads", "in_flight", "last_seen_at"]
