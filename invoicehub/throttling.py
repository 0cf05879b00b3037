"""The throttle as a decorator, for every view that takes a name and a password."""

import logging
from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.contrib.auth.signals import user_logged_in
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils.translation import ngettext

from invoicehub import callers, known_browsers, throttle
from invoices.access import error, wants_json

logger = logging.getLogger(__name__)

View = Callable[..., HttpResponseBase]


def throttled(view: View) -> View:
    """Answer 429 in the view's place once `username` was tried too often."""

    @wraps(view)
    def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if request.method != "POST":
            return view(request, *args, **kwargs)
        name = throttle.counted_as(request.POST.get("username", ""))
        attempt = throttle.counters(
            name,
            network=callers.network_of(request),
            browser=known_browsers.browser_of(request, name),
        )
        if wait := throttle.count(attempt):
            return _refusal(request, wait)
        response = view(request, *args, **kwargs)
        _judge(request, response, name, attempt)
        return response

    return wrapped


def _judge(
    request: HttpRequest,
    response: HttpResponseBase,
    name: str,
    attempt: tuple[throttle.Counter, ...],
) -> None:
    """Take the attempt back if it logged its own name in."""
    # Not `request.user`: whoever was logged in before could so excuse guesses at other names.
    user = getattr(request, "logged_in_now", None)
    if user is None or throttle.folded(user.get_username()) != name:
        logger.warning("login failed")
        return
    throttle.take_back(attempt)
    if isinstance(response, HttpResponse):
        known_browsers.remember(request, response, name)


def _refusal(request: HttpRequest, seconds: int) -> HttpResponse:
    logger.warning("login refused: too many failures", extra={"wait_seconds": seconds})
    minutes = -(-seconds // 60)
    sentence = ngettext(
        "Too many attempts to log in failed. Wait a minute, then try again.",
        "Too many attempts to log in failed. Wait %(minutes)s minutes, then try again.",
        minutes,
    ) % {"minutes": minutes}
    if wants_json(request):
        response = error(429, "too_many_attempts", sentence)
    else:
        response = render(request, "429.html", {"sentence": sentence}, status=429)
    response.headers["Retry-After"] = str(seconds)
    response.headers["Cache-Control"] = "no-store"
    return response


def note_login(
    sender: object, request: HttpRequest | None, user: AbstractBaseUser, **_: object
) -> None:
    """Mark the request that logged somebody in; connected when the app is ready."""
    if request is not None:
        request.logged_in_now = user  # type: ignore[attr-defined]


user_logged_in.connect(note_login, dispatch_uid="invoicehub.throttling")
