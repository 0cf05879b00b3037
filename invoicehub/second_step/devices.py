"""A person's authenticator app and backup codes: set up, asked, renewed, given up."""

import logging
import re
from base64 import b32encode

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, User
from django.db import transaction
from django.http import HttpRequest
from django.utils.crypto import salted_hmac
from django_otp.models import Device
from django_otp.plugins.otp_static.models import StaticDevice, StaticToken
from django_otp.plugins.otp_totp.models import TOTPDevice

from invoicehub.second_step import waiting

logger = logging.getLogger(__name__)

BACKUP_CODES = 10
_APP_CODE = re.compile(r"[0-9]{6}")


def has_passed(request: HttpRequest) -> bool:
    """Tell whether this session has proven a device; OTPMiddleware looks it up, once."""
    return getattr(request.user, "otp_device", None) is not None


def is_set_up(user: AbstractBaseUser | AnonymousUser) -> bool:
    return bool(TOTPDevice.objects.filter(user_id=user.pk, confirmed=True).exists())


def has_any(user: User) -> bool:
    """Tell whether there is something to give up: an app, waiting or in use, or backup codes."""
    return any(model.objects.filter(user=user).exists() for model in (TOTPDevice, StaticDevice))


def app_to_set_up(user: User) -> TOTPDevice:
    """Return the app that waits for its first code; the same one until it is confirmed."""
    with transaction.atomic():
        _only_one_at_a_time(user)
        waiting = TOTPDevice.objects.filter(user=user, confirmed=False).first()
        return waiting or TOTPDevice.objects.create(user=user, name="app", confirmed=False)


def confirm(user: User, code: str) -> tuple[TOTPDevice, list[str]] | None:
    """Take the app into use if the code is its own; return it and the backup codes.

    One transaction; None, too, if there is an app in use already.
    """
    app = app_to_set_up(user)
    if not waiting.verified(user, app, _plain(code)):
        return None
    with transaction.atomic():
        _only_one_at_a_time(user)
        if is_set_up(user):
            return None
        TOTPDevice.objects.filter(pk=app.pk).update(confirmed=True)
        StaticDevice.objects.filter(user=user).delete()
        codes = _new_backup_codes(user)
    app.refresh_from_db()
    logger.info("second step set up", extra={"user": user.pk})
    return app, codes


def check(user: User, code: str) -> Device | None:
    """Return the device that the code proves, which spends the code.

    Digits are for the app, all else for the backup codes: whoever guesses at the one does not hold
    up the other. After a wrong code, a device takes none for a while: see `waiting`.
    """
    plain = _plain(code)
    of_the_app = _APP_CODE.fullmatch(plain) is not None
    model = TOTPDevice if of_the_app else StaticDevice
    for device in model.objects.filter(user=user, confirmed=True):
        given = plain if of_the_app else _as_kept(plain, user)
        if waiting.verified(user, device, given):
            logger.info("second step passed", extra={"user": user.pk, "by": model.__name__})
            return device
    logger.warning("second step failed", extra={"user": user.pk})
    return None


def renew_backup_codes(user: User) -> list[str]:
    """Make new backup codes and end the old ones; they are seen this once."""
    with transaction.atomic():
        _only_one_at_a_time(user)
        codes = _new_backup_codes(user)
    logger.info("backup codes renewed", extra={"user": user.pk})
    return codes


def codes_left(user: User) -> int:
    return int(StaticToken.objects.filter(device__user=user).count())


def give_up(user: User) -> None:
    """Forget the person's app and backup codes; one transaction."""
    with transaction.atomic():
        _only_one_at_a_time(user)
        TOTPDevice.objects.filter(user=user).delete()
        StaticDevice.objects.filter(user=user).delete()
    logger.warning("second step given up", extra={"user": user.pk})


def _new_backup_codes(user: User) -> list[str]:
    # The device stays: the session that passed by one of its codes has passed still.
    device, _ = StaticDevice.objects.update_or_create(
        user=user,
        name="backup codes",
        defaults={"throttling_failure_count": 0, "throttling_failure_timestamp": None},
    )
    StaticToken.objects.filter(device__user=user).delete()
    codes = [StaticToken.random_token() for _ in range(BACKUP_CODES)]
    StaticToken.objects.bulk_create(
        StaticToken(device=device, token=_stored(code)) for code in codes
    )
    return [f"{code[:4]}-{code[4:]}" for code in codes]


def _stored(code: str, secret: str | None = None) -> str:
    """What is kept of a backup code: nothing that could be typed in."""
    digest = salted_hmac("invoicehub.second_step", code, secret, algorithm="sha256").digest()
    return b32encode(digest[:10]).decode().lower()


def _as_kept(code: str, user: User) -> str:
    """What is kept of the person's code: made under the key of today, or under one of before."""
    of_before = [_stored(code, secret) for secret in settings.SECRET_KEY_FALLBACKS]
    kept = StaticToken.objects.filter(device__user=user, token__in=of_before).first()
    return str(kept.token) if kept else _stored(code)


def _plain(code: str) -> str:
    return re.sub(r"[\s-]", "", code).lower()


def _only_one_at_a_time(user: User) -> None:
    User.objects.select_for_update(no_key=True).get(pk=user.pk)
