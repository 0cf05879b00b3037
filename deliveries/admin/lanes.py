"""Lanes: how full they are, whether they stand and why; operations pause and resume them."""

from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.utils import quote, unquote
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html

from deliveries import overview
from deliveries.admin.readonly import ReadOnlyAdmin
from deliveries.admin.steering import PauseForm, ResumeForm, SteerForm
from deliveries.ledger.lanes import is_open_ended
from deliveries.models import Lane, LaneEvent
from deliveries.overview import LaneNow

HISTORY_SHOWN = 50
STEER = "deliveries.steer_lane"
UNTIL_RESUMED = "until somebody resumes it"
FORMS: dict[str, type[SteerForm]] = {"pause": PauseForm, "resume": ResumeForm}


class LanesNow(ChangeList):
    """The page's lanes with their numbers, read for all of them at once."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        numbers = {lane.name: lane for lane in overview.lanes()}
        # One that was made since the list was read has no numbers yet.
        self.result_list = [lane for lane in self.result_list if lane.pk in numbers]
        for lane in self.result_list:
            lane.numbers = numbers[lane.pk]


@admin.register(Lane)
class LaneAdmin(ReadOnlyAdmin):
    list_display = ["name", "state", "running", "waiting", "oldest", "until", "why", "rate"]
    ordering = ["name"]
    # No column is one of the table's by which a person would sort.
    sortable_by = ["name"]

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return LanesNow

    @admin.display(description="state")
    def state(self, lane: Lane) -> str:
        return format_html('<span class="pill pill-{}">{}</span>', *state_of(numbers_of(lane)))

    @admin.display(description="running, of limit")
    def running(self, lane: Lane) -> str:
        numbers = numbers_of(lane)
        return f"{numbers.running} of {numbers.limit}"

    @admin.display(description="rate", empty_value="no limit")
    def rate(self, lane: Lane) -> str | None:
        return numbers_of(lane).rate_in_words or None

    @admin.display(description="waiting")
    def waiting(self, lane: Lane) -> str:
        numbers = numbers_of(lane)
        if not numbers.retrying:
            return str(numbers.waiting)
        return f"{numbers.waiting} ({numbers.retrying} retrying)"

    @admin.display(description="oldest waits for", empty_value="nothing waits")
    def oldest(self, lane: Lane) -> str | None:
        return numbers_of(lane).oldest_in_words or None

    @admin.display(description="paused")
    def until(self, lane: Lane) -> str | None:
        pause = numbers_of(lane).pause
        return until_in_words(pause) if pause else None

    @admin.display(description="why")
    def why(self, lane: Lane) -> str | None:
        pause = numbers_of(lane).pause
        return f"{pause.reason} ({pause.by or 'a worker'})" if pause else None

    def get_urls(self) -> list[URLPattern]:
        steering = [
            path(
                f"<path:object_id>/{what}/",
                self.admin_site.admin_view(self.steer),
                {"what": what},
                name=f"deliveries_lane_{what}",
            )
            for what in FORMS
        ]
        return [*steering, *super().get_urls()]

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Show the lane with its numbers, its history, and what the person may do to it."""
        if request.method not in ("GET", "HEAD") or not self.has_view_permission(request):
            raise PermissionDenied
        return self._page(request, unquote(object_id))

    def steer(self, request: HttpRequest, object_id: str, what: str) -> HttpResponse:
        """Pause or resume as the form says; show it again where it is not filled in well."""
        if not (self.has_view_permission(request) and request.user.has_perm(STEER)):
            raise PermissionDenied
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        name = unquote(object_id)
        if not Lane.objects.filter(pk=name).exists():
            raise Http404
        form = FORMS[what](request.POST)
        if not form.is_valid():
            return self._page(request, name, {f"{what}_form": form})
        form.apply(name, actor_id=request.user.pk or 0)
        self.message_user(request, self._outcome(name), messages.SUCCESS)
        return redirect(reverse("admin:deliveries_lane_change", args=[quote(name)]))

    def _outcome(self, name: str) -> str:
        lane = overview.lane(name)
        if lane and lane.pause:
            return f"Lane {name} is paused {until_in_words(lane.pause)}."
        return f"Lane {name} is not paused: its deliveries go on."

    def _page(
        self, request: HttpRequest, name: str, forms: dict[str, SteerForm] | None = None
    ) -> HttpResponse:
        lane = overview.lane(name)
        if lane is None:
            raise Http404
        context = {
            **self.admin_site.each_context(request),
            "title": f"Lane {name}",
            "opts": self.opts,
            "lane": lane,
            "state": state_of(lane),
            "history": history(name) if may_see_history(request) else None,
            "may_steer": request.user.has_perm(STEER),
            "address": quote(name),
            "pause_form": PauseForm(),
            "resume_form": ResumeForm(),
            **(forms or {}),
        }
        return TemplateResponse(request, "support/lane.html", context)


def numbers_of(lane: Lane) -> LaneNow:
    """Return what `LanesNow` read for this row of the list."""
    numbers: LaneNow = lane.numbers  # type: ignore[attr-defined]
    return numbers


def state_of(lane: LaneNow) -> tuple[str, str]:
    """Return the lane's tone and state, loudest first."""
    if lane.pause:
        return "bad", "Paused"
    if lane.probing:
        return "wait", "Provider fails, one at a time"
    if lane.running:
        return "busy", "Sending"
    return "good", "Open"


def until_in_words(pause: overview.Pause) -> str:
    return UNTIL_RESUMED if pause.open_ended else f"until {pause.until:%-d %b %Y, %H:%M} UTC"


def may_see_history(request: HttpRequest) -> bool:
    return request.user.has_perm("deliveries.view_laneevent")


def history(name: str) -> list[tuple[LaneEvent, bool]]:
    """Return the lane's newest events, each with whether its pause had no end of its own."""
    events: QuerySet[LaneEvent] = LaneEvent.objects.filter(lane=name).select_related("actor")
    return [
        (event, event.until is not None and is_open_ended(event.until, now=event.at))
        for event in events.order_by("-id")[:HISTORY_SHOWN]
    ]
