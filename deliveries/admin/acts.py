"""The acts of a person on deliveries: what each asks, works on, would do, and does."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django import forms
from django.http import HttpRequest

from deliveries import ledger
from deliveries.errors import WrongState
from deliveries.ledger import Batch, Case
from deliveries.models import Delivery
from deliveries.policy import Policy

# One transaction locks so many rows at most.
MOST = 10_000


class ActForm(forms.Form):
    """What the page asks; and, unseen, which rows it was about and when it was made."""

    ids = forms.CharField(widget=forms.HiddenInput, max_length=20 * MOST)
    seen_at = forms.DateTimeField(widget=forms.HiddenInput)
    # The list to come back to, with its filters.
    back = forms.CharField(widget=forms.HiddenInput, required=False)
    reason = forms.CharField(
        label="Why?",
        max_length=500,
        help_text="Stays in the timeline, with your name. The organization's finance staff read it "
        "too; customers do not.",
        error_messages={"required": "Say why: whoever looks at the timeline later wants to know."},
    )

    def clean_ids(self) -> list[int]:
        words = self.cleaned_data["ids"].split(",")
        if len(words) > MOST or not all(w.isascii() and w.isdigit() and len(w) < 19 for w in words):
            raise forms.ValidationError("Choose the deliveries again from the list.")
        return [int(word) for word in words]

    def clean_reason(self) -> str:
        return " ".join(str(self.cleaned_data["reason"]).split())


class ReplayForm(ActForm):
    confirmed = forms.BooleanField(
        required=False,
        label="I have looked: the customers do not have them. Send them again.",
        help_text="Without this, those are skipped.",
    )


class VouchForm(ActForm):
    provider_message_id = forms.RegexField(
        r"^[!-~]{1,255}$",
        label="The provider's id of the message",
        strip=True,
        help_text="As the provider's log shows it.",
        error_messages={
            "required": "Give the id that the provider's log shows: “sent” means that we know it.",
            "invalid": "An id is up to 255 letters, digits and signs, without spaces.",
        },
    )


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What the page says would happen."""

    anew: int = 0
    same: int = 0
    # Until when the provider surely knows the first key to be forgotten.
    same_until: datetime | None = None
    unknown: int = 0
    cancelled: int = 0
    # Of those to be cancelled, how many the customer may have.
    may_have: int = 0
    vouched: int = 0
    skipped: Sequence[tuple[str, int]] = ()

    @property
    def any(self) -> bool:
        return bool(self.anew or self.same or self.unknown or self.cancelled or self.vouched)


@dataclass(frozen=True, kw_only=True)
class Act:
    name: str
    permission: str
    button: str
    # "3 replayed"
    done: str
    works_on: frozenset[str]
    form: type[ActForm]
    plan: Callable[[Sequence[int]], Plan]
    run: Callable[[list[int], int, dict[str, Any]], Batch]
    # Whether it makes sense only where the provider may have accepted the message.
    if_handed_over: bool = False

    def allowed(self, request: HttpRequest) -> bool:
        return request.user.has_perm(self.permission)

    def offered(self, request: HttpRequest, delivery: Delivery) -> bool:
        return (
            self.allowed(request)
            and delivery.status in self.works_on
            and (delivery.handed_over_at is not None or not self.if_handed_over)
        )


def _plan_replay(ids: Sequence[int]) -> Plan:
    prospects = ledger.prospects(ids, key_lifetime=Policy.from_settings().key_lifetime)
    cases = Counter(prospect.case for prospect in prospects)
    return Plan(
        anew=cases[Case.ANEW],
        same=cases[Case.SAME],
        same_until=min(filter(None, (p.key_known_until for p in prospects)), default=None),
        unknown=cases[Case.UNKNOWN],
        skipped=Counter(p.why_not for p in prospects if p.case is None).most_common(),
    )


def _replay(ids: list[int], actor_id: int, answers: dict[str, Any]) -> Batch:
    return ledger.replay_many(
        ids,
        actor_id=actor_id,
        reason=answers["reason"],
        key_lifetime=Policy.from_settings().key_lifetime,
        confirmed=answers.get("confirmed", False),
        died_by=answers["seen_at"],
    )


def _plan_cancel(ids: Sequence[int]) -> Plan:
    able = Delivery.objects.filter(pk__in=list(ids), status__in=CANCEL.works_on)
    count = able.count()
    skipped = [("running, sent or cancelled already", len(ids) - count)]
    return Plan(
        cancelled=count,
        may_have=able.filter(handed_over_at__isnull=False).count(),
        skipped=skipped if count < len(ids) else (),
    )


def _cancel(ids: list[int], actor_id: int, answers: dict[str, Any]) -> Batch:
    return ledger.cancel_many(
        ids, actor_id=actor_id, why=answers["reason"], seen_at=answers["seen_at"]
    )


def _plan_vouch(ids: Sequence[int]) -> Plan:
    able = Delivery.objects.dead().filter(pk__in=list(ids), handed_over_at__isnull=False)
    return Plan(vouched=able.count())


def _vouch(ids: list[int], actor_id: int, answers: dict[str, Any]) -> Batch:
    """Record one: each has an id of its own."""
    try:
        ledger.vouch(
            ids[0],
            provider_message_id=answers["provider_message_id"],
            actor_id=actor_id,
            reason=answers["reason"],
        )
    except WrongState:
        return Batch(done=(), skipped={ids[0]: "it is not dead any more"})
    return Batch(done=(ids[0],), skipped={})


REPLAY = Act(
    name="replay",
    permission="deliveries.replay_delivery",
    button="Replay",
    done="replayed",
    works_on=frozenset({Delivery.Status.DEAD}),
    form=ReplayForm,
    plan=_plan_replay,
    run=_replay,
)
VOUCH = Act(
    name="vouch",
    permission="deliveries.replay_delivery",
    button="It was sent",
    done="recorded as sent",
    works_on=frozenset({Delivery.Status.DEAD}),
    form=VouchForm,
    plan=_plan_vouch,
    run=_vouch,
    if_handed_over=True,
)
CANCEL = Act(
    name="cancel",
    permission="deliveries.cancel_delivery",
    button="Cancel the e-mail",
    done="cancelled",
    works_on=frozenset({Delivery.Status.DEAD, *Delivery.WAITING}),
    form=ActForm,
    plan=_plan_cancel,
    run=_cancel,
)
ACTS = (REPLAY, VOUCH, CANCEL)
