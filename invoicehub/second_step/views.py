"""The pages of the second step: asked for a code, and where staff set it up."""

from collections.abc import Callable
from functools import wraps
from typing import cast

import django_otp
import segno
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django_otp.models import Device
from django_otp.plugins.otp_totp.models import TOTPDevice

from invoicehub.second_step import devices, waiting
from invoicehub.second_step.forms import CodeForm
from invoices.methods import only

View = Callable[[HttpRequest], HttpResponse]


def staff_person(view: View) -> View:
    """Let staff in who are logged in at a browser; a program's token is nobody here."""

    @wraps(view)
    def wrapped(request: HttpRequest) -> HttpResponse:
        if not request.user.is_staff or hasattr(request, "token_member"):
            raise PermissionDenied(_("Only staff log in by two steps."))
        return view(request)

    return login_required(wrapped)


@only("GET", "HEAD", "POST")
@never_cache
@staff_person
def second_step(request: HttpRequest) -> HttpResponse:
    user = _person(request)
    if devices.has_passed(request) or not devices.is_set_up(user):
        return redirect(_next(request))
    form = CodeForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        if device := devices.check(user, form.cleaned_data["code"]):
            _pass(request, device)
            return redirect(_next(request))
        form.refuse()
    shown = {"form": form, "next": _next(request), "waits": waiting.sentences(user)}
    return render(request, "second_step/ask.html", shown)


@only("GET", "HEAD", "POST")
@never_cache
@staff_person
def set_up(request: HttpRequest) -> HttpResponse:
    """Show the app's key, and take the app into use with its first code."""
    user = _person(request)
    if devices.is_set_up(user):
        return _overview(request, user)
    form = CodeForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        if confirmed := devices.confirm(user, form.cleaned_data["code"]):
            app, codes = confirmed
            _pass(request, app)
            return _codes_page(request, codes)
        form.refuse()
    shown = _shown(devices.app_to_set_up(user)) | {
        "form": form,
        "next": _next(request),
        "waits": waiting.sentences(user, confirmed=False),
    }
    return render(request, "second_step/set_up.html", shown)


@only("POST")
@never_cache
@staff_person
def renew_codes(request: HttpRequest) -> HttpResponse:
    return _with_a_code(
        request, lambda user: _codes_page(request, devices.renew_backup_codes(user))
    )


@only("POST")
@never_cache
@staff_person
def turn_off(request: HttpRequest) -> HttpResponse:
    def off(user: User) -> HttpResponse:
        devices.give_up(user)
        messages.success(request, _("You log in with your password alone from now on."))
        return redirect("second_step_setup")

    return _with_a_code(request, off)


def _with_a_code(request: HttpRequest, act: Callable[[User], HttpResponse]) -> HttpResponse:
    """Act only for whoever holds the app now: a browser left open is not enough."""
    form = CodeForm(request.POST)
    user = _person(request)
    if form.is_valid() and devices.check(user, form.cleaned_data["code"]):
        return act(user)
    refusal = _(
        "This code was not taken: it is wrong, was used before, or came too early. "
        "Nothing was changed."
    )
    messages.error(request, " ".join([refusal, *waiting.sentences(user)]))
    return redirect("second_step_setup")


def _overview(request: HttpRequest, user: User) -> HttpResponse:
    if not devices.has_passed(request):
        return cast(
            HttpResponse, redirect_to_login(reverse("second_step_setup"), reverse("second_step"))
        )
    left = devices.codes_left(user)
    shown = {"left": left, "few": left < 3, "required": settings.REQUIRE_STAFF_TOTP}
    return render(request, "second_step/overview.html", shown)


def _codes_page(request: HttpRequest, codes: list[str]) -> HttpResponse:
    return render(request, "second_step/codes.html", {"codes": codes, "next": _next(request)})


def _shown(app: TOTPDevice) -> dict[str, str]:
    picture = segno.make(app.config_url, error="m")
    key = app.config_url.partition("secret=")[2].partition("&")[0]
    return {
        "picture": picture.svg_data_uri(scale=5, border=4, light="#fff"),
        "key": " ".join(key[at : at + 4] for at in range(0, len(key), 4)),
    }


def _pass(request: HttpRequest, device: Device) -> None:
    # Whoever knew the session's key before must not be let in with its owner.
    request.session.cycle_key()
    django_otp.login(request, device)


def _person(request: HttpRequest) -> User:
    return User.objects.get(username=request.user.get_username())


def _next(request: HttpRequest) -> str:
    wanted = request.POST.get("next") or request.GET.get("next") or ""
    safe = url_has_allowed_host_and_scheme(
        wanted, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return wanted if safe else reverse("home")
