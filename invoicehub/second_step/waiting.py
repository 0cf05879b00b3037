"""How long a device takes no code after wrong ones: twice as long each time, up to a limit.

Without a limit whoever knows the password could shut its owner out for days. With it there are at
most 96 guesses a day, with three of 10^6 codes right at any time: docs/security.md does the sum.
"""

import math
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django_otp import verify_token
from django_otp.plugins.otp_static.models import StaticDevice
from django_otp.plugins.otp_totp.models import TOTPDevice

LONGEST_WAIT = timedelta(minutes=15)
# The library waits 2^(n - 1) seconds after n wrong codes: this many keep below the longest wait.
_COUNTED = 10


def verified(user: User, device: TOTPDevice | StaticDevice, code: str) -> bool:
    """Tell whether the code is the device's, which spends it; False as well while none is taken."""
    with transaction.atomic():
        locked = type(device).objects.select_for_update().filter(pk=device.pk, user=user).first()
        if locked is None or seconds_to_wait(locked):
            return False
        if locked.throttling_failure_count > _COUNTED:
            locked.throttling_failure_count = _COUNTED
            locked.save(update_fields=["throttling_failure_count"])
        return verify_token(user, device.persistent_id, code) is not None


def seconds_to_wait(device: TOTPDevice | StaticDevice) -> int:
    """Return how long the device takes no code, not even a right one; 0 if it takes them."""
    allowed, why = device.verify_is_allowed()
    if allowed:
        return 0
    end: datetime = min(why["locked_until"], device.throttling_failure_timestamp + LONGEST_WAIT)
    return max(0, math.ceil((end - timezone.now()).total_seconds()))


def sentences(user: User, *, confirmed: bool = True) -> list[str]:
    """Say which codes of the person are not taken now, and for how long."""
    app = _longest(TOTPDevice, user, confirmed=confirmed)
    backup = _longest(StaticDevice, user, confirmed=confirmed)
    said = []
    if app:
        said.append(_("No code of the app is taken for another %(time)s.") % {"time": _time(app)})
    if backup:
        said.append(_("No backup code is taken for another %(time)s.") % {"time": _time(backup)})
    return said


def _longest(model: type[TOTPDevice | StaticDevice], user: User, *, confirmed: bool) -> int:
    devices = model.objects.filter(user=user, confirmed=confirmed)
    return max((seconds_to_wait(device) for device in devices), default=0)


def _time(seconds: int) -> str:
    if seconds < 60:
        return ngettext("%(n)d second", "%(n)d seconds", seconds) % {"n": seconds}
    minutes = -(-seconds // 60)
    return ngettext("%(n)d minute", "%(n)d minutes", minutes) % {"n": minutes}
