"""The main job as a finance person does it, in a real browser on the demo."""

import io
import re

import pytest
import requests
from playwright.sync_api import Page, expect
from pypdf import PdfReader

from tests.browser.conftest import Demo, log_in


def test_a_click_on_send_ends_in_delivered_without_a_reload_and_one_email_with_a_readable_pdf(
    demo: Demo, page: Page
) -> None:
    log_in(page, demo, "finance")
    row = page.get_by_role("row").filter(has_text="INV-0001")
    expect(row).to_contain_text("₦45,000.00")
    drafts = page.get_by_role("link", name=re.compile("^Draft"))
    before = int(drafts.inner_text().split()[-1])
    row.get_by_role("button", name="Send").click()
    expect(row).to_contain_text("Delivered", timeout=30_000)
    expect(drafts).to_have_text(f"Draft {before - 1}")
    expect(page.get_by_role("button", name="Send all drafts")).to_contain_text(f"({before - 1})")
    assert page.evaluate("performance.getEntriesByType('navigation')[0].type") != "reload"
    messages = requests.get(f"{demo.inbox}messages", timeout=10).json()
    [message] = [m for m in messages if "INV-0001" in m["subject"]]
    assert message["to"] == "accounts@mamaput.example"
    page.goto(demo.inbox)
    page.get_by_role("link", name="INV-0001").first.click()
    link = page.get_by_role("link", name="INV-0001.pdf").get_attribute("href")
    pdf = page.request.get(f"{demo.inbox.rstrip('/')}{link}")
    assert pdf.headers["content-type"].startswith("application/pdf")
    text = PdfReader(io.BytesIO(pdf.body())).pages[0].extract_text()
    assert "INV-0001" in text
    assert "₦45,000.00" in text
    assert "Mama Put Kitchen" in text


@pytest.mark.thorough
def test_without_javascript_send_works_and_leads_back(demo: Demo, page: Page) -> None:
    context = page.context.browser.new_context(java_script_enabled=False)  # type: ignore[union-attr]
    plain = context.new_page()
    log_in(plain, demo, "finance")
    row = plain.get_by_role("row").filter(has_text="INV-0002")
    row.get_by_role("button", name="Send").click()
    plain.wait_for_url("**/invoices#invoice-*")
    expect(plain.get_by_role("row").filter(has_text="INV-0002")).to_contain_text(
        re.compile("Sen|Delivered")
    )
    context.close()


@pytest.mark.thorough
def test_an_outsider_sees_nothing_of_it(demo: Demo, page: Page) -> None:
    log_in(page, demo, "outsider")
    expect(page.get_by_text("Mama Put Kitchen")).to_have_count(0)
    expect(page.get_by_text("Café Förde")).to_have_count(1)
