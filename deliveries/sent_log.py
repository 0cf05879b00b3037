"""Reading a provider's log of sent messages, as exported to CSV, after a restore."""

import csv
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

from deliveries.ledger import SentLog
from deliveries.models import Delivery, Message

KEY, ID, CORRELATION = "idempotency_key", "provider_id", "correlation_id"
# Of `send_test_email`: they belong to no invoice.
_TEST = "test-"


class Unreadable(Exception):
    """The file is not such a log; the text says what is wrong and where."""


@dataclass(frozen=True, kw_only=True)
class Line:
    """One message that the provider accepted."""

    number: int
    key: str
    id: str
    # Empty if the log does not tell.
    correlation_id: str


@dataclass(frozen=True, kw_only=True)
class Doubled:
    """A delivery of which the provider accepted more than one message."""

    dedupe_key: str
    ids: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What the log says: of what this database knows, and of what it does not."""

    log: SentLog
    # Sent for the first time after the backup, or sent again under a new key.
    unknown: tuple[Line, ...]
    doubled: tuple[Doubled, ...]


def read(path: Path, *, complete: bool) -> Reading:
    """Read the log. Raise `Unreadable`, rather than take half of it for the whole."""
    lines = [line for line in _lines(path) if not line.key.startswith(_TEST)]
    owners = _owners({line.key for line in lines})
    _refuse_foreign_ids(path, lines, owners)
    unknown = tuple(line for line in lines if line.key not in owners)
    if complete and (untold := [line for line in unknown if not line.correlation_id]):
        raise Unreadable(
            f"{len(untold)} messages of it are of keys that this database does not know, such as "
            f"{untold[0].key}: sent for the first time after the backup, or again under a new key. "
            f"Only the column {CORRELATION} (the header X-Correlation-ID) tells which, so "
            "--complete needs it for each. Without --complete, what is not in the log is set aside."
        )
    ids: dict[str, str] = {}
    for line in lines:
        ids.setdefault(line.key, line.id)
    strays = frozenset(line.correlation_id for line in unknown if line.correlation_id)
    return Reading(
        log=SentLog(ids=ids, complete=complete, strays=strays),
        unknown=unknown,
        doubled=_doubled(lines, owners),
    )


def write(path: Path, lines: Sequence[Line]) -> None:
    """Write lines as such a log. Raise `OSError`."""
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow([KEY, ID, CORRELATION])
        rows.writerows([line.key, line.id, line.correlation_id] for line in lines)


def _lines(path: Path) -> Iterator[Line]:
    """Return each message once, in the log's order."""
    keys: dict[str, str] = {}
    seen: set[tuple[str, str]] = set()
    for line in _rows(path):
        if keys.setdefault(line.id, line.key) != line.key:
            raise Unreadable(f"{path}, line {line.number}: {line.id} is the id of another key too.")
        if (line.key, line.id) not in seen:
            seen.add((line.key, line.id))
            yield line


def _rows(path: Path) -> Iterator[Line]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise Unreadable(f"{path} cannot be read: {error}") from error
    reader = csv.reader(StringIO(text, newline=""), strict=True)
    try:
        names = _names(path, next(reader, []))
        for cells in reader:
            if cells:
                yield _line(f"{path}, line {reader.line_num}", reader.line_num, names, cells)
    except csv.Error as error:
        raise Unreadable(f"{path} cannot be read: {error}") from error
    if not text.endswith(("\n", "\r")):
        raise Unreadable(f"{path} ends in mid line: export it anew, or end its last line.")


def _names(path: Path, header: Sequence[str]) -> list[str]:
    names = [name.strip() for name in header]
    if missing := {KEY, ID} - set(names):
        raise Unreadable(f"{path} has no column {' and no column '.join(sorted(missing))}.")
    if twice := [name for name in (KEY, ID, CORRELATION) if names.count(name) > 1]:
        raise Unreadable(f"{path} has the column {twice[0]} twice.")
    return names


def _line(where: str, number: int, names: Sequence[str], cells: Sequence[str]) -> Line:
    if len(cells) != len(names):
        raise Unreadable(f"{where}: it has {len(cells)} columns of {len(names)}.")
    row = {name: cell.strip() for name, cell in zip(names, cells, strict=True)}
    key, id_, correlation_id = row[KEY], row[ID], row.get(CORRELATION, "")
    if "\x00" in key + id_ + correlation_id:
        raise Unreadable(f"{where}: NUL is in no key and no id.")
    if not key or not id_ or len(id_) > 255:
        raise Unreadable(f"{where}: no key, or no id.")
    return Line(number=number, key=key, id=id_, correlation_id=correlation_id)


def _owners(keys: set[str]) -> Mapping[str, int]:
    """Return the deliveries that have, or once had, those of the keys that are known here."""
    messages = Message.objects.filter(idempotency_key__in=keys)
    deliveries = Delivery.objects.filter(idempotency_key__in=keys)
    return {
        **dict(messages.values_list("idempotency_key", "delivery_id")),
        **dict(deliveries.values_list("idempotency_key", "id")),
    }


def _refuse_foreign_ids(path: Path, lines: Sequence[Line], owners: Mapping[str, int]) -> None:
    by_id = {line.id: line for line in lines}
    taken = Delivery.objects.filter(provider_message_id__in=list(by_id), status="sent")
    for id_, delivery, name in taken.values_list("provider_message_id", "id", "dedupe_key"):
        line = by_id[id_]
        if owners.get(line.key) != delivery:
            raise Unreadable(
                f"{path}, line {line.number}: {id_} of {line.key} is the id of {name} here."
            )


def _doubled(lines: Sequence[Line], owners: Mapping[str, int]) -> tuple[Doubled, ...]:
    found: dict[int, set[str]] = defaultdict(set)
    for line in lines:
        if line.key in owners:
            found[owners[line.key]].add(line.id)
    names: dict[int, str] = {}
    known = Delivery.objects.filter(pk__in=list(found))
    for pk, name, id_ in known.values_list("id", "dedupe_key", "provider_message_id"):
        names[pk] = name
        found[pk] |= {id_} - {""}
    return tuple(
        Doubled(dedupe_key=names[pk], ids=tuple(sorted(ids)))
        for pk, ids in sorted(found.items())
        if len(ids) > 1 and pk in names
    )
