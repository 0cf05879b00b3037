"""Support's main job in a real browser: a wrong address, put right, and one e-mail in the end."""

import re

import requests
from playwright.sync_api import Page, expect

from invoicehub.rehearsal.waiting import wait_for
from tests.browser.conftest import Demo, log_in


def test_a_wrong_address_is_corrected_and_replayed_and_the_timeline_tells_it_all(
    demo: Demo, page: Page
) -> None:
    log_in(page, demo, "finance")
    row = page.get_by_role("row").filter(has_text="INV-0003")
    row.get_by_role("button", name="Send").click()
    expect(row).to_contain_text("Not sent", timeout=30_000)
    page.context.clear_cookies()

    page.goto(f"{demo.app}admin/")
    page.fill("input[name=username]", "support")
    page.fill("input[name=password]", "invoicehub-demo")
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("link", name="Dead letters").first.click()
    page.get_by_role("row").filter(has_text="Palm Wine Bar").get_by_role("link").click()
    story = page.url
    page.get_by_role("link", name="Customer Palm Wine Bar").click()
    page.fill("input[name=email]", "orders@palmwine.example")
    page.get_by_role("button", name="Save", exact=True).click()
    page.goto(story)
    page.get_by_role("link", name="Replay").click()
    page.get_by_label("Why?").fill("The customer told us the right address.")
    page.get_by_role("button", name="Replay").click()
    expect(page.get_by_text("1 replayed.")).to_be_visible()

    wait_for(lambda: page.reload() and page.locator(".pill-good").count(), "it is sent", seconds=30)
    steps = page.get_by_role("row").all_inner_texts()[1:]
    told = [re.split(r"\s*\t\s*", step)[1] for step in steps]
    # The provider may have reported more since.
    assert told[:5] == ["Requested", "Not sent", "Corrected", "Replayed", "Sent"]
    assert ["finance" in steps[0], "support" in steps[2], "support" in steps[3]] == [True] * 3
    assert "The customer told us the right address." in steps[3]
    sent = [
        message
        for message in requests.get(f"{demo.inbox}messages", timeout=10).json()
        if "INV-0003" in message["subject"]
    ]
    assert [message["to"] for message in sent] == ["orders@palmwine.example"]
    page.get_by_role("searchbox", name="Search every invoice").fill("orders@palmwine")
    page.get_by_role("button", name="Trace").first.click()
    expect(page.get_by_text("The customer told us the right address.")).to_be_visible()
