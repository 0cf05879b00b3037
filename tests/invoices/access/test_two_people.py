"""Two people at one invoice at once: one waits for the other, and nothing is doubled."""

from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal

import pytest
from django.contrib.auth.models import User

from deliveries.errors import WrongState
from deliveries.models import Delivery
from invoices import drafting, resending, voiding
from invoices.draft import Draft, DraftLine, version_of
from invoices.models import Invoice, Organization
from tests import factories
from tests.ledger import steps
from tests.ledger.conftest import program  # noqa: F401 - a fixture
from tests.ledger.programs import Programs, result


def draft_of(invoice: Invoice, **change: object) -> Draft:
    line = DraftLine(
        description="Rice, 50 kg bags",
        quantity=Decimal(2),
        unit_price_minor=4_500_000,
        tax_rate=Decimal(0),
    )
    draft = Draft(
        number=invoice.number,
        customer=invoice.customer,
        currency=invoice.currency,
        issued_on=date(2026, 3, 2),
        due_on=date(2026, 3, 16),
        lines=(line,),
    )
    return replace(draft, **change)  # type: ignore[arg-type]


def change(invoice: Invoice, draft: Draft, version: str, person: User) -> None:
    drafting.change(
        invoice.pk,
        draft,
        organization=invoice.organization,
        version=version,
        user_id=person.pk,
    )


def correct_and_retry(invoice: Invoice, version: str, died_at: datetime, person: User) -> None:
    resending.correct_and_retry(
        invoice.pk,
        draft_of(invoice),
        version=version,
        died_at=died_at,
        confirmed=False,
        organization=invoice.organization,
        user_id=person.pk,
    )


@pytest.fixture
def died_at(delivery: Delivery) -> datetime:
    steps.settle(steps.claim_one(), steps.REFUSED)
    moment = steps.fresh(delivery).finished_at
    assert moment is not None
    return moment


def test_the_second_of_two_saves_is_told(program: Programs, invoice: Invoice, owner: User) -> None:  # noqa: F811
    version = version_of(invoice)
    first, second = program(), program()
    first.begin()
    first.do(change, invoice, draft_of(invoice, notes="Mine"), version, owner)
    waiting = second.start(change, invoice, draft_of(invoice, notes="Theirs"), version, owner)
    second.wait_until_blocked()
    first.commit()
    with pytest.raises(drafting.ChangedMeanwhile):
        result(waiting)
    invoice.refresh_from_db()
    assert (invoice.notes, invoice.lines.count()) == ("Mine", 1)


def test_a_click_on_send_sends_what_is_just_being_saved(
    program: Programs,  # noqa: F811
    invoice: Invoice,
    owner: User,
) -> None:
    saver, sender = program(), program()
    saver.begin()
    saver.do(change, invoice, draft_of(invoice), version_of(invoice), owner)
    waiting = sender.start(steps.click_on_send, invoice, owner)
    sender.wait_until_blocked()
    saver.commit()
    result(waiting)
    invoice.refresh_from_db()
    assert (invoice.status, invoice.amount_minor) == ("sending", 9_000_000)


def test_supports_replay_and_the_persons_own_are_one(
    program: Programs,  # noqa: F811
    delivery: Delivery,
    died_at: datetime,
    owner: User,
) -> None:
    invoice = steps.invoice_of(delivery)
    person, support = program(), program()
    person.begin()
    person.do(correct_and_retry, invoice, version_of(invoice), died_at, owner)
    waiting = support.start(steps.replay, delivery, owner.pk, now=steps.at(60))
    support.wait_until_blocked()
    person.commit()
    with pytest.raises(WrongState, match="already waiting"):
        result(waiting)
    assert steps.events(delivery).count("replayed") == 1


def test_a_correction_that_comes_after_supports_replay_is_refused(
    program: Programs,  # noqa: F811
    delivery: Delivery,
    died_at: datetime,
    owner: User,
) -> None:
    invoice = steps.invoice_of(delivery)
    person, support = program(), program()
    support.begin()
    support.do(steps.replay, delivery, owner.pk, now=steps.at(60))
    waiting = person.start(correct_and_retry, invoice, version_of(invoice), died_at, owner)
    person.wait_until_blocked()
    support.commit()
    with pytest.raises(drafting.CannotBeChanged, match="is being sent"):
        result(waiting)
    assert steps.invoice_of(delivery).amount_minor == 4_500_000


def test_what_is_sent_while_it_is_being_voided_is_not_wanted(
    program: Programs,  # noqa: F811
    invoice: Invoice,
    owner: User,
) -> None:
    sender, other = program(), program()
    sender.begin()
    sender.do(steps.click_on_send, invoice, owner)
    waiting = other.start(
        voiding.void,
        invoice.pk,
        reason="Ordered twice",
        organization=invoice.organization,
        user_id=owner.pk,
    )
    other.wait_until_blocked()
    sender.commit()
    assert result(waiting).status == "void"


def test_two_people_take_one_number(
    program: Programs,  # noqa: F811
    organization: Organization,
    owner: User,
) -> None:
    draft = draft_of(factories.make_invoice(organization, number="A"), number="INV-0100")
    first, second = program(), program()
    first.begin()
    first.do(drafting.create, organization, draft, user_id=owner.pk)
    waiting = second.start(
        drafting.create, organization, replace(draft, notes="Theirs"), user_id=owner.pk
    )
    second.wait_until_blocked()
    first.commit()
    with pytest.raises(drafting.NumberTaken, match=r"INV-0101 is free"):
        result(waiting)
