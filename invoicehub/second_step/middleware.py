"""Holds up whoever owes the second step; see `devices`."""

from collections.abc import Callable

from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.auth.signals import user_logged_in
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django_htmx.http import HttpResponseClientRefresh
from django_otp import DEVICE_ID_SESSION_KEY

from invoicehub.second_step import devices
from invoices.access import error, is_htmx, wants_json

_OPEN = {"login", "logout", "second_step", "healthz", "readyz", "admin:login", "admin:logout"}


class SecondStep:
    """Lead staff who have an app to the page that asks for its code, until this session gave one.

    It goes by what is so now, not by what was so at the login: a session from before the app was
    set up is asked like any other. With REQUIRE_STAFF_TOTP, lead staff without an app from the
    admin to where it is set up.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(self, request: HttpRequest, view: object, *_: object) -> HttpResponse | None:
        match = request.resolver_match
        if match is None or match.view_name in _OPEN or hasattr(request, "token_member"):
            return None
        if settings.SESSION_COOKIE_NAME not in request.COOKIES:
            return None
        if not request.user.is_staff or devices.has_passed(request):
            return None
        if devices.is_set_up(request.user):
            return _ask(request, "second_step")
        if settings.REQUIRE_STAFF_TOTP and match.app_name == "admin":
            return _ask(request, "second_step_setup")
        return None


def _ask(request: HttpRequest, page: str) -> HttpResponse:
    if is_htmx(request):
        return HttpResponseClientRefresh()
    if wants_json(request):
        return error(403, "second_step_required", "Enter the code of your authenticator app first.")
    back = request.get_full_path() if request.method in {"GET", "HEAD"} else reverse("home")
    return redirect_to_login(back, reverse(page))


def begin_anew(sender: object, request: HttpRequest | None, user: User, **_: object) -> None:
    """After a password, forget that the session of before had passed."""
    if request is not None:
        request.session.pop(DEVICE_ID_SESSION_KEY, None)


user_logged_in.connect(begin_anew, dispatch_uid="invoicehub.second_step")
