"""docs/scaling.md: what it tells operators to run, and to write into files, can be."""

import re
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connection

TEXT = Path(settings.BASE_DIR, "docs", "scaling.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)


@pytest.mark.parametrize("statements", blocks("sql"))
def test_its_sql_runs(db: None, statements: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statements)


def test_its_pooler_is_in_the_mode_that_the_setting_is_about() -> None:
    [pooler] = blocks("ini")
    assert "pool_mode = transaction" in pooler
    assert "DATABASE_POOLER=transaction" in TEXT


def test_what_it_names_is_there() -> None:
    documented = Path(settings.BASE_DIR, "docs", "configuration.md").read_text(encoding="utf-8")
    for name in set(re.findall(r"\b(?:DATABASE|DELIVERY|WEB)_[A-Z_]+", TEXT)):
        assert f"`{name}`" in documented, name
