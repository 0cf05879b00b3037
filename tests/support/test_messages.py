"""Messages in the admin: shown exactly as handed over, whatever they hold, and never run."""

import base64
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db.models import F
from django.db.models.functions import Now
from django.test import Client

from deliveries.models import Delivery, Message
from tests import factories

pytestmark = pytest.mark.thorough

LIST = "/admin/deliveries/message/"
SCRIPT = "<script>alert(1)</script>"

LogIn = Callable[[User], Client]


@pytest.fixture
def message(delivery: Delivery) -> Message:
    return store(delivery)


def store(delivery: Delivery, **values: object) -> Message:
    defaults = {"delivery": delivery, "idempotency_key": delivery.idempotency_key}
    message = factories.make_message(**(defaults | values))
    message.save()
    return message


def attach(delivery: Delivery, filename: str, content_type: str, content: bytes) -> Message:
    encoded = base64.b64encode(content).decode()
    part = {"filename": filename, "content_type": content_type, "content": encoded}
    return store(delivery, attachments=[part])


def page_of(message: Message, user: Client) -> str:
    answer = user.get(f"{LIST}{message.pk}/change/")
    assert answer.status_code == 200
    return answer.content.decode()


def attachment_of(message: Message, user: Client, place: int = 0) -> Any:
    return user.get(f"{LIST}{message.pk}/attachments/{place}/")


# The page -------------------------------------------------------------------------------------


def test_the_page_shows_what_was_handed_over(
    message: Message, support: User, log_in: LogIn
) -> None:
    page = page_of(message, log_in(support))
    assert "&quot;Mainland Supplies Ltd&quot; &lt;invoices@invoicehub.example&gt;" in page
    assert "accounts@mamaput.example" in page
    assert "Invoice INV-0001 from Mainland Supplies Ltd" in page
    assert message.idempotency_key in page
    assert f'href="/admin/deliveries/delivery/{message.delivery_id}/change/"' in page
    assert "X-Correlation-ID" in page
    assert "application/pdf, 4\xa0bytes, opens in a new tab" in page
    assert (
        f'<iframe class="message-html" sandbox="" referrerpolicy="no-referrer" src="{LIST}' in page
    )


def test_a_message_under_the_key_of_a_sent_delivery_is_the_one_that_was_sent(
    message: Message, support: User, log_in: LogIn
) -> None:
    settle(message.delivery, status="sent", sent_at=Now(), provider_message_id="msg_41")
    page = page_of(message, log_in(support))
    assert "The provider accepted exactly this message." in page
    assert "msg_41" in page


def test_a_replaced_message_leads_to_the_present_one(
    message: Message, support: User, log_in: LogIn
) -> None:
    settle(message.delivery, status="sent", sent_at=Now(), provider_message_id="msg_41")
    older = store(message.delivery, idempotency_key="delivery-of-before")
    page = page_of(older, log_in(support))
    assert "A replay put another message in its place" in page
    assert "msg_41" not in page
    assert f'<a href="{LIST}{message.pk}/change/">the present one</a>' in page


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({}, "The next attempt hands over exactly this message."),
        ({"handed_over_at": Now()}, "no answer says whether the provider accepted it"),
        (
            {"status": "running", "locked_by": "w", "locked_until": Now()},
            "A worker has it right now.",
        ),
        (
            {"status": "dead", "dead_reason": "rejected", "last_error": "no such address"},
            "The provider did not accept it.",
        ),
        ({"status": "cancelled", "handed_over_at": Now()}, "May have been sent"),
    ],
)
def test_the_page_claims_no_more_than_is_known(
    message: Message, support: User, log_in: LogIn, values: dict[str, Any], words: str
) -> None:
    settle(message.delivery, **values)
    assert words in page_of(message, log_in(support))


def settle(delivery: Delivery, **values: Any) -> None:
    final = values.get("status") in Delivery.FINAL
    finished_at = Now() if final else F("finished_at")
    Delivery.objects.filter(pk=delivery.pk).update(finished_at=finished_at, **values)


def test_whatever_a_message_holds_is_escaped_on_the_page(
    delivery: Delivery, support: User, log_in: LogIn
) -> None:
    part = {"filename": SCRIPT, "content_type": SCRIPT, "content": ""}
    message = store(
        delivery,
        **dict.fromkeys(("from_address", "subject", "text", "html", "reply_to"), SCRIPT),
        to=[SCRIPT],
        cc=[SCRIPT],
        headers={SCRIPT: SCRIPT, "X-Lines": "a\r\nBcc: b@c.example", "X-Number": 5},
        attachments=[part],
    )
    client = log_in(support)
    for page in (page_of(message, client), client.get(LIST).content.decode()):
        assert SCRIPT not in page
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


def test_a_huge_text_is_shortened_on_the_page_and_whole_on_its_own(
    delivery: Delivery, support: User, log_in: LogIn
) -> None:
    message = store(delivery, text="x" * 1_000_000, subject="y" * 10_000)
    client = log_in(support)
    page = page_of(message, client)
    assert len(page) < 150_000
    assert "This is only its beginning." in page
    whole = client.get(f"{LIST}{message.pk}/text/")
    assert whole.content == b"x" * 1_000_000
    assert_harmless(whole)
    assert whole["Content-Type"] == "text/plain; charset=utf-8"


def test_a_message_without_html_text_headers_and_attachments_says_so(
    delivery: Delivery, support: User, log_in: LogIn
) -> None:
    message = store(delivery, html="", text="", headers={}, attachments=[])
    client = log_in(support)
    assert page_of(message, client).count("None.") == 4
    assert client.get(f"{LIST}{message.pk}/html/").status_code == 404
    assert client.get(f"{LIST}{message.pk}/text/").status_code == 404


@pytest.mark.parametrize("stored", [{"a": 1}, "text", 5, [None, 5, "odd", {}, {"content": 5}]])
def test_oddly_stored_headers_and_attachments_break_nothing(
    delivery: Delivery, support: User, log_in: LogIn, stored: object
) -> None:
    message = store(delivery, attachments=stored, headers=stored)
    client = log_in(support)
    page_of(message, client)
    assert attachment_of(message, client).status_code == 404


# Its HTML and its attachments -----------------------------------------------------------------


def assert_harmless(answer: Any) -> None:
    policy = answer["Content-Security-Policy"]
    if answer["Content-Type"] == "application/pdf":
        assert policy == "script-src 'none'"
    else:
        assert "default-src 'none'" in policy
        assert "sandbox" in policy.replace(";", " ").split()
        assert "allow-" not in policy
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert "no-store" in answer["Cache-Control"]
    assert answer["Referrer-Policy"] == "no-referrer"


def test_the_html_is_answered_as_it_is_and_cannot_run(
    delivery: Delivery, support: User, log_in: LogIn
) -> None:
    message = store(delivery, html=SCRIPT)
    answer = log_in(support).get(f"{LIST}{message.pk}/html/")
    assert answer.content.decode() == SCRIPT
    assert answer["Content-Security-Policy"] == (
        "sandbox; default-src 'none'; img-src data:; style-src 'unsafe-inline'"
    )
    assert answer["X-Frame-Options"] == "SAMEORIGIN"
    assert_harmless(answer)


@pytest.mark.parametrize(
    ("content_type", "served"),
    [
        ("application/pdf", "application/pdf"),
        ("Application/PDF; name=x", "application/pdf"),
        ("text/plain; charset=latin-1", "text/plain; charset=utf-8"),
        ("image/png", "image/png"),
        ("image/jpeg", "image/jpeg"),
    ],
)
def test_what_runs_nothing_opens_in_the_browser(
    delivery: Delivery, support: User, log_in: LogIn, content_type: str, served: str
) -> None:
    message = attach(delivery, "INV-0001.x", content_type, b"\x00bytes\xff")
    answer = attachment_of(message, log_in(support))
    assert answer.content == b"\x00bytes\xff"
    assert answer["Content-Type"] == served
    assert answer["Content-Disposition"] == 'inline; filename="INV-0001.x"'
    assert answer["X-Frame-Options"] == "DENY"
    assert_harmless(answer)


@pytest.mark.parametrize(
    "content_type",
    ["text/html", "image/svg+xml", "text/xml", "application/xhtml+xml", "", "a\r\nX-Evil: 1"],
)
def test_what_might_run_is_only_downloaded(
    delivery: Delivery, support: User, log_in: LogIn, content_type: str
) -> None:
    message = attach(delivery, "page.html", content_type, SCRIPT.encode())
    answer = attachment_of(message, log_in(support))
    assert answer["Content-Type"] == "application/octet-stream"
    assert answer["Content-Disposition"] == 'attachment; filename="page.html"'
    assert_harmless(answer)


@pytest.mark.parametrize(
    ("filename", "disposition"),
    [
        ("a\r\nX-Evil: 1.pdf", 'inline; filename="a__X-Evil: 1.pdf"'),
        ('a"b.pdf', 'inline; filename="a\\"b.pdf"'),
        ("Grüße.pdf", "inline; filename*=utf-8''Gr%C3%BC%C3%9Fe.pdf"),
        ("\u202efdp.exe", 'inline; filename="_fdp.exe"'),
        ("x" * 5000 + ".pdf", f'inline; filename="{"x" * 146}.pdf"'),
        ("", 'inline; filename="attachment-1"'),
    ],
)
def test_a_file_name_cannot_leave_its_header(
    delivery: Delivery, support: User, log_in: LogIn, filename: str, disposition: str
) -> None:
    message = attach(delivery, filename, "application/pdf", b"%PDF")
    assert attachment_of(message, log_in(support))["Content-Disposition"] == disposition


def test_broken_base64_is_said_and_no_failure(
    delivery: Delivery, support: User, log_in: LogIn
) -> None:
    part = {"filename": "a.pdf", "content_type": "application/pdf", "content": "%%%"}
    message = store(delivery, attachments=[part])
    client = log_in(support)
    assert "Cannot be read" in page_of(message, client)
    answer = attachment_of(message, client)
    assert answer.status_code == 404
    assert "not base64" in answer.content.decode()


@pytest.mark.parametrize("place", [1, 10**30])
def test_a_missing_attachment_is_not_found(
    message: Message, support: User, log_in: LogIn, place: int
) -> None:
    assert attachment_of(message, log_in(support), place).status_code == 404


@pytest.mark.parametrize("address", ["html/", "text/", "attachments/0/"])
@pytest.mark.parametrize("message_id", [4_000_000, 10**30])
def test_a_missing_message_is_not_found(
    support: User, log_in: LogIn, message_id: int, address: str
) -> None:
    assert log_in(support).get(f"{LIST}{message_id}/{address}").status_code == 404


@pytest.mark.parametrize("message_id", ["4000000", "1" * 30, "nonsense"])
def test_the_page_of_a_missing_message_leads_to_the_start(
    support: User, log_in: LogIn, message_id: str
) -> None:
    assert log_in(support).get(f"{LIST}{message_id}/change/").status_code == 302


# Who may --------------------------------------------------------------------------------------

EVERY_ADDRESS = pytest.mark.parametrize(
    "address", ["", "{}/change/", "{}/html/", "{}/text/", "{}/attachments/0/", "{}/history/"]
)


@EVERY_ADDRESS
def test_support_and_auditors_may_look(
    message: Message, support: User, auditor: User, log_in: LogIn, address: str
) -> None:
    for user in (support, auditor):
        assert log_in(user).get(LIST + address.format(message.pk)).status_code == 200


@EVERY_ADDRESS
def test_operations_see_no_message(
    message: Message, operations: User, log_in: LogIn, address: str
) -> None:
    assert log_in(operations).get(LIST + address.format(message.pk)).status_code == 403


@EVERY_ADDRESS
def test_nobody_else_gets_past_the_login(
    message: Message, client: Client, owner: User, log_in: LogIn, address: str
) -> None:
    for anyone in (client, log_in(owner)):
        answer = anyone.get(LIST + address.format(message.pk))
        assert answer.status_code == 302
        assert answer["Location"].startswith("/admin/login/")


@pytest.mark.parametrize("address", ["change/", "html/", "text/", "attachments/0/"])
def test_a_message_is_only_looked_at(
    message: Message, support: User, log_in: LogIn, address: str
) -> None:
    assert log_in(support).post(f"{LIST}{message.pk}/{address}").status_code == 405


# What it costs --------------------------------------------------------------------------------


def test_the_page_asks_a_fixed_number_of_queries(
    message: Message,
    support: User,
    log_in: LogIn,
    django_assert_num_queries: Callable[..., Any],
) -> None:
    for number in range(30):
        store(message.delivery, idempotency_key=f"delivery-{number}")
    client = log_in(support)
    # Session, user, second step, permissions (2); the message, its heavy columns, the others.
    with django_assert_num_queries(8):
        page_of(message, client)


def test_the_list_asks_a_fixed_number_of_queries_and_for_nothing_heavy(
    message: Message,
    support: User,
    log_in: LogIn,
    django_assert_num_queries: Callable[..., Any],
) -> None:
    for number in range(30):
        store(message.delivery, idempotency_key=f"delivery-{number}")
    client = log_in(support)
    with django_assert_num_queries(7) as asked:
        client.get(LIST)
    for query in asked.captured_queries:
        for column in ("html", "text", "attachments", "headers"):
            assert f'"deliveries_message"."{column}"' not in query["sql"]


def test_the_list_finds_a_message_by_its_exact_key(
    message: Message, support: User, log_in: LogIn
) -> None:
    store(message.delivery, idempotency_key="delivery-of-before", subject="An older subject")
    client = log_in(support)
    found = client.get(LIST, {"q": "delivery-of-before"}).content.decode()
    assert "An older subject" in found
    assert f"{LIST}{message.pk}/change/" not in found
    assert "An older subject" not in client.get(LIST, {"q": "of-before"}).content.decode()
