"""Bearer tokens for other programs: each acts as one member of one organization."""

import hashlib
import secrets
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from invoices.access import error
from invoices.models import ApiToken, Member

PREFIX = "ih_"


def issue(member: Member, *, name: str) -> str:
    """Make a token and return it; only its hash is stored, so this is the only time it is seen."""
    token = PREFIX + secrets.token_urlsafe(32)
    ApiToken.objects.create(member=member, name=name, token_hash=_hash(token))
    return token


def _hash(token: str) -> str:
    # Tokens are 256 random bits: a plain hash cannot be guessed backwards.
    return hashlib.sha256(token.encode()).hexdigest()


def _member_of(token: str) -> Member | None:
    found = (
        ApiToken.objects.select_related("member__organization", "member__user")
        .filter(
            token_hash=_hash(token),
            revoked_at__isnull=True,
            member__user__is_active=True,
            member__organization__closed_at__isnull=True,
        )
        .first()
    )
    return found.member if found else None


class BearerTokenMiddleware:
    """Authenticates `Authorization: Bearer …`; a wrong token is 401, never an anonymous request."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            return self.get_response(request)
        member = _member_of(token.strip())
        if member is None:
            return error(401, "invalid_token", "The bearer token is unknown or revoked.")
        request.token_member = member  # type: ignore[attr-defined]
        # A token is not sent by a browser of its own accord, so there is nothing to forge.
        request._dont_enforce_csrf_checks = True  # type: ignore[attr-defined]
        return self.get_response(request)


class TokenUserMiddleware:
    """Makes the token's user the request's user; stands after the session's authentication."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        member: Member | None = getattr(request, "token_member", None)
        if member is not None:
            request.user = member.user
        return self.get_response(request)
