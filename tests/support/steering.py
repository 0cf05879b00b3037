"""Short words for what people do to lanes in the admin, and for what its pages say."""

import html
import re
from datetime import timedelta
from typing import Any

from django.test import Client
from django.utils import timezone

from deliveries.models import Lane

LIST = "/admin/deliveries/lane/"
PAGE = f"{LIST}email/change/"
PAUSE = f"{LIST}email/pause/"
RESUME = f"{LIST}email/resume/"
HOUR = timedelta(hours=1)


def text(answer: Any) -> str:
    """Return the page's words, without its markup."""
    assert answer.status_code == 200
    words = html.unescape(re.sub(r"<[^>]+>", " ", answer.content.decode()))
    return re.sub(r"\s+", " ", words)


def pause(client: Client, reason: str = "Maintenance.", duration: str = "1h") -> Any:
    return client.post(PAUSE, {"pause-reason": reason, "pause-duration": duration})


def resume(client: Client, reason: str = "It is over.") -> Any:
    return client.post(RESUME, {"resume-reason": reason})


def left() -> timedelta:
    until = Lane.objects.get(pk="email").paused_until
    assert until is not None
    return until - timezone.now()
