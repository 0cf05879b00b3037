"""The request's body: the same message gives the same bytes, today and after any deploy."""

import json

import pytest

from deliveries.models import Message
from deliveries.providers.sandbox import encode
from deliveries.sandbox import SandboxProvider as Sandbox
from tests import factories
from tests.providers.conftest import Connect, Serve
from tests.providers.raw_server import accepted, answering


def test_the_bytes_of_a_message_are_pinned() -> None:
    # A change here is a change of what providers see under keys that they remember: 409, outcome
    # unknown, for everything that is being retried while the new version goes live.
    assert encode(factories.make_message(html="<p>Grüße ₦</p>")).decode() == (
        '{"from":"\\"Mainland Supplies Ltd\\" <invoices@invoicehub.example>",'
        '"to":"accounts@mamaput.example",'
        '"subject":"Invoice INV-0001 from Mainland Supplies Ltd",'
        '"text":"Please find the invoice attached.",'
        '"html":"<p>Grüße ₦</p>",'
        '"headers":{"X-Correlation-ID":"req-41"},'
        '"attachments":[{"filename":"INV-0001.pdf","content_type":"application/pdf",'
        '"content":"JVBERg=="}]}'
    )


def test_copies_and_answers_to_are_sent_where_there_are_any() -> None:
    message = factories.make_message(
        to=["a@one.example", "b@two.example"], cc=["c@three.example"], reply_to="us@here.example"
    )
    body = json.loads(encode(message))
    assert body["to"] == "a@one.example, b@two.example"
    assert (body["cc"], body["reply_to"]) == ("c@three.example", "us@here.example")


def test_the_order_of_headers_and_of_an_attachments_fields_does_not_matter() -> None:
    one = factories.make_message(
        headers={"X-A": "1", "X-B": "2"},
        attachments=[{"filename": "a", "content_type": "b/c", "content": "", "more": "?"}],
    )
    other = factories.make_message(
        headers={"X-B": "2", "X-A": "1"},
        attachments=[{"content": "", "content_type": "b/c", "filename": "a"}],
    )
    assert encode(one) == encode(other)


TEXTS = [
    "plain",
    "a\r\nb\nc\td",
    'quotes " and \\ and \\u0041',
    "Grüße, ₦ ﷼ 請求書 🧾",
    "e\u0301 and \u00e9 stay different",
    "line\u2028separator\x7f\x1b",
    " spaces at both ends ",
]


@pytest.mark.parametrize("text", TEXTS, ids=ascii)
@pytest.mark.django_db
def test_a_message_read_back_from_the_database_gives_the_same_bytes(
    delivery: object, text: str
) -> None:
    message = factories.make_message(
        from_address=text,
        subject=text,
        text=text,
        html=text,
        headers={"X-B": text, "X-A": text},
        to=[text, text],
        attachments=[{"filename": text, "content_type": "a/b", "content": "AA=="}],
        delivery=delivery,
        idempotency_key="delivery-1",
    )
    before = encode(message)
    message.save(force_insert=True)
    assert encode(Message.objects.get(pk=message.pk)) == before


def test_a_line_break_goes_as_data_and_makes_no_header(serve: Serve, connect: Connect) -> None:
    server = serve(answering(accepted()))
    evil = "Invoice\r\nBcc: everybody@elsewhere.example"
    message = factories.make_message(subject=evil, headers={"X-Note": evil})
    connect(server.url).send(message, idempotency_key="delivery-1")
    [request] = server.requests
    assert "bcc" not in request.headers
    body = json.loads(request.body)
    assert (body["subject"], body["headers"]["X-Note"]) == (evil, evil)


def test_the_sandbox_understands_what_we_send(sandbox: Sandbox, connect: Connect) -> None:
    message = factories.make_message(cc=["c@three.example"], reply_to="us@here.example")
    provider = connect(sandbox.url)
    receipt = provider.send(message, idempotency_key="delivery-1")
    again = provider.send(message, idempotency_key="delivery-1")
    assert (receipt.replayed, again.replayed, receipt.id) == (False, True, again.id)
    [kept] = sandbox.messages()
    assert (kept["id"], kept["idempotency_key"]) == (receipt.id, "delivery-1")
    assert kept["subject"] == message.subject
