"""No log of a full run tells an address, a subject, a body, a password, a token or a key."""

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests
from django.contrib.auth.models import User

from deliveries import signatures
from deliveries.models import Delivery
from invoicehub.rehearsal.fleet import Fleet
from invoices import tokens
from invoices.models import Member, Organization
from tests import factories
from tests.events.provider import KEY, SECRET, payload
from tests.invoices.importing.files import file_of, row
from tests.process.conftest import database_url, log_lines, settled

SETTINGS = {
    "SECRET_KEY": "the-secret-key-of-this-run-" + "k" * 40,
    "EMAIL_PROVIDER_API_KEY": "re_the_api_key_of_this_run",
    "EMAIL_PROVIDER_WEBHOOK_SECRET": SECRET,
    "LOG_LEVEL": "DEBUG",
}
PASSWORD = "a long password 1"


@pytest.fixture
def fleet(transactional_db: None, tmp_path: Path) -> Iterator[Fleet]:
    with Fleet(database_url=database_url(), folder=tmp_path, settings=SETTINGS) as fleet:
        fleet.start_provider()
        fleet.start_web()
        fleet.start_worker()
        yield fleet


class Browser:
    def __init__(self, url: str) -> None:
        self.url = url
        self.session = requests.Session()
        self.session.headers["Accept"] = "text/html"

    def get(self, path: str) -> requests.Response:
        return self.session.get(self.url + path, timeout=30)

    def post(
        self, path: str, files: dict[str, tuple[str, bytes, str]] | None = None, **form: str
    ) -> str:
        form["csrfmiddlewaretoken"] = self.session.cookies.get("csrftoken") or ""
        headers = {"Referer": self.url}
        answer = self.session.post(
            self.url + path, data=form, files=files, headers=headers, timeout=30
        )
        return answer.text


def test_the_logs_of_a_full_run_tell_no_secret(
    fleet: Fleet, mainland: Organization, finance: User
) -> None:
    browser = Browser(fleet.web_url)
    browser.get("/login")
    browser.post("/login", username="somebody@people.example", password="a wrong password")
    browser.post("/login", username="finance", password=PASSWORD)
    sent = _send(fleet, browser, mainland)
    _report_a_bounce(fleet, sent)
    invitation = _invite(browser)
    _import(browser)
    token = _use_a_token(fleet, finance)
    told = "\n".join(process.output() for process in fleet.processes)
    _assert_silent(told, browser, token, invitation)
    messages = {line["message"] for line in log_lines(*fleet.processes)}
    assert {"login failed", "delivery sent", "delivery dead", "attempt failed"} <= messages


def _send(fleet: Fleet, browser: Browser, mainland: Organization) -> Delivery:
    """Send one invoice after a failure, and one that is refused; return the sent one."""
    good = factories.make_invoice(mainland, number="INV-0001")
    bad = factories.make_invoice(mainland, number="INV-0002", email="invalid@refused.example")
    fleet.provider.fail(fail_next={"status": 503, "count": 1})
    for invoice in (good, bad):
        browser.post(f"/invoices/{invoice.pk}/send")
    sent, dead = (settled(Delivery.objects.get(invoice=one).pk) for one in (good, bad))
    assert (sent.status, dead.status) == ("sent", "dead")
    return sent


def _report_a_bounce(fleet: Fleet, sent: Delivery) -> None:
    what = payload("bounced", message_id=sent.provider_message_id)
    body = json.dumps(what).encode()
    address = f"{fleet.web_url}/webhooks/email"
    signed = signatures.headers(KEY, body, id_="event-1", timestamp=int(time.time()))
    assert requests.post(address, body, headers=signed, timeout=30).status_code == 202
    forged = signed | {"svix-signature": "v1,Zm9yZ2Vk"}
    assert requests.post(address, body, headers=forged, timeout=30).status_code == 401
    sent.refresh_from_db()
    assert sent.after_sending == "bounced"


def _invite(browser: Browser) -> str:
    page = browser.post("/settings/invitations", email="eve@invited.example", role="viewer")
    found = re.search(r"/invitations/([\w-]{43})", page)
    assert found is not None
    Browser(browser.url).get(f"/invitations/{found[1]}")
    browser.get(f"/invitations/{found[1][:-1]}0")
    browser.get("/nowhere/eve@invited.example?token=" + found[1])
    return found[1]


def _import(browser: Browser) -> None:
    for lines in ([row()], [row(amount="not a number")]):
        file = ("march.csv", file_of(*lines), "text/csv")
        browser.post("/invoices/import", files={"file": file})


def _use_a_token(fleet: Fleet, finance: User) -> str:
    token = tokens.issue(Member.objects.get(user=finance), name="ERP")
    for given in (token, token + "x"):
        headers = {"Authorization": f"Bearer {given}"}
        requests.get(f"{fleet.web_url}/deliveries/1", headers=headers, timeout=30)
    return token


def _assert_silent(told: str, browser: Browser, token: str, invitation: str) -> None:
    secret = [
        *("accounts@mamaput.example", "invalid@refused.example", "refused.example"),
        *("eve@invited.example", "ada@customer.example", "somebody@people.example"),
        *("Mama Put", "Mainland Supplies", "Market Road", "Rice, 50 kg"),
        *("Please find", "billing@mainland-supplies.example", "JVBERi"),
        *(PASSWORD, "a wrong password", "somebody", token, invitation, invitation[:-1]),
        *SETTINGS.values(),
        *(value for name, value in browser.session.cookies.items()),
    ]
    secret.remove("DEBUG")
    assert [words for words in secret if words in told] == []
