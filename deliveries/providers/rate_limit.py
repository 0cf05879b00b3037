"""Reading RateLimit headers (IETF draft 6, draft-ietf-httpapi-ratelimit-headers)."""

import re
from collections.abc import Mapping

_LIMIT = re.compile(r"\s*(\d{1,9})\s*(?:[,;]|$)", re.ASCII)
_WINDOW = re.compile(r";\s*w=(\d{1,9})\b", re.ASCII)


def per_second(headers: Mapping[str, str]) -> float | None:
    """Return the requests per second that the headers allow; None if they do not say.

    `RateLimit-Limit` is a number of requests in a window; how long that is, `RateLimit-Policy` or
    a parameter of the limit says (`5;w=1`), and else it is a second.
    """
    said = headers.get("RateLimit-Limit", "")
    limit = _LIMIT.match(said)
    if limit is None or int(limit[1]) == 0:
        return None
    window = _WINDOW.search(headers.get("RateLimit-Policy", "")) or _WINDOW.search(said)
    seconds = int(window[1]) if window else 1
    return int(limit[1]) / seconds if seconds else None
