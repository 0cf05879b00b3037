"""Where accepted messages are kept: in memory, or as one JSON file per message in a directory."""

import contextlib
import fcntl
import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

Document = dict[str, Any]


class StoreError(Exception):
    """The data directory cannot be used; the message says why, for people."""


class Shelf(Protocol):
    """Keeps documents by idempotency key. Every document has `idempotency_key` and `hand_overs`."""

    def load(self) -> Iterator[Document]: ...
    def put(self, document: Document) -> None: ...
    def get(self, key: str) -> Document: ...
    def add_hand_over(self, key: str) -> None: ...
    def remove(self, key: str) -> None: ...
    def close(self) -> None: ...


class MemoryShelf:
    def __init__(self) -> None:
        self._documents: dict[str, Document] = {}

    def load(self) -> Iterator[Document]:
        return iter(())

    def put(self, document: Document) -> None:
        self._documents[document["idempotency_key"]] = document

    def get(self, key: str) -> Document:
        return self._documents[key]

    def add_hand_over(self, key: str) -> None:
        pass

    def remove(self, key: str) -> None:
        del self._documents[key]

    def close(self) -> None:
        pass


class DirectoryShelf:
    """One file per key, named by the key's hash: two files for one key cannot exist.

    A document is on the disk when put() returns, whatever happens to the process or the power.
    Later hand-overs of the key are the bytes of a file beside it, so that a large message is not
    written again for each.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        try:
            directory.mkdir(parents=True, exist_ok=True)
            self._lock = _lock(directory / "lock")
            for leftover in directory.glob("*.tmp"):
                leftover.unlink()
        except OSError as error:
            raise StoreError(f"Cannot use the data directory {directory}: {error}") from error

    def load(self) -> Iterator[Document]:
        for path in self._directory.glob("*.json"):
            try:
                document: Document = json.loads(path.read_bytes())
                document["hand_overs"] += _size(path.with_suffix(".hand-overs"))
            except (OSError, ValueError, KeyError, TypeError) as error:
                # Passing over it would forget its key, and a message could be accepted twice.
                raise StoreError(f"{path} is not a message of the sandbox: {error!r}") from error
            yield document

    def put(self, document: Document) -> None:
        path = self._path(document["idempotency_key"])
        temporary = path.with_suffix(".tmp")
        try:
            with temporary.open("wb") as file:
                file.write(json.dumps(document).encode())
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        except OSError:
            temporary.unlink(missing_ok=True)
            raise
        self._sync_directory()

    def get(self, key: str) -> Document:
        document: Document = json.loads(self._path(key).read_bytes())
        return document

    def add_hand_over(self, key: str) -> None:
        with self._path(key).with_suffix(".hand-overs").open("ab") as file:
            file.write(b".")

    def remove(self, key: str) -> None:
        path = self._path(key)
        path.unlink(missing_ok=True)
        path.with_suffix(".hand-overs").unlink(missing_ok=True)

    def close(self) -> None:
        os.close(self._lock)

    def _path(self, key: str) -> Path:
        return self._directory / f"{hashlib.sha256(key.encode()).hexdigest()[:40]}.json"

    def _sync_directory(self) -> None:
        descriptor = os.open(self._directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _lock(path: Path) -> int:
    """Hold the directory for this process; the kernel lets go of it when the process ends."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.read(descriptor, 20).decode(errors="replace").strip() or "unknown"
        os.close(descriptor)
        raise StoreError(
            f"The data directory {path.parent} is in use by another sandbox provider "
            f"(process {holder}). Stop that one, or choose another --data directory."
        ) from None
    os.truncate(descriptor, 0)
    os.pwrite(descriptor, str(os.getpid()).encode(), 0)
    return descriptor


def _size(path: Path) -> int:
    with contextlib.suppress(FileNotFoundError):
        return path.stat().st_size
    return 0
