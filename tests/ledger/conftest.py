"""Fixtures for the ledger's tests: a support person, a kind of their own, other programs."""

from collections.abc import Callable, Iterator

import pytest
from django.contrib.auth.models import User

from deliveries import kinds
from tests.ledger.note import Note
from tests.ledger.programs import Program


@pytest.fixture
def note(monkeypatch: pytest.MonkeyPatch) -> Note:
    kind = Note()
    monkeypatch.setitem(kinds._kinds, kind.name, kind)
    return kind


@pytest.fixture
def support(db: None) -> User:
    return User.objects.create(username="support")


@pytest.fixture
def program(transactional_db: None) -> Iterator[Callable[[], Program]]:
    """Start other programs at the database; what they have open at the end is rolled back."""
    started: list[Program] = []

    def start() -> Program:
        started.append(Program())
        return started[-1]

    yield start
    for each in started:
        each.close()
