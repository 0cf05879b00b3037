"""What finance does all day, in a real browser on the demo, at a desk and on a phone.

Every test makes what it needs, under numbers of its own: the demo is shared.
"""

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Demo, log_in
from tests.invoices.importing.files import LINES_HEADER, file_of, item

DESK, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
widths = pytest.mark.parametrize(
    "size",
    [
        pytest.param(DESK, id="desk"),
        pytest.param(PHONE, id="phone", marks=pytest.mark.thorough),
    ],
)
# The demo's provider reports at once that it was delivered.
ON_ITS_WAY = re.compile("Sent|Delivered")
SOON = 30_000


def fits(page: Page) -> bool:
    """Tell whether the page can be read without scrolling sideways."""
    fits: bool = page.evaluate(
        "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    )
    return fits


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).first.click()


def follow(page: Page, name: str) -> None:
    page.get_by_role("link", name=name, exact=True).first.click()


def line(page: Page, place: int) -> Locator:
    return page.get_by_role("group", name=f"Line {place}")


def write_line(page: Page, place: int, description: str, quantity: str, price: str) -> None:
    group = line(page, place)
    group.get_by_label("Description").fill(description)
    group.get_by_label("Quantity").fill(quantity)
    group.get_by_label("Unit price").fill(price)


def write_invoice(page: Page, number: str) -> None:
    """Fill in what a new invoice needs, but not save it."""
    follow(page, "New invoice")
    customer = page.get_by_role("combobox", name="Customer")
    customer.select_option(
        customer.locator("option", has_text="Grace Hotel").get_attribute("value")
    )
    page.get_by_label("Invoice number").fill(number)
    write_line(page, 1, "Table linen", "2", "1,000.50")


def import_file(page: Page, *lines: str) -> None:
    file: Any = {"name": "march.csv", "mimeType": "text/csv", "buffer": b""}
    file["buffer"] = file_of(*lines, header=LINES_HEADER)
    page.get_by_label("CSV file").set_input_files(file)
    press(page, "Check the file")


def rows(page: Page, text: str) -> Locator:
    return page.locator(".listed tbody tr").filter(has_text=text)


def find(page: Page, term: str) -> None:
    page.get_by_label("Number, customer or address").fill(term)
    press(page, "Search")
    expect(rows(page, term).first).to_be_visible()


@widths
def test_an_invoice_is_written_with_live_totals_sent_paid_and_void(
    demo: Demo, page: Page, size: Any
) -> None:
    page.set_viewport_size(size)
    log_in(page, demo, "finance")
    write_invoice(page, number := f"FLOW-{size['width']}")
    expect(page.locator("#totals")).to_contain_text("₦2,001.00")
    press(page, "Add a line")
    write_line(page, 2, "Candles", "10", "50")
    expect(page.locator("#totals")).to_contain_text("₦2,501.00")
    assert fits(page)
    page.get_by_role("button", name="Save", exact=True).last.click()
    expect(page.get_by_role("heading", name=number)).to_be_visible()
    press(page, f"Send {number}")
    expect(page.locator("#email")).to_contain_text(ON_ITS_WAY, timeout=SOON)
    follow(page, "Mark as paid")
    press(page, "Mark as paid")
    expect(page.locator("#payment")).to_have_text(re.compile("Paid"))
    press(page, "Not paid after all")
    follow(page, "Void")
    press(page, "Void the invoice")
    expect(page.get_by_role("alert").or_(page.locator(".errorlist")).first).to_be_visible()
    page.get_by_label("Why is it void?").fill("Ordered twice.")
    press(page, "Void the invoice")
    expect(page.locator("#payment")).to_have_text(re.compile("Void"))
    assert fits(page)


@pytest.mark.thorough
@widths
def test_a_file_is_mended_and_imported_and_its_drafts_are_sent_together(
    demo: Demo, page: Page, size: Any
) -> None:
    page.set_viewport_size(size)
    log_in(page, demo, "finance")
    follow(page, "Import")
    name = f"MANY-{size['width']}"
    import_file(page, item(f"{name}-1"), item(f"{name}-2", unit_price="lots"))
    expect(page.get_by_role("heading", name="1 problem")).to_be_visible()
    expect(page.get_by_role("row").filter(has_text="unit_price")).to_contain_text("lots")
    assert fits(page)
    follow(page, "Choose another file")
    import_file(page, item(f"{name}-1"), item(f"{name}-2"))
    press(page, "Import 2 invoices")
    expect(page.locator("#messages")).to_contain_text("2 invoices were imported")
    find(page, name)
    for box in page.get_by_role("checkbox", name=f"Select {name}").all():
        box.check()
    assert fits(page)
    press(page, "Send selected (2)")
    press(page, "Send 2 invoices")
    expect(page.get_by_role("row").filter(has_text=ON_ITS_WAY)).to_have_count(2, timeout=SOON)
    assert fits(page)


@pytest.mark.thorough
def test_a_customers_address_is_put_right_and_the_invoice_retried(demo: Demo, page: Page) -> None:
    log_in(page, demo, "finance")
    follow(page, "Import")
    import_file(page, item("WRONG-1", customer_name="Ona", customer_email="refused@ona.example"))
    press(page, "Import 1 invoice")
    find(page, "WRONG-1")
    rows(page, "WRONG-1").get_by_role("button", name="Send").click()
    expect(rows(page, "WRONG-1")).to_contain_text("Not sent", timeout=SOON)
    follow(page, "Customers")
    follow(page, "Ona")
    page.get_by_label("E-mail address").fill("ona@ona.example")
    press(page, "Save")
    expect(page.locator("#messages")).to_contain_text("Saved.")
    follow(page, "Invoices")
    find(page, "WRONG-1")
    follow(page, "WRONG-1")
    follow(page, "Retry")
    expect(page.locator("main")).to_contain_text("ona@ona.example")
    press(page, "Send again")
    expect(page.locator("#email .told")).to_contain_text(ON_ITS_WAY, timeout=SOON)


@pytest.mark.thorough
def test_the_keyboard_is_enough(demo: Demo, page: Page) -> None:
    keys = page.keyboard
    page.goto(demo.app)
    page.get_by_label("Username").focus()
    keys.type("finance")
    keys.press("Tab")
    keys.type("invoicehub-demo")
    keys.press("Enter")
    expect(page.get_by_role("heading", name="Invoices", exact=True)).to_be_visible()
    keys.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    keys.press("Enter")
    follow_by_keys(page, "New invoice")
    page.wait_for_url("**/invoices/new")
    page.locator("#id_customer").focus()
    keys.type("Grace")
    page.get_by_label("Invoice number").focus()
    keys.press("Control+a")
    keys.type("KEYS-1")
    line(page, 1).get_by_label("Description").focus()
    for typed in ("Rice", "3", "100"):
        keys.type(typed)
        keys.press("Tab")
    keys.press("Enter")
    expect(page.get_by_role("heading", name="KEYS-1")).to_be_visible()
    page.goto(f"{demo.app}invoices")
    keys.press("/")
    keys.type("KEYS-1")
    keys.press("Enter")
    page.wait_for_url("**q=KEYS-1**")
    keys.press("j")
    expect(page.get_by_role("link", name="KEYS-1", exact=True)).to_be_focused()
    keys.press("x")
    expect(page.get_by_role("checkbox", name="Select KEYS-1")).to_be_checked()
    keys.press("k")
    keys.press("s")
    expect(rows(page, "KEYS-1")).to_contain_text(ON_ITS_WAY, timeout=SOON)


def follow_by_keys(page: Page, name: str) -> None:
    """Press Tab until the link has the focus, then Enter."""
    link = page.get_by_role("link", name=name, exact=True)
    for _ in range(30):
        page.keyboard.press("Tab")
        if link.evaluate("link => link === document.activeElement"):
            return page.keyboard.press("Enter")
    pytest.fail(f"{name} cannot be reached with Tab.")


def test_without_javascript_an_invoice_is_written_and_sent(demo: Demo, page: Page) -> None:
    context = page.context.browser.new_context(java_script_enabled=False)  # type: ignore[union-attr]
    plain = context.new_page()
    log_in(plain, demo, "finance")
    write_invoice(plain, "PLAIN-1")
    press(plain, "Add a line")
    write_line(plain, 2, "Candles", "10", "50")
    plain.get_by_role("button", name="Remove line 1").click()
    expect(line(plain, 2)).to_have_count(0)
    plain.get_by_role("button", name="Save", exact=True).last.click()
    expect(plain.locator(".sums")).to_contain_text("₦500.00")
    press(plain, "Send PLAIN-1")
    expect(plain.locator("#messages")).to_contain_text("PLAIN-1 is on its way.")
    context.close()


@pytest.mark.thorough
def test_an_emails_text_is_previewed_while_it_is_typed(demo: Demo, page: Page) -> None:
    log_in(page, demo, "finance")
    follow(page, "Settings")
    follow(page, "E-mail texts")
    reminder = page.locator("#reminder")
    reminder.get_by_label("Subject").fill("About {number}, once more")
    shown = page.locator("#preview-reminder")
    expect(shown).to_contain_text(re.compile(r"About \S+, once more"))
    expect(shown).to_contain_text("Not saved yet.")
