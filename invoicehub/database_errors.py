"""What a command says, instead of a traceback, of a database that is away or not ready."""

from django.db import Error

from deliveries.errors import DATABASE_TROUBLE, sqlstate

# Of check_worker as well: nothing is wrong with what was asked, nobody can tell.
EXIT_CODE = 3

_NOT_THERE = {"42P01": "table", "42703": "column", "3F000": "schema"}
_READ_ONLY = "25006"
# SQLSTATEs: no connection, refused, no such database, too many, shutting down, stood still.
_AWAY = ("08", "28", "3D", "53", "57P", "25P03")


def sentence_of(error: Error) -> str | None:
    """Return what to tell whoever called; None for an error that is a fault of ours."""
    code = sqlstate(error) or ""
    first_line = str(error).strip().partition("\n")[0]
    if code == _READ_ONLY:
        return f"the database takes no changes: is it a standby? ({first_line})"
    if code in _NOT_THERE:
        return f"migrations are missing: run migrate. ({first_line})"
    if is_away(error):
        return f"the database does not answer. ({first_line})"
    return None


def is_away(error: BaseException | None) -> bool:
    """Tell whether it says that the database does not answer, which passes."""
    if not isinstance(error, DATABASE_TROUBLE):
        return False
    code = sqlstate(error) or ""
    return not code or code.startswith(_AWAY)
