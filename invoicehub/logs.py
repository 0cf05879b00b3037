"""One log line format: JSON in production, readable in development.

A message is a constant sentence; what varies stands in fields. Fields bound by
`deliveries.correlation.bound` are added to every line written inside the block.
"""

import json
import logging
import re
from datetime import UTC, datetime

from deliveries import correlation

_STANDARD = set(vars(logging.makeLogRecord({}))) | {"message", "asctime", "request", "server_time"}
_INVITATION = re.compile(r"(/invitations/)[^\s/?#\"']+")


class CorrelationFilter(logging.Filter):
    """Copy the bound fields onto the record, in the thread that logs it."""

    def filter(self, record: logging.LogRecord) -> bool:
        for name, value in correlation.fields().items():
            if not hasattr(record, name):
                setattr(record, name, value)
        return True


class SecretsFilter(logging.Filter):
    """Strike out what opens something to whoever reads the log: an invitation's token.

    Django logs the address of each request that fails, and its development server all of them.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.args, tuple):
            record.args = tuple(map(_without_secrets, record.args))
        record.msg = _without_secrets(record.msg)
        return True


def _without_secrets(value: object) -> object:
    return _INVITATION.sub(r"\1…", value) if isinstance(value, str) else value


def _own_fields(record: logging.LogRecord) -> dict[str, object]:
    return {
        name: value
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
            line["traceback"] = self.formatException(record.exc_info)
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
            line += "\n" + self.formatException(record.exc_info)
        return line
