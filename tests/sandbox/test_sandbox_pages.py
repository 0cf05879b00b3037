"""The inbox as people see it."""

import base64
import re
from collections.abc import Callable
from typing import Any

import pytest
import requests

from deliveries.sandbox import SandboxProvider

HandOver = Callable[..., requests.Response]
EVIL = "<script>alert('x')</script>\"&"


def page(provider: SandboxProvider, path: str) -> requests.Response:
    answer = requests.get(provider.url + path, timeout=20)
    assert answer.status_code == 200
    return answer


def test_the_inbox_lists_messages_newest_first(
    provider: SandboxProvider, hand_over: HandOver
) -> None:
    hand_over("key-1", subject="The first", to=["ann@customer.example", "bob@customer.example"])
    hand_over("key-2", subject="The second")
    text = page(provider, "/").text
    assert text.index("The second") < text.index("The first")
    assert "ann@customer.example, bob@customer.example" in text
    assert "invoice.pdf" in text


def test_only_the_inbox_refreshes_itself(provider: SandboxProvider, hand_over: HandOver) -> None:
    message_id = hand_over().json()["id"]
    assert '<meta http-equiv="refresh" content="3">' in page(provider, "/").text
    assert "http-equiv" not in page(provider, f"/inbox/{message_id}").text


def test_an_empty_inbox_says_so(provider: SandboxProvider) -> None:
    assert "No message yet" in page(provider, "/").text


@pytest.mark.thorough
def test_a_large_inbox_shows_the_newest_and_counts_the_rest(
    provider: SandboxProvider, hand_over: HandOver
) -> None:
    for number in range(203):
        hand_over(f"key-{number}", subject=f"Number {number}.")
    text = page(provider, "/").text
    assert "Number 202." in text
    assert "Number 2." not in text
    assert "And 3 older ones" in text


def test_repeated_hand_overs_show(provider: SandboxProvider, hand_over: HandOver) -> None:
    answers = [hand_over("key-1") for _ in range(3)]
    message_id = answers[0].json()["id"]
    assert "3 times" in page(provider, "/").text
    assert "3 times, accepted once" in page(provider, f"/inbox/{message_id}").text


def test_faults_show_in_the_inbox_header(provider: SandboxProvider, hand_over: HandOver) -> None:
    provider.faults.set(fail_next={"status": 503, "count": 2}, delay_ms=1500, drip=None)
    hand_over("key-1")
    text = page(provider, "/").text
    assert "The next 1: answered with 503; Each takes 1.5 s" in text
    assert "<dt>Faulted</dt><dd>1</dd>" in text


def test_every_switch_shows_when_it_is_on(provider: SandboxProvider) -> None:
    assert "Everything works." in page(provider, "/").text
    for name, value in {
        "fail_next": {"status": 503},
        "delay_ms": 1,
        "drip": {"interval_ms": 5},
        "hang_next": 1,
        "hang_after_accept_next": 1,
        "drop_before_next": 1,
        "drop_after_accept_next": 1,
        "cut_mid_answer_next": 1,
        "redirect_next": 1,
        "html_200_next": 1,
        "down": True,
        "fail_addresses": ["a@b.example"],
        "random_failure": {"rate": 0.2},
    }.items():
        provider.faults.set(**{name: value})
        assert "Everything works." not in page(provider, "/").text, name


@pytest.mark.parametrize(
    ("button", "switches"),
    [
        ("fail_two", {"delay_ms": 1, "fail_next.count": 2}),
        ("slow", {"delay_ms": 2000}),
        ("drop_after_accept", {"delay_ms": 1, "drop_after_accept_next": 1}),
        ("clear", {"delay_ms": 0}),
    ],
)
def test_buttons_change_their_switch_only(
    provider: SandboxProvider, button: str, switches: dict[str, int]
) -> None:
    provider.faults.set(delay_ms=1)
    assert f'value="{button}"' in page(provider, "/").text
    answer = requests.post(
        f"{provider.url}/faults/form", data={"switch": button}, timeout=20, allow_redirects=False
    )
    assert (answer.status_code, answer.headers["Location"]) == (303, "/")
    now = provider.faults.snapshot()
    flat = {**now, "fail_next.count": (now["fail_next"] or {}).get("count")}
    assert {name: flat[name] for name in switches} == switches


def test_an_unknown_button_is_refused(provider: SandboxProvider) -> None:
    answer = requests.post(f"{provider.url}/faults/form", data={"switch": "x"}, timeout=20)
    assert (answer.status_code, answer.json()["error"]["name"]) == (422, "invalid_fault")


def test_whatever_a_message_holds_is_escaped(
    provider: SandboxProvider, hand_over: HandOver
) -> None:
    message_id = hand_over(
        "<script>key</script>",
        subject=EVIL,
        to=f'"{EVIL[:-2]}" <ann@customer.example>',
        reply_to="<ann@customer.example>",
        text=EVIL,
        html=EVIL,
        headers={"X-A": EVIL},
        attachments=[{"filename": EVIL, "content": "YQ=="}],
    ).json()["id"]
    for path in ("/", f"/inbox/{message_id}"):
        text = page(provider, path).text
        assert "<script>" not in text
        assert "&lt;script&gt;" in text


def test_half_a_surrogate_pair_does_not_break_a_page(
    provider: SandboxProvider, hand_over: HandOver
) -> None:
    half = "\ud83d"
    files = [{"filename": half, "content": "YQ=="}]
    answer = hand_over(subject=half, text=half, html=half, attachments=files)
    message_id = answer.json()["id"]
    for path in ("/", f"/inbox/{message_id}", f"/inbox/{message_id}/html"):
        assert "?" in page(provider, path).text
    page(provider, f"/inbox/{message_id}/attachments/0")


def test_the_pages_may_load_nothing(provider: SandboxProvider) -> None:
    answer = page(provider, "/")
    assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'; ")
    assert not re.search(r'(?:src|href)="https?:', answer.text)


def test_the_html_body_is_shown_in_a_sandbox(
    provider: SandboxProvider, hand_over: HandOver
) -> None:
    message_id = hand_over(html="<p>Grüße</p>").json()["id"]
    source = f"/inbox/{message_id}/html"
    assert f'<iframe sandbox="" src="{source}"' in page(provider, f"/inbox/{message_id}").text
    body = page(provider, source)
    assert body.text == "<p>Grüße</p>"
    assert body.headers["Content-Type"] == "text/html; charset=utf-8"
    assert body.headers["Content-Security-Policy"] == (
        "sandbox; default-src 'none'; img-src data:; style-src 'unsafe-inline'"
    )


def test_a_message_without_html_or_attachments_has_a_page(
    provider: SandboxProvider, hand_over: HandOver
) -> None:
    message_id = hand_over(html=None, headers=None, attachments=None).json()["id"]
    text = page(provider, f"/inbox/{message_id}").text
    assert "iframe" not in text.split("</style>")[1]
    assert "Please pay." in text
    answer = requests.get(f"{provider.url}/inbox/{message_id}/html", timeout=20)
    assert answer.status_code == 404


def test_a_pdf_opens_in_the_browser(provider: SandboxProvider, hand_over: HandOver) -> None:
    message_id = hand_over().json()["id"]
    path = f"/inbox/{message_id}/attachments/0"
    assert f'href="{path}"' in page(provider, f"/inbox/{message_id}").text
    file = page(provider, path)
    assert file.content == b"%PDF-1.7"
    assert file.headers["Content-Type"] == "application/pdf"
    assert file.headers["X-Content-Type-Options"] == "nosniff"
    assert file.headers["Content-Disposition"] == (
        "inline; filename=\"invoice.pdf\"; filename*=UTF-8''invoice.pdf"
    )


@pytest.mark.parametrize("content_type", ["text/html", "image/svg+xml", "application/pdf2"])
def test_other_attachments_are_downloaded(
    provider: SandboxProvider, hand_over: HandOver, content_type: str
) -> None:
    content = base64.b64encode(b"<script>").decode()
    files: list[dict[str, Any]] = [
        {"filename": 'Rechnung "ü"\\.html', "content_type": content_type, "content": content}
    ]
    message_id = hand_over(attachments=files).json()["id"]
    file = page(provider, f"/inbox/{message_id}/attachments/0")
    assert file.headers["Content-Disposition"] == (
        'attachment; filename="Rechnung ____.html"; '
        "filename*=UTF-8''Rechnung%20%22%C3%BC%22%5C.html"
    )
    assert file.headers["Content-Security-Policy"].startswith("sandbox")


def test_an_attachment_that_is_not_there_is_not_found(
    provider: SandboxProvider, hand_over: HandOver
) -> None:
    message_id = hand_over().json()["id"]
    answer = requests.get(f"{provider.url}/inbox/{message_id}/attachments/1", timeout=20)
    assert answer.status_code == 404
