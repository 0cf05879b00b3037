"""Reading Retry-After (RFC 9110, section 10.2.3): seconds, or a date."""

from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime


def parse(value: str | None, *, now: datetime) -> timedelta | None:
    """Return the wait asked for; None if there is none that makes sense."""
    if value is None:
        return None
    text = value.strip()
    if text.isascii() and text.isdigit():
        digits = text.lstrip("0") or "0"
        # Longer numbers overflow a timedelta; the caller caps what is left.
        return timedelta(seconds=int(digits)) if len(digits) <= 9 else timedelta(days=365)
    try:
        at = parsedate_to_datetime(text)
    except (TypeError, ValueError, OverflowError):
        return None
    if at.tzinfo is None:
        at = at.replace(tzinfo=UTC)
    try:
        return max(at - now, timedelta(0))
    except OverflowError:
        return None
