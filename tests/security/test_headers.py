"""Every answer tells the browser how little it may do."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from invoices.models import Invoice


def policy_of(client: Client, address: str) -> dict[str, str]:
    header = client.get(address, headers={"Accept": "text/html"}).headers["Content-Security-Policy"]
    return {rule.split()[0]: rule.partition(" ")[2] for rule in header.split("; ")}


@pytest.mark.parametrize("address", ["/login", "/invoices", "/nowhere", "/healthz", "/admin/"])
def test_every_answer_has_a_policy_without_inline_code(
    client: Client, owner: User, address: str
) -> None:
    client.force_login(owner)
    policy = policy_of(client, address)
    assert "unsafe" not in str(policy)
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["form-action"] == "'self'"
    assert policy["frame-ancestors"] == policy["object-src"] == policy["base-uri"] == "'none'"


def test_our_own_pages_may_frame_a_pdf_and_nothing_in_it_runs(
    client: Client, owner: User, invoice: Invoice
) -> None:
    client.force_login(owner)
    policy = policy_of(client, f"/invoices/{invoice.pk}/pdf")
    assert policy == {
        "script-src": "'none'",
        "base-uri": "'none'",
        "frame-ancestors": "'self'",
    }


def test_a_view_s_own_narrower_policy_stays(client: Client, owner: User) -> None:
    client.force_login(owner)
    answer = client.get("/settings/preview/invoice")
    assert answer.headers["Content-Security-Policy"].startswith("sandbox; default-src 'none'")


def test_other_headers_are_there(client: Client, db: None) -> None:
    headers = client.get("/login").headers
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "same-origin"
    assert headers["Cross-Origin-Opener-Policy"] == "same-origin"
    assert headers["X-Frame-Options"] == "DENY"
    assert "camera=()" in headers["Permissions-Policy"]
