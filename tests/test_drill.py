"""A drill that finds a broken promise says so, and ends with exit code 1."""

from typing import Any

import pytest
from django.core.management import CommandError, call_command

from invoicehub.management.commands import drill
from invoicehub.rehearsal.drills import Clicks, Expected, Result, broken_promises


def row(**values: Any) -> dict[str, Any]:
    return {
        "number": "INV-0001",
        "status": "sent",
        "dead_reason": "",
        "invoice_status": "sent",
        "attempts": 1,
        "leases_lost": 0,
    } | values


def broken(
    *, emails: int = 1, statuses: tuple[int, ...] = (202,), expected: dict[str, Any], **values: Any
) -> list[str]:
    clicks = Clicks(statuses=list(statuses), deliveries=[1] * statuses.count(202))
    wanted = Expected(invoices=[7], sent=clicks, **expected)
    return broken_promises(wanted, [row(**values)], [emails])


def test_what_went_as_promised_breaks_nothing() -> None:
    assert broken(expected={}) == []


@pytest.mark.parametrize(
    ("happened", "said"),
    [
        ({"emails": 2}, "2 e-mails instead of 1"),
        ({"emails": 0}, "0 e-mails instead of 1"),
        ({"status": "queued"}, "INV-0001: queued"),
        ({"invoice_status": "sending"}, "its page says sending"),
        ({"statuses": (202, 500)}, "1 clicks were answered [500] instead of 202"),
        ({"expected": {"attempts": 2}}, "1 attempts instead of 2"),
        ({"expected": {"leases_lost": True}}, "no lease was lost"),
    ],
)
def test_each_broken_promise_is_named(happened: dict[str, Any], said: str) -> None:
    assert any(said in words for words in broken(**({"expected": {}} | happened)))


def test_a_second_delivery_of_one_invoice_breaks_a_promise() -> None:
    wanted = Expected(invoices=[7], sent=Clicks(statuses=[202, 202], deliveries=[1, 2]))
    told = broken_promises(wanted, [row(), row()], [1, 1])
    assert any("1 invoices have 2 deliveries" in words for words in told)


def test_a_broken_promise_ends_with_exit_code_1(monkeypatch: pytest.MonkeyPatch) -> None:
    failed = Result(
        name="ten at once",
        answers_ms=[1.0],
        states={"queued": 1},
        emails_per_invoice=[2],
        attempts=[1],
        seconds=1.0,
        broken=["INV-0001: 2 e-mails instead of 1"],
    )
    monkeypatch.setattr(drill.Command, "_rehearse", lambda *_args, **_options: [failed])
    with pytest.raises(CommandError, match="1 of 1 drills broke a promise") as ended:
        call_command("drill")
    assert ended.value.returncode == 1


def test_a_drill_that_does_not_exist_is_refused() -> None:
    with pytest.raises(CommandError, match="--only must match one of: ten at once") as refused:
        call_command("drill", "--only", "earthquake")
    assert refused.value.returncode == 2


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.timeout(300)
def test_every_drill_holds() -> None:
    call_command("drill", "--quick")
