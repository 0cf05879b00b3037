"""Which workers run."""

from __future__ import annotations

from datetime import timedelta

from django.db import models
from django.db.models.functions import Now

# A worker not seen for so long is taken for gone.
ALIVE_WITHIN = timedelta(seconds=30)


class WorkerPresenceQuerySet(models.QuerySet["WorkerPresence"]):
    def alive(self) -> WorkerPresenceQuerySet:
        """Workers seen lately, by the database's clock. They report every few seconds."""
        return self.filter(last_seen_at__gt=Now() - ALIVE_WITHIN)


class WorkerPresence(models.Model):
    """One row per running worker, so that pages can say when none is."""

    name = models.CharField(max_length=200, primary_key=True)
    host = models.CharField(max_length=200)
    pid = models.PositiveIntegerField()
    version = models.CharField(max_length=50)
    threads = models.PositiveIntegerField()
    in_flight = models.PositiveIntegerField(default=0)
    started_at = models.DateTimeField(db_default=Now())
    last_seen_at = models.DateTimeField(db_default=Now())

    objects = WorkerPresenceQuerySet.as_manager()

    class Meta:
        verbose_name = "worker"

    def __str__(self) -> str:
        return self.name
