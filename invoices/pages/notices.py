"""What keeps all e-mails waiting, said once above them."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from deliveries import kinds
from deliveries.ledger.lanes import OUTAGE_FAILURES, is_open_ended
from deliveries.models import Delivery, Lane, WorkerPresence
from invoices.models import Organization
from invoices.pages.formats import Formats
from invoices.sending import KIND

_MANY = 1000


@dataclass(frozen=True, kw_only=True)
class Notice:
    sentence: str
    tone: str = "wait"


def notices(organization: Organization, formats: Formats) -> tuple[Notice, ...]:
    """Return what holds up the organization's e-mails as a whole; at most three queries."""
    lane = kinds.get(KIND).lane
    return (*_about_lane(lane, organization, formats), *_about_workers(lane, organization))


def _about_lane(name: str, organization: Organization, formats: Formats) -> list[Notice]:
    lane = Lane.objects.filter(
        Q(paused_until__gt=Now()) | Q(failures_in_a_row__gte=OUTAGE_FAILURES), pk=name
    ).first()
    if lane is None:
        return []
    # Both may hold; an expired pause is not cleared by anybody, so compare again.
    if lane.paused_until is not None and lane.paused_until > formats.now:
        paused = _about_pause(lane.paused_reason, lane.paused_until, formats)
        return [Notice(sentence=f"{paused} {_how_many_wait(name, organization)}".rstrip())]
    if lane.failures_in_a_row < OUTAGE_FAILURES:
        return []
    return [
        Notice(
            sentence=_(
                "The e-mail provider is failing. One e-mail at a time is tried until it recovers; "
                "none is lost."
            )
        )
    ]


def _about_pause(reason: str, until: datetime, formats: Formats) -> str:
    words = {"reason": reason.rstrip(". "), "time": formats.clock(until).text}
    if is_open_ended(until, now=formats.now):
        return _("E-mail is paused: %(reason)s. It goes on when somebody resumes it.") % words
    return _("E-mail is paused: %(reason)s. It goes on at %(time)s.") % words


def _how_many_wait(lane: str, organization: Organization) -> str:
    waiting = Delivery.objects.waiting().filter(lane=lane, organization=organization)
    # Counting stops where the exact number no longer matters.
    count = waiting[: _MANY + 1].count()
    if count > _MANY:
        return _("More than %(count)s e-mails wait.") % {"count": _MANY}
    if count == 0:
        return ""
    return ngettext("%(count)s e-mail waits.", "%(count)s e-mails wait.", count) % {"count": count}


def _about_workers(lane: str, organization: Organization) -> list[Notice]:
    if WorkerPresence.objects.alive().exists():
        return []
    stranded = Q(status__in=Delivery.WAITING) | Q(
        status=Delivery.Status.RUNNING, locked_until__lt=Now()
    )
    if not Delivery.objects.filter(stranded, lane=lane, organization=organization).exists():
        return []
    return [Notice(sentence=_("No worker is running: e-mails wait. None is lost."))]
