"""What a person may do to deliveries: replay and cancel, each with a reason, on one or on many.

First a page that says what would happen and asks why; then the act, on exactly the rows of that
page, which carries their ids and the moment it was made. So a list that changes meanwhile, a
second click and a second person do no harm.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from django.contrib import messages
from django.contrib.admin import ModelAdmin
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html

from deliveries import correlation, directory, ledger
from deliveries.admin.acts import MOST, Act, ActForm
from deliveries.ledger import Batch
from deliveries.models import Delivery

EXAMPLES = 10


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
    form = act.form(
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
        form = act.form(request.POST)
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


def _page(
    admin: "ModelAdmin[Any]", request: HttpRequest, act: Act, form: ActForm, ids: Sequence[int]
) -> HttpResponse:
    plan = act.plan(ids)
    if form.is_bound:
        # The plan is of now, whatever was seen before.
        form.data = {
            **{name: form.data[name] for name in form.data},
            "seen_at": ledger.database_now().isoformat(),
        }
    if not plan.unknown:
        form.fields.pop("confirmed", None)
    context = {
        **admin.admin_site.each_context(request),
        "opts": admin.opts,
        "title": f"{act.button} {len(ids):,} deliveries" if len(ids) != 1 else act.button,
        "act": act,
        "form": form,
        "plan": plan,
        "examples": _examples(ids),
        "further": max(0, len(ids) - EXAMPLES),
        "action": reverse(f"admin:deliveries_delivery_{act.name}"),
    }
    status = 400 if form.errors else 200
    return TemplateResponse(request, "support/act.html", context, status=status)


def _examples(ids: Sequence[int]) -> list[Any]:
    """Return the first deliveries, each with what still stands in its way."""
    examples: list[Any] = list(Delivery.objects.filter(pk__in=ids[:EXAMPLES]).order_by("pk"))
    entries = directory.current().entries({delivery.invoice_id for delivery in examples})
    for delivery in examples:
        delivery.entry = entries.get(delivery.invoice_id)
    return examples


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
