"""Reading a provider's log of sent messages, as exported to CSV."""

import csv
from collections.abc import Iterator
from pathlib import Path

from deliveries.ledger import SentLog
from deliveries.models import Delivery, Message

KEY, ID, CORRELATION = "idempotency_key", "provider_id", "correlation_id"


class Unreadable(Exception):
    """The file is not such a log; the text says what is wrong and where."""


def read(path: Path, *, complete: bool) -> SentLog:
    """Read the log. Raise `Unreadable`, rather than take half of it for the whole."""
    rows = list(_rows(path))
    ids = {row[KEY]: row[ID] for row in rows}
    unknown = set(ids) - _known(ids)
    strays = {row.get(CORRELATION, "") for row in rows if row[KEY] in unknown}
    if complete and "" in strays:
        raise Unreadable(
            f"{len(unknown)} messages of it are of keys that this database does not know, such as "
            f"{min(unknown)}: sent anew after the backup. To tell whose they are, --complete needs "
            f"the column {CORRELATION} (the header X-Correlation-ID) for each. Run it without "
            "--complete to have what is not in the log set aside."
        )
    return SentLog(ids=ids, complete=complete, strays=frozenset(strays - {""}))


def _rows(path: Path) -> Iterator[dict[str, str]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            missing = {KEY, ID} - set(reader.fieldnames or ())
            if missing:
                raise Unreadable(f"{path} has no column {' and no column '.join(sorted(missing))}.")
            for row in reader:
                cells = {name: (row.get(name) or "").strip() for name in (KEY, ID, CORRELATION)}
                if not cells[KEY] or not cells[ID] or len(cells[ID]) > 255 or "\x00" in cells[ID]:
                    raise Unreadable(f"{path}, line {reader.line_num}: no key, or no id.")
                yield cells
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise Unreadable(f"{path} cannot be read: {error}") from error


def _known(keys: dict[str, str]) -> set[str]:
    """Return those of the keys under which this database knows a delivery or a message."""
    return {
        *Delivery.objects.filter(idempotency_key__in=keys).values_list(
            "idempotency_key", flat=True
        ),
        *Message.objects.filter(idempotency_key__in=keys).values_list("idempotency_key", flat=True),
    }
