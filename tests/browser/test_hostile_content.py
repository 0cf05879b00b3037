"""What others wrote is shown in a real browser, and neither runs, nor loads, nor leads away."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import Frame, Page

from deliveries.models import Delivery
from invoices.models import EmailText, Logo
from tests import factories
from tests.browser.hostile import CLICKED, EVIL, HTML, SITE, Site, browsing, kept

PICTURE = "/settings/logo"
# In a tab of their own these are where the person goes who clicks on them.
LEADING = {"top-link", "parent-link", "download"}
SVG = f"""<svg xmlns="http://www.w3.org/2000/svg" onload="top.ran=1" width="99" height="99">
<script>top.ran=1;fetch('{EVIL}/svg')</script><image href="{EVIL}/image"/></svg>"""


@pytest.fixture
def superuser(db: None) -> Client:
    client = Client(headers={"Accept": "text/html"})
    client.force_login(User.objects.create_superuser("admin", password="a password"))
    return client


@pytest.fixture
def message(delivery: Delivery) -> str:
    """The address in the admin of a message that tries all it can."""
    made = factories.make_message(
        delivery=delivery, idempotency_key=delivery.idempotency_key, html=HTML
    )
    made.save()
    return f"/admin/deliveries/message/{made.pk}/"


def answers_of(client: Client, *paths: str) -> dict[str, Any]:
    return {path: kept(client.get(path)) for path in paths}


def look(answers: Mapping[str, Any], path: str, act: Callable[[Page], None]) -> Site:
    """Open the page, wait for what it does by itself, act, and return what came of it."""
    with browsing(answers) as (page, site):
        page.goto(f"{SITE}{path}")
        page.wait_for_timeout(1_000)
        act(page)
        page.wait_for_timeout(500)
        assert page.url == f"{SITE}{path}"
        assert page.evaluate("window.ran === undefined")
        assert len(page.context.pages) == 1
    return site


def click_all(frame: Frame, names: Sequence[str] = CLICKED) -> None:
    """Click on everything that might lead somewhere or run something."""
    for name in names:
        frame.click(f"#{name}", no_wait_after=True)


def in_frame(selector: str) -> Callable[[Page], None]:
    def act(page: Page) -> None:
        page.locator(selector).scroll_into_view_if_needed()
        frame = page.locator(selector).element_handle().content_frame()
        assert frame is not None
        click_all(frame)

    return act


def assert_nothing_happened(site: Site) -> None:
    assert [asked for asked in site.asked if EVIL in asked] == []
    assert [asked for asked in site.asked if not asked.startswith("GET ")] == []
    assert site.did == []


def test_a_message_in_the_admin_does_nothing(superuser: Client, message: str) -> None:
    page, html = f"{message}change/", f"{message}html/"
    answers = answers_of(superuser, page, html)
    site = look(answers, page, in_frame("iframe.message-html"))
    assert f"GET {SITE}{html}" in site.asked
    assert_nothing_happened(site)


def test_its_html_opened_by_itself_does_nothing_either(superuser: Client, message: str) -> None:
    html = f"{message}html/"

    def act(page: Page) -> None:
        click_all(page.main_frame, [name for name in CLICKED if name not in LEADING])

    assert_nothing_happened(look(answers_of(superuser, html), html, act))


def test_without_our_headers_all_of_it_would_happen(superuser: Client, message: str) -> None:
    """Else the tests above would prove nothing."""
    html = f"{message}html/"
    status, _, body = answers_of(superuser, html)[html]
    bare = {html: (status, {"Content-Type": "text/html"}, body)}
    with browsing(bare) as (page, site):
        page.goto(f"{SITE}{html}", wait_until="commit")
        wanted = ("ran", "style.css", "script.js", "picture", "frame", "background")
        missing = set(wanted)
        for _ in range(200):
            missing = {what for what in wanted if f"{EVIL}/{what}" not in " ".join(site.asked)}
            if not missing and "dialog" in site.did:
                break
            page.wait_for_timeout(100)
    assert missing == set()
    assert "dialog" in site.did


def test_a_letter_of_one_s_own_words_does_nothing(client: Client, owner: User) -> None:
    client.force_login(owner)
    words = {"subject": "Invoice {number}", "text": HTML[:3_000]}
    EmailText.objects.create(
        organization=owner.memberships.get().organization, kind="invoice", **words
    )
    letter = "/settings/preview/invoice"
    answers = answers_of(client, letter)
    status, _, body = answers[letter]
    assert status == 200
    assert b"<script" not in body
    assert b"evil.test" in body
    assert_nothing_happened(look(answers, letter, lambda page: None))


@pytest.mark.parametrize("content_type", ["image/svg+xml", "text/html", "image/png"])
def test_a_logo_that_is_none_does_not_run(client: Client, owner: User, content_type: str) -> None:
    """Uploads are encoded anew; this is what would come of one that stood in the table anyhow."""
    client.force_login(owner)
    organization = owner.memberships.get().organization
    Logo.objects.create(
        organization=organization,
        content=SVG.encode(),
        content_type="image/png",
        width=99,
        height=99,
        digest="0" * 64,
    )
    status, headers, body = answers_of(client, PICTURE)[PICTURE]
    answers = {PICTURE: (status, headers | {"Content-Type": content_type}, body)}
    assert_nothing_happened(look(answers, PICTURE, lambda page: None))


def test_what_is_tried_is_clicked_on() -> None:
    assert all(f'id="{name}"' in HTML for name in CLICKED)
