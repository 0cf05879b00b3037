"""What the tests of this folder begin with."""

import pytest

from deliveries.models import WorkerPresence


@pytest.fixture
def worker(db: None) -> WorkerPresence:
    return WorkerPresence.objects.create(
        name="worker-1", host="lagos-1", pid=1, version="0.1.0", threads=5
    )
