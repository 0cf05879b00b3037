"""Reading RateLimit headers (IETF draft 6, draft-ietf-httpapi-ratelimit-headers)."""

import re
from collections.abc import Mapping

_LIMIT = re.compile(r"\s*(\d{1,9})\s*(?:[,;]|$)", re.ASCII)
_QUOTA = re.compile(r"\s*(\d{1,9})\s*((?:;[^;,]*)*)", re.ASCII)
_WINDOW = re.compile(r";\s*w=(\d{1,9})\s*(?:;|$)", re.ASCII)

# A window of an hour or a day is a quota, which its own error tells of once it is used up: spread
# evenly, it would let one e-mail go in a day, and no answer come that says otherwise.
LONGEST_WINDOW_SECONDS = 60
# So that the next answer, which may say something else, is never far off.
SLOWEST_PER_SECOND = 0.1


def per_second(headers: Mapping[str, str]) -> float | None:
    """Return the requests per second that the headers allow; None if they do not say.

    `RateLimit-Limit` is a number of requests in a window. How long that is, the item of that quota
    in `RateLimit-Policy` or in the limit itself says (`5;w=1`), and else it is a second.
    """
    said = headers.get("RateLimit-Limit", "")
    limit = _LIMIT.match(said)
    if limit is None or int(limit[1]) == 0:
        return None
    seconds = _window(int(limit[1]), f"{headers.get('RateLimit-Policy', '')},{said}")
    if not 0 < seconds <= LONGEST_WINDOW_SECONDS:
        return None
    return max(int(limit[1]) / seconds, SLOWEST_PER_SECOND)


def _window(limit: int, policies: str) -> int:
    """Return the seconds of the first policy with that quota which tells them; 1 if none does."""
    for policy in policies.split(","):
        quota = _QUOTA.match(policy)
        if quota and int(quota[1]) == limit and (window := _WINDOW.search(quota[2])):
            return int(window[1])
    return 1
