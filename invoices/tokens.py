"""Bearer tokens for other programs: each acts as one member of one organization."""

import hashlib
import logging
import secrets
from collections.abc import Callable

from django.conf import settings
from django.db import transaction
from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from invoices.access import error
from invoices.models import ApiToken, Member

logger = logging.getLogger(__name__)

PREFIX = "ih_"
MOST = 50


def issue(member: Member, *, name: str) -> str:
    """Make a token and return it; only its hash is stored, so this is the only time it is seen."""
    token = PREFIX + secrets.token_urlsafe(32)
    ApiToken.objects.create(member=member, name=name, token_hash=_hash(token))
    return token


class NotIssued(Exception):
    """The token was not made; the text says why."""


def issue_one(member: Member, *, name: str) -> str:
    """Make a token by a name that no other of the member's has; one transaction.

    So a form that is posted twice makes one token. Raise `NotIssued`.
    """
    with transaction.atomic():
        Member.objects.select_for_update(no_key=True).get(pk=member.pk)
        live = ApiToken.objects.filter(member=member, revoked_at__isnull=True)
        if live.filter(name__iexact=name).exists():
            raise NotIssued(
                _("You have a token called “%s” already: revoke it, or take another name.") % name
            )
        if live.count() >= MOST:
            raise NotIssued(_("You have too many tokens: revoke one first."))
        token = issue(member, name=name)
    logger.info("API token made", extra={"member": member.pk, "user": member.user_id})
    return token


def revoke(token_id: int, *, member: Member) -> bool:
    """End one of the member's own tokens at once; say whether it was alive."""
    revoked = ApiToken.objects.filter(pk=token_id, member=member, revoked_at__isnull=True).update(
        revoked_at=Now()
    )
    if revoked:
        logger.info("API token revoked", extra={"token": token_id, "user": member.user_id})
    return bool(revoked)


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
        scheme, _space, token = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer" or request.path in settings.API_TOKENS_NOT_AT:
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
