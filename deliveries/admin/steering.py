"""What a person says when pausing or resuming a lane, and doing as they said."""

from datetime import timedelta

from django import forms
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models.functions import Now

from deliveries import ledger
from deliveries.ledger.lanes import UNTIL_RESUMED
from deliveries.models import Lane

# A click within so long after the same click says nothing new.
DOUBLE_CLICK = timedelta(seconds=10)

DURATIONS = {
    "15m": ("15 minutes", timedelta(minutes=15)),
    "1h": ("1 hour", timedelta(hours=1)),
    "4h": ("4 hours", timedelta(hours=4)),
    "24h": ("24 hours", timedelta(hours=24)),
    "open": ("Until somebody resumes it", UNTIL_RESUMED),
}


def one_line(text: str) -> None:
    if len(text.splitlines()) > 1:
        raise ValidationError("Write it in one line.", code="lines")


def reason_field(help_text: str) -> forms.CharField:
    """Return the field for why, which goes into the lane's history with the person's name."""
    return forms.CharField(label="Why", max_length=500, validators=[one_line], help_text=help_text)


class SteerForm(forms.Form):
    """What a person asks of a lane."""

    def apply(self, lane: str, *, actor_id: int) -> None:
        raise NotImplementedError


class PauseForm(SteerForm):
    prefix = "pause"
    reason = reason_field(
        "Finance staff of every organization will read this above their invoices. One line, no "
        "names or addresses."
    )
    duration = forms.ChoiceField(
        choices=[(key, label) for key, (label, _) in DURATIONS.items()],
        initial="1h",
        label="For",
    )

    def apply(self, lane: str, *, actor_id: int) -> None:
        """Pause the lane in the person's name; a double click does it once. One transaction."""
        _, for_ = DURATIONS[self.cleaned_data["duration"]]
        reason = self.cleaned_data["reason"]
        with transaction.atomic():
            ledger.lock_lane(lane)
            if not _repeats(lane, reason=reason, for_=for_, actor_id=actor_id):
                ledger.pause(lane, reason=reason, for_=for_, actor_id=actor_id)


class ResumeForm(SteerForm):
    prefix = "resume"
    reason = reason_field("For the lane’s history. What waits goes on at once.")

    def apply(self, lane: str, *, actor_id: int) -> None:
        """Resume the lane in the person's name; the second click finds nothing to do."""
        ledger.resume(lane, reason=self.cleaned_data["reason"], actor_id=actor_id)


def _repeats(lane: str, *, reason: str, for_: timedelta, actor_id: int) -> bool:
    """Tell whether the lane stands just as this click asks; call it with the lane locked."""
    paused = Lane.objects.filter(
        pk=lane,
        paused_reason=reason,
        paused_until__gt=Now() + (for_ - DOUBLE_CLICK),
        paused_until__lte=Now() + for_,
    )
    last = Lane(pk=lane).events.order_by("-id").first()
    return last is not None and last.actor_id == actor_id and paused.exists()
