"""Who may see and do what. Another organization's object is 404, always."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from django.contrib.auth.models import User
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.db.models import Model, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import get_object_or_404, render

from deliveries.models import Delivery
from invoices.models import Customer, Invoice, Member

# A form names the organization it was made in, whatever another tab has chosen since; and so does
# all that htmx asks for on a page's behalf.
ORGANIZATION_OF_FORM = "in_organization"
ORGANIZATION_OF_PAGE = "X-Organization"

# The session remembers which of a user's organizations the pages are about.
ORGANIZATION_IN_SESSION = "organization"

View = Callable[..., HttpResponseBase]
M = TypeVar("M", bound=Model)


class MemberRequest(HttpRequest):
    """A request by somebody who is a member of the organization it is about."""

    member: Member
    user: User


class BelongsElsewhere(Http404):
    """The object is another organization's, of which the user is a member as well."""

    def __init__(self, there: Member) -> None:
        super().__init__()
        self.there = there


def member_required(view: View) -> View:
    """Let members in, as `request.member`; send strangers to the login form.

    A user of several organizations works in the one that a posted form names, or the page that
    htmx asks for, else in the one chosen in the session, else in the first.
    """
    guarded = _as_member(view)

    @wraps(view)
    def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not request.user.is_authenticated:
            return redirect_to_login(request.get_full_path())
        return guarded(request, *args, **kwargs)

    return wrapped


def api_member_required(view: View) -> View:
    """Let members in, as `request.member`; a program that is a stranger gets a 401."""
    guarded = _as_member(view)

    @wraps(view)
    def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not wants_json(request):
            return member_required(view)(request, *args, **kwargs)
        if not request.user.is_authenticated:
            return error(401, "unauthorized", "Log in, or send a valid bearer token.")
        try:
            return guarded(request, *args, **kwargs)
        except Http404:
            return error(404, "not_found", "There is no such thing in your organization.")
        except PermissionDenied as denied:
            return error(403, "forbidden", str(denied))

    return wrapped


def sender_only(view: View) -> View:
    """Refuse viewers with a 403; stands under one of the decorators above."""

    @wraps(view)
    def wrapped(request: MemberRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        _refuse_viewers(request)
        return view(request, *args, **kwargs)

    return wrapped


def sender_to_change(view: View) -> View:
    """Let all members look, and refuse viewers who post with a 403."""

    @wraps(view)
    def wrapped(request: MemberRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if request.method == "POST":
            _refuse_viewers(request)
        return view(request, *args, **kwargs)

    return wrapped


def _refuse_viewers(request: MemberRequest) -> None:
    if not request.member.may_send:
        raise PermissionDenied("Viewers may look, but not send or change anything.")


def owner_only(view: View) -> View:
    """Refuse all but owners with a 403; stands where `sender_only` does."""

    @wraps(view)
    def wrapped(request: MemberRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        _refuse_all_but_owners(request)
        return view(request, *args, **kwargs)

    return wrapped


def owner_to_change(view: View) -> View:
    """Let all members look, and refuse all but owners who post with a 403."""

    @wraps(view)
    def wrapped(request: MemberRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if request.method == "POST":
            _refuse_all_but_owners(request)
        return view(request, *args, **kwargs)

    return wrapped


def _refuse_all_but_owners(request: MemberRequest) -> None:
    # A token that leaked must not name another bank account.
    _refuse_programs(request)
    if not request.member.may_configure:
        raise PermissionDenied("Only owners of the organization may do this.")


def person_only(view: View) -> View:
    """Refuse programs with a 403: a token that leaked must not make itself another one."""

    @wraps(view)
    def wrapped(request: MemberRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        _refuse_programs(request)
        return view(request, *args, **kwargs)

    return wrapped


def _refuse_programs(request: MemberRequest) -> None:
    if getattr(request, "token_member", None) is not None:
        raise PermissionDenied("Only a person who is logged in may do this.")


def _as_member(view: View) -> View:
    @wraps(view)
    def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        member = _member(request)
        if member is None:
            return _no_member(request)
        cast(MemberRequest, request).member = member
        try:
            return view(request, *args, **kwargs)
        except BelongsElsewhere as elsewhere:
            return _belongs_elsewhere(cast(MemberRequest, request), elsewhere.there)

    return wrapped


def _no_member(request: HttpRequest) -> HttpResponse:
    """Tell a person who belongs nowhere what is missing. A 404, as for everything not theirs."""
    belongs = Member.objects.filter(
        user_id=request.user.pk or 0, organization__closed_at__isnull=True
    )
    if wants_json(request) or is_htmx(request) or belongs.exists():
        raise Http404("You are not a member of any organization.")
    user = cast(User, request.user)
    may_make = user.is_staff and user.has_perms(
        ["invoices.add_organization", "invoices.add_member"]
    )
    context = {"makes_organizations": may_make}
    return render(request, "invoices/no_organization.html", context, status=404)


def _belongs_elsewhere(request: MemberRequest, there: Member) -> HttpResponse:
    """Offer to switch. Still a 404: in the organization of this request there is no such thing."""
    context = {"member": request.member, "there": there.organization}
    return render(request, "invoices/elsewhere.html", context, status=404)


def object_or_404(request: MemberRequest, objects: QuerySet[M], pk: int) -> M:
    """Return one of the organization's rows. Raise `Http404`, `BelongsElsewhere` among it."""
    found = objects.filter(pk=pk, organization=request.member.organization).first()
    if found is not None:
        return found
    if there := _member_elsewhere(request, objects.filter(pk=pk)):
        raise BelongsElsewhere(there)
    raise Http404


def _member_elsewhere(request: MemberRequest, objects: QuerySet[M]) -> Member | None:
    """Return the user's place in the organization of a page that a person asked for."""
    is_page = request.method in {"GET", "HEAD"} and not is_htmx(request) and not wants_json(request)
    if not is_page or getattr(request, "token_member", None) is not None:
        return None
    return (
        Member.objects.filter(
            user=request.user,
            organization__in=objects.values("organization"),
            organization__closed_at__isnull=True,
        )
        .select_related("organization")
        .first()
    )


def invoice_or_404(request: MemberRequest, invoice_id: int) -> Invoice:
    return object_or_404(
        request, Invoice.objects.select_related("organization", "customer"), invoice_id
    )


def customer_or_404(request: MemberRequest, customer_id: int) -> Customer:
    return object_or_404(request, Customer.objects.all(), customer_id)


def delivery_or_404(request: MemberRequest, delivery_id: int) -> Delivery:
    return get_object_or_404(Delivery, pk=delivery_id, organization=request.member.organization)


def wants_json(request: HttpRequest) -> bool:
    """Tell programs from browsers: anything that does not ask for HTML gets JSON."""
    return "text/html" not in request.headers.get("Accept", "") and not is_htmx(request)


def is_htmx(request: HttpRequest) -> bool:
    return request.headers.get("HX-Request") == "true"


def error(status: int, code: str, message: str) -> HttpResponse:
    response = JsonResponse({"error": {"code": code, "message": message}}, status=status)
    if status == 401:
        response.headers["WWW-Authenticate"] = "Bearer"
    return response


def _member(request: HttpRequest) -> Member | None:
    token_member: Member | None = getattr(request, "token_member", None)
    if token_member is not None:
        return token_member
    memberships = list(
        Member.objects.filter(user_id=request.user.pk or 0, organization__closed_at__isnull=True)
        .select_related("organization", "user")
        .order_by("pk")
    )
    if slug := _named(request):
        return _of_form(request, slug, memberships)
    chosen = request.session.get(ORGANIZATION_IN_SESSION)
    return next(
        (member for member in memberships if member.organization_id == chosen),
        memberships[0] if memberships else None,
    )


def _named(request: HttpRequest) -> str:
    of_form: str = request.POST.get(ORGANIZATION_OF_FORM, "")
    return of_form or (request.headers.get(ORGANIZATION_OF_PAGE, "") if is_htmx(request) else "")


def _of_form(request: HttpRequest, slug: str, memberships: list[Member]) -> Member | None:
    """Return the place in the organization that a form names; the pages after it go on there."""
    named = next((each for each in memberships if each.organization.slug == slug), None)
    if named is not None and not is_htmx(request):
        request.session[ORGANIZATION_IN_SESSION] = named.organization_id
    return named
