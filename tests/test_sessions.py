"""Nothing in the code needs a PostgreSQL session from one transaction to the next.

Behind a pooler in transaction mode each transaction may run on another one (docs/scaling.md).
"""

import re
from pathlib import Path

import pytest
from django.conf import settings

# What does, and how each is written. SET in an UPDATE is followed by a column and "=" as well, so
# only PostgreSQL's own settings count there.
_NEEDS_A_SESSION = {
    "a lock of the session": r"pg_(try_)?advisory_lock(_shared)?\s*\(",
    "a setting of the session": r"\bSET\s+(SESSION\s|\w+_timeout|work_mem|search_path|role)",
    "a setting of the session, as a function": r"set_config\s*\(",
    "a cursor of the session": r"\bWITH\s+HOLD\b|server_side_binding",
    "a statement of the session": r"\bPREPARE\s+\w+\s*(\(|AS\b)|prepare\s*=\s*True",
    "a temporary table": r"\bCREATE\s+TEMP(ORARY)?\s",
    "a notice": r"[\"']LISTEN ",
    "a number that the session remembers": r"\b(curr|last)val\s*\(",
}
# These know: the tables live in one transaction there, and the listener goes past the pooler.
_ALLOWED = {
    ("invoices/importing/checking.py", "a temporary table"),
    ("invoices/importing/staging.py", "a temporary table"),
    ("deliveries/listening.py", "a notice"),
    # Sets it for the whole database, pooler or not.
    ("invoicehub/management/commands/migrate.py", "a setting of the session"),
    # Counts who listens, in a rehearsal.
    ("invoicehub/rehearsal/fleet.py", "a notice"),
}


def needs(text: str) -> set[str]:
    return {
        what
        for what, pattern in _NEEDS_A_SESSION.items()
        if re.search(pattern, text, re.IGNORECASE)
    }


def found() -> set[tuple[str, str]]:
    base = Path(settings.BASE_DIR)
    return {
        (str(path.relative_to(base)), what)
        for folder in ("deliveries", "invoices", "invoicehub")
        for path in (base / folder).rglob("*.py")
        for what in needs(path.read_text(encoding="utf-8"))
    }


def test_nothing_needs_a_session_but_what_is_known_to() -> None:
    assert found() - _ALLOWED == set()


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT pg_advisory_lock(1)",
        "SELECT pg_try_advisory_lock(1)",
        "SET statement_timeout = '5s'",
        "SET SESSION work_mem = '1GB'",
        "SELECT set_config('a.b', 'c', false)",
        "DECLARE c CURSOR WITH HOLD FOR SELECT 1",
        "PREPARE one AS SELECT 1",
        "CREATE TEMP TABLE one (id integer)",
        "raw.execute('LISTEN one')",
        "SELECT currval('one')",
    ],
)
def test_the_rule_sees_what_it_is_for(statement: str) -> None:
    assert needs(statement)


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT pg_advisory_xact_lock(1)",
        "SET LOCAL statement_timeout = '5s'",
        "UPDATE deliveries_delivery SET status = 'sent'",
    ],
)
def test_the_rule_lets_pass_what_a_transaction_ends(statement: str) -> None:
    assert not needs(statement)
