"""One log line format: JSON in production, readable in development.

A message is a constant sentence; what varies stands in fields. Fields bound by
`deliveries.correlation.bound` are added to every line written inside the block.
"""

import json
import logging
import re
from datetime import UTC, datetime
from typing import Any

from deliveries import correlation

_STANDARD = set(vars(logging.makeLogRecord({}))) | {"message", "asctime", "request", "server_time"}
# A DNS name has 253 characters at most, and a port six more.
_LONGEST_HOST = 260
_INVITATION = re.compile(r"(/invitations/)[^\s/?#\"']+")
# Every quantifier is bounded: what is logged may be long, and hostile.
_ADDRESS = re.compile(r"[^\s\"'(),:;<>/@\[\]]{1,64}(?:@|%40)[^\s\"'(),:;<>/@?#\[\]]{1,255}")


class CorrelationFilter(logging.Filter):
    """Copy the bound fields onto the record, in the thread that logs it."""

    def filter(self, record: logging.LogRecord) -> bool:
        for name, value in correlation.fields().items():
            if not hasattr(record, name):
                setattr(record, name, value)
        return True


class SecretsFilter(logging.Filter):
    """Strike out what no log should tell: invitations' tokens, and people's e-mail addresses.

    Our own lines hold neither. But Django logs the path of each request that fails, libraries quote
    what they choke on, and PostgreSQL puts the row into the error.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.args, tuple):
            record.args = tuple(map(_without_secrets, record.args))
        record.msg = _without_secrets(record.msg)
        return True


class HostRefusedFilter(logging.Filter):
    """Tell of a Host that is not ours in one line: anybody may send as many of them as he likes."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.levelno, record.levelname = logging.WARNING, "WARNING"
        record.msg, record.args = "host refused: it is not in ALLOWED_HOSTS", ()
        record.exc_info = record.exc_text = record.stack_info = None
        request = getattr(record, "request", None)
        if request is not None:
            record.host = str(request.META.get("HTTP_HOST", ""))[:_LONGEST_HOST]
        return True


def _without_secrets(value: object) -> object:
    if not isinstance(value, str):
        return value
    return _ADDRESS.sub("…@…", _INVITATION.sub(r"\1…", value))


def _told(exc_info: Any, formatter: logging.Formatter) -> str:
    """Return the traceback, which quotes values as errors do."""
    return str(_without_secrets(formatter.formatException(exc_info)))


def _own_fields(record: logging.LogRecord) -> dict[str, object]:
    return {
        name: _without_secrets(value)
        for name, value in vars(record).items()
        if name not in _STANDARD and value not in (None, "")
    }


class JsonFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            **_own_fields(record),
        }
        if record.exc_info:
            line["traceback"] = _told(record.exc_info, self)
        return json.dumps(line, default=str, ensure_ascii=False)


class ConsoleFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        clock = datetime.fromtimestamp(record.created, UTC).strftime("%H:%M:%S.%f")[:-3]
        # repr keeps a line break in a value from forging a second line.
        pairs = " ".join(
            f"{name}={value if str(value).isprintable() else repr(value)}"
            for name, value in _own_fields(record).items()
        )
        line = f"{clock} {record.levelname:<7} {record.getMessage()}  {pairs}".rstrip()
        if record.exc_info:
            line += "\n" + _told(record.exc_info, self)
        return line
