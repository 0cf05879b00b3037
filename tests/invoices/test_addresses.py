"""Who gets the e-mail: what is entered, what is warned of, what goes out."""

import pytest

from deliveries import kinds
from deliveries.errors import NotSendable
from deliveries.models import Message
from invoices.addresses import MOST, Refused, fault_of, on_the_wire, parse_list, recipients_of
from invoices.models import Customer, Invoice, Organization
from invoices.problems import Place, problems_of
from tests import factories


def composed(invoice: Invoice) -> Message:
    return kinds.get("invoice").compose(factories.make_delivery(invoice))


@pytest.mark.parametrize(
    ("text", "addresses"),
    [
        ("", []),
        ("ana@sol.example", ["ana@sol.example"]),
        ("ana@sol.example, bo@sol.example;\r\n cy@sol.example", ["ana", "bo", "cy"]),
        ("ana@sol.example ANA@SOL.example", ["ana@sol.example"]),
        ("a@bücher.example a@xn--bcher-kva.example", ["a@bücher.example"]),
    ],
)
def test_a_field_holds_addresses_each_once(text: str, addresses: list[str]) -> None:
    whole = [a if "@" in a else f"{a}@sol.example" for a in addresses]
    assert parse_list(text) == whole


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('"Sol, Inc" <ana@sol.example>', "without names"),
        ("Ana <ana@sol.example>", "without names"),
        ("ana", "“ana” does not look like an e-mail address"),
        ("müller@sol.example", "letters before the @"),
        ("用户@例え.jp", "letters before the @"),
        ("ana@sol.example\0", "not one address"),
        ("ana@sol..example", "does not look like"),
        (f"{'x' * 65}@sol.example", "does not look like"),
        (f"a@{'b.' * 125}example", "does not look like"),
        ("ana@\u202esol.example", "not one address"),
        (" ".join(f"a{n}@sol.example" for n in range(MOST + 1)), "At most 50"),
        ("x" * 20_000, "does not look like"),
    ],
)
def test_what_cannot_work_is_refused_with_a_sentence(text: str, said: str) -> None:
    with pytest.raises(Refused, match=said) as refused:
        parse_list(text)
    assert len(str(refused.value)) < 500


@pytest.mark.parametrize(
    ("address", "wire"),
    [
        ("ana@sol.example", "ana@sol.example"),
        (" ana@Bücher.example ", "ana@xn--bcher-kva.example"),
        ("ana@faß.example", "ana@xn--fa-hia.example"),
        ("ana@例え.jp", "ana@xn--r8jz45g.jp"),
        ("orders@@palmwine.example", "orders@@palmwine.example"),
        ("ana@bü..example", "ana@bü..example"),
    ],
)
def test_a_domain_goes_out_in_ascii(address: str, wire: str) -> None:
    assert on_the_wire(address) == wire


def test_an_international_domain_is_no_problem() -> None:
    assert fault_of("ana@bücher.example") is None


def test_an_email_goes_to_those_named_and_copies_to_others(invoice: Invoice) -> None:
    invoice.to, invoice.cc = (
        ["pay@bücher.example", "two@sol.example"],
        ["TWO@sol.example", "c@x.example"],
    )
    invoice.save(update_fields=["to", "cc"])
    message = composed(invoice)
    assert message.to == ["pay@xn--bcher-kva.example", "two@sol.example"]
    assert message.cc == ["c@x.example"]


def test_without_others_it_goes_to_the_customers_own_address(invoice: Invoice) -> None:
    assert recipients_of(invoice).to == ("accounts@mamaput.example",)
    message = composed(invoice)
    assert (message.to, message.cc) == (["accounts@mamaput.example"], [])


def test_a_reminder_goes_to_the_same_people(invoice: Invoice) -> None:
    invoice.to, invoice.cc = ["pay@sol.example"], ["boss@sol.example"]
    invoice.save(update_fields=["to", "cc"])
    delivery = factories.make_delivery(invoice, key=f"reminder:{invoice.pk}:2026-03-20")
    message = kinds.get("reminder").compose(delivery)
    assert (message.to, message.cc) == (["pay@sol.example"], ["boss@sol.example"])


def test_problems_name_the_place_where_they_are_mended(organization: Organization) -> None:
    invoice = factories.make_invoice(organization, email="müller@sol.example", customer_name="")
    invoice.cc = ["nonsense"]
    assert [(problem.place, problem.fatal) for problem in problems_of(invoice)] == [
        (Place.CUSTOMER, True),
        (Place.INVOICE, False),
        (Place.CUSTOMER, False),
    ]


def test_who_is_named_needs_no_address_of_the_customer(organization: Organization) -> None:
    invoice = factories.make_invoice(organization, email="", to=["pay@sol.example"])
    assert problems_of(invoice) == []
    assert composed(invoice).to == ["pay@sol.example"]


def test_a_local_part_that_cannot_be_delivered_to_is_never_handed_over(invoice: Invoice) -> None:
    Customer.objects.filter(pk=invoice.customer_id).update(email="müller@sol.example")
    with pytest.raises(NotSendable, match="plain letters"):
        composed(invoice)


def test_an_amount_that_its_lines_do_not_make_is_told_before_the_click(invoice: Invoice) -> None:
    invoice.amount_minor = 1
    [problem] = problems_of(invoice)
    assert problem.fatal
    assert "not what its lines come to" in problem.sentence
    invoice.save(update_fields=["amount_minor"])
    with pytest.raises(NotSendable, match="not what its lines come to"):
        composed(invoice)
