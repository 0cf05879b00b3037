"""A signed cookie that says who has logged in in this browser before; see `throttle`."""

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.utils.crypto import get_random_string, salted_hmac

_SALT = "invoicehub.known_browsers"
_MOST_NAMES = 8  # A shared computer; who logged in longest ago goes first.
_AGE_SECONDS = 180 * 86400


def browser_of(request: HttpRequest, name: str) -> str:
    """Return the browser's id if the name has logged in there before, else ""."""
    browser, names = _read(request)
    keys = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    return browser if any(_mark(name, key) in names for key in keys) else ""


def remember(request: HttpRequest, response: HttpResponse, name: str) -> None:
    browser, names = _read(request)
    mark = _mark(name)
    names = [*(known for known in names if known != mark), mark][-_MOST_NAMES:]
    value = signing.dumps([browser or get_random_string(22), names], salt=_SALT)
    response.set_cookie(
        settings.KNOWN_BROWSER_COOKIE_NAME,
        value,
        max_age=_AGE_SECONDS,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def _read(request: HttpRequest) -> tuple[str, list[str]]:
    given = request.COOKIES.get(settings.KNOWN_BROWSER_COOKIE_NAME, "")
    try:
        browser, names = signing.loads(given, salt=_SALT, max_age=_AGE_SECONDS)
    except signing.BadSignature:
        return "", []
    return browser, names


def _mark(name: str, key: str | None = None) -> str:
    return salted_hmac(_SALT, name, key, algorithm="sha256").hexdigest()[:24]
