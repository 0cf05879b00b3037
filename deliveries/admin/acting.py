"""What a person may do to deliveries: replay and cancel, each with a reason, on one or on many.

First a page that says what would happen and asks why; then the act, on exactly the rows of that
page, which carries their ids and the moment it was made. So a list that changes meanwhile, a
second click and a second person do no harm.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.admin import ModelAdmin
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html

from deliveries import correlation, ledger
from deliveries.ledger import Batch, Case, Prospect
from deliveries.models import Delivery
from deliveries.policy import Policy

# One transaction locks so many rows at most.
MOST = 10_000
EXAMPLES = 10


class ActForm(forms.Form):
    """What the page asks; and, unseen, which rows it was about and when it was made."""

    ids = forms.CharField(widget=forms.HiddenInput, max_length=20 * MOST)
    seen_at = forms.DateTimeField(widget=forms.HiddenInput)
    # The list to come back to, with its filters.
    back = forms.CharField(widget=forms.HiddenInput, required=False)
    reason = forms.CharField(
        max_length=500,
        help_text="Stays in the timeline, with your name. Customers never see it.",
        error_messages={"required": "Say why: whoever looks at the timeline later wants to know."},
    )
    confirmed = forms.BooleanField(
        required=False, label="I have looked: the customer does not have it. Send it again."
    )

    def clean_ids(self) -> list[int]:
        words = self.cleaned_data["ids"].split(",")
        if len(words) > MOST or not all(w.isascii() and w.isdigit() and len(w) < 19 for w in words):
            raise forms.ValidationError("Choose the deliveries again from the list.")
        return [int(word) for word in words]

    def clean_reason(self) -> str:
        return " ".join(str(self.cleaned_data["reason"]).split())


@dataclass(frozen=True, kw_only=True)
class Act:
    name: str
    permission: str
    button: str
    # "3 replayed"
    done: str
    works_on: frozenset[str]
    run: Callable[[list[int], int, dict[str, Any]], Batch]

    def allowed(self, request: HttpRequest) -> bool:
        return request.user.has_perm(self.permission)

    def offered(self, request: HttpRequest, delivery: Delivery) -> bool:
        return self.allowed(request) and delivery.status in self.works_on


def _replay(ids: list[int], actor_id: int, answers: dict[str, Any]) -> Batch:
    return ledger.replay_many(
        ids,
        actor_id=actor_id,
        reason=answers["reason"],
        key_lifetime=Policy.from_settings().key_lifetime,
        confirmed=answers["confirmed"],
        died_by=answers["seen_at"],
    )


def _cancel(ids: list[int], actor_id: int, answers: dict[str, Any]) -> Batch:
    return ledger.cancel_many(ids, actor_id=actor_id, why=answers["reason"])


REPLAY = Act(
    name="replay",
    permission="deliveries.replay_delivery",
    button="Replay",
    done="replayed",
    works_on=frozenset({Delivery.Status.DEAD}),
    run=_replay,
)
CANCEL = Act(
    name="cancel",
    permission="deliveries.cancel_delivery",
    button="Cancel",
    done="cancelled",
    works_on=frozenset({Delivery.Status.DEAD, *Delivery.WAITING}),
    run=_cancel,
)
ACTS = (REPLAY, CANCEL)


def ask(
    admin: "ModelAdmin[Any]",
    request: HttpRequest,
    act: Act,
    chosen: QuerySet[Delivery],
    *,
    back: str = "",
) -> HttpResponse | None:
    """Answer with the page that asks why; None, with a message, if there are too many."""
    ids = list(chosen.order_by("pk").values_list("pk", flat=True)[: MOST + 1])
    if len(ids) > MOST:
        admin.message_user(
            request, f"Choose at most {MOST:,} at a time, for instance by a filter.", messages.ERROR
        )
        return None
    form = ActForm(
        initial={
            "ids": ",".join(map(str, ids)),
            "seen_at": ledger.database_now().isoformat(),
            "back": back,
        }
    )
    return _page(admin, request, act, form, ids)


def view_of_many(admin: "ModelAdmin[Any]", act: Act) -> Callable[[HttpRequest], HttpResponse]:
    """Return the view that acts on the rows of a page that `ask` made."""

    def view(request: HttpRequest) -> HttpResponse:
        if not act.allowed(request):
            raise PermissionDenied
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        form = ActForm(request.POST)
        if not form.is_valid():
            return _page(admin, request, act, form, form.cleaned_data.get("ids", []))
        ids = form.cleaned_data["ids"]
        batch = act.run(ids, request.user.pk or 0, form.cleaned_data)
        _report(admin, request, act, batch)
        back = form.cleaned_data["back"]
        return redirect(_list(back)) if back else to_delivery(ids[0])

    return view


def view_of_one(admin: "ModelAdmin[Any]", act: Act) -> Callable[..., HttpResponse]:
    """Return the view behind the button on a delivery's page."""

    def view(request: HttpRequest, delivery_id: int) -> HttpResponse:
        if not act.allowed(request):
            raise PermissionDenied
        if request.method not in {"GET", "HEAD"}:
            return HttpResponseNotAllowed(["GET", "HEAD"])
        delivery = get_object_or_404(Delivery, pk=delivery_id)
        answer = ask(admin, request, act, Delivery.objects.filter(pk=delivery.pk))
        return answer or to_delivery(delivery.pk)

    return view


def to_delivery(delivery_id: int | str) -> HttpResponse:
    return redirect("admin:deliveries_delivery_change", delivery_id)


@dataclass(frozen=True, kw_only=True)
class _Plan:
    """What the page says would happen."""

    anew: int
    same: int
    # Until when the provider surely knows the first key to be forgotten.
    same_until: datetime | None
    unknown: int
    cancelled: int
    skipped: list[tuple[str, int]]

    @property
    def any(self) -> bool:
        return bool(self.anew or self.same or self.unknown or self.cancelled)


def _page(
    admin: "ModelAdmin[Any]", request: HttpRequest, act: Act, form: ActForm, ids: Sequence[int]
) -> HttpResponse:
    plan = _replay_plan(ids) if act is REPLAY else _cancel_plan(ids)
    if not plan.unknown:
        del form.fields["confirmed"]
    examples = Delivery.objects.filter(pk__in=list(ids[:EXAMPLES])).order_by("pk")
    context = {
        **admin.admin_site.each_context(request),
        "opts": admin.opts,
        "title": f"{act.button} {len(ids):,} deliveries" if len(ids) != 1 else act.button,
        "act": act,
        "form": form,
        "plan": plan,
        "examples": examples,
        "further": max(0, len(ids) - EXAMPLES),
        "action": reverse(f"admin:deliveries_delivery_{act.name}"),
    }
    status = 400 if form.errors else 200
    return TemplateResponse(request, "support/act.html", context, status=status)


def _replay_plan(ids: Sequence[int]) -> _Plan:
    prospects = ledger.prospects(ids, key_lifetime=Policy.from_settings().key_lifetime)
    cases = Counter(prospect.case for prospect in prospects)
    return _Plan(
        anew=cases[Case.ANEW],
        same=cases[Case.SAME],
        same_until=min(filter(None, (p.key_known_until for p in prospects)), default=None),
        unknown=cases[Case.UNKNOWN],
        cancelled=0,
        skipped=_reasons(prospects),
    )


def _cancel_plan(ids: Sequence[int]) -> _Plan:
    found = Delivery.objects.filter(pk__in=list(ids)).values_list("status", flat=True)
    able = sum(status in CANCEL.works_on for status in found)
    skipped = [("running, sent or cancelled already", len(ids) - able)] if able < len(ids) else []
    return _Plan(anew=0, same=0, same_until=None, unknown=0, cancelled=able, skipped=skipped)


def _reasons(prospects: Sequence[Prospect]) -> list[tuple[str, int]]:
    return Counter(p.why_not for p in prospects if p.case is None).most_common()


def _report(admin: "ModelAdmin[Any]", request: HttpRequest, act: Act, batch: Batch) -> None:
    """Say "3 replayed, 2 skipped: already running", and where to see them all."""
    reasons = Counter(batch.skipped.values()).most_common()
    skipped = "; ".join(f"{count:,} skipped: {why}" for why, count in reasons)
    sentence = ", ".join(part for part in (f"{len(batch.done):,} {act.done}", skipped) if part)
    level = messages.WARNING if batch.skipped else messages.SUCCESS
    if len(batch.done) > 1:
        address = f"{reverse('admin:deliveries_delivery_changelist')}?q={correlation.current_id()}"
        said = format_html('{}. <a href="{}">See what becomes of them</a>.', sentence, address)
        admin.message_user(request, said, level)
    else:
        admin.message_user(request, f"{sentence}.", level)


def _list(back: str) -> str:
    """Return the address of the list that `back` names: "deadletter?kind=invoice"."""
    name, _, query = back.partition("?")
    if name not in {"delivery", "deadletter"}:
        name = "deadletter"
    return f"{reverse(f'admin:deliveries_{name}_changelist')}?{query}"
