"""Slows down whoever guesses passwords, over all web servers, without shutting others out.

An attempt is counted before the password is looked at, so that guesses made at once count too, and
taken back when it succeeds. Each counter runs for `WINDOW` from its first failure and is not
extended by further ones: nobody waits longer than that.

A browser in which somebody has logged in before carries a signed cookie, and has a counter of its
own for that person. So strangers who guess at a name, or colleagues behind the same address, do not
make its owner wait. Everybody else is counted by name and address, by name, and by address.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import timedelta

from django.contrib.auth.forms import UsernameField
from django.db import connection
from django.utils.crypto import salted_hmac

logger = logging.getLogger(__name__)

WINDOW = timedelta(minutes=15)
LONGEST_NAME = 150

# So many failures in a window, then wait.
OF_A_BROWSER = 10
OF_A_NAME_FROM_AN_ADDRESS = 10
OF_A_NAME = 50
OF_AN_ADDRESS = 100  # A whole office may sit behind one.


@dataclass(frozen=True, kw_only=True)
class Counter:
    key: str
    most: int
    # Success proves who it was; it does not excuse all that came from the address.
    ends_with_success: bool = True


def counters(name: str, *, network: str, browser: str) -> tuple[Counter, ...]:
    """Return what an attempt counts against; `browser` is "" unless the name logged in there."""
    if browser:
        return (Counter(key=_key("browser", browser, name), most=OF_A_BROWSER),)
    found = [Counter(key=_key("name", name), most=OF_A_NAME, ends_with_success=False)]
    if network:
        pair = _key("pair", name, network)
        found += [
            Counter(key=pair, most=OF_A_NAME_FROM_AN_ADDRESS),
            Counter(key=_key("address", network), most=OF_AN_ADDRESS, ends_with_success=False),
        ]
    return tuple(found)


def count(attempt: tuple[Counter, ...]) -> int:
    """Count an attempt; return how many seconds it has to wait, or 0 if it may be made.

    One statement of its own, by PostgreSQL's clock.
    """
    # In one order everywhere, so that two attempts never wait for each other.
    most = {counter.key: counter.most for counter in sorted(attempt, key=lambda one: one.key)}
    with connection.cursor() as cursor:
        cursor.execute(_COUNT, {"keys": list(most), "window": f"{WINDOW.total_seconds()} seconds"})
        rows = cursor.fetchall()
    if any(failures == 1 for _, failures, _ in rows):
        _forget_old()
    waits = [seconds for key, failures, seconds in rows if failures > most[key]]
    return max(1, *waits) if waits else 0


def take_back(attempt: tuple[Counter, ...]) -> None:
    """Uncount an attempt that succeeded.

    Two statements of their own: in one transaction they could lock in another order than `count`.
    """
    over = sorted(counter.key for counter in attempt if counter.ends_with_success)
    less = sorted(counter.key for counter in attempt if not counter.ends_with_success)
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM invoicehub_loginfailures WHERE key = ANY(%s)", [over])
        cursor.execute(_TAKE_BACK, [less])


def counted_as(typed: str) -> str:
    """Return the name that what was typed counts for: the one that authentication will see.

    Spellings that log in the same person count together, since the login form's own field reads
    them.
    """
    return folded(_AS_THE_FORM_READS_IT.to_python(typed) or "")


def folded(name: str) -> str:
    """Return what a name counts under, once the login form has read it."""
    return name.casefold()[:LONGEST_NAME]


_AS_THE_FORM_READS_IT = UsernameField(max_length=LONGEST_NAME, required=False)


def _key(*parts: str) -> str:
    return salted_hmac("invoicehub.throttle", "\n".join(parts), algorithm="sha256").hexdigest()


def _forget_old() -> None:
    with connection.cursor() as cursor:
        cursor.execute(_FORGET, {"window": f"{WINDOW.total_seconds()} seconds"})


_COUNT = """
    INSERT INTO invoicehub_loginfailures AS old (key, failures, since)
    SELECT key, 1, statement_timestamp() FROM unnest(%(keys)s::text[]) AS key
    ON CONFLICT (key) DO UPDATE SET
        failures = CASE WHEN old.since <= statement_timestamp() - %(window)s::interval
                        THEN 1 ELSE least(old.failures + 1, 1000000) END,
        since = CASE WHEN old.since <= statement_timestamp() - %(window)s::interval
                     THEN statement_timestamp() ELSE old.since END
    RETURNING key, failures,
        ceil(extract(epoch FROM since + %(window)s::interval - statement_timestamp()))::integer
"""

_TAKE_BACK = """
    UPDATE invoicehub_loginfailures SET failures = greatest(failures - 1, 0)
    WHERE key IN (
        SELECT key FROM invoicehub_loginfailures WHERE key = ANY(%s) ORDER BY key FOR UPDATE
    )
"""

_FORGET = """
    DELETE FROM invoicehub_loginfailures WHERE key IN (
        SELECT key FROM invoicehub_loginfailures
        WHERE since < statement_timestamp() - %(window)s::interval
        ORDER BY since LIMIT 100 FOR UPDATE SKIP LOCKED
    )
"""
