"""A real browser finds nothing on any page that the site's own policy forbids."""

import json

import pytest
from playwright.sync_api import Page

from tests.browser.conftest import Demo, log_in

FINANCE = (
    *("invoices", "invoices/new", "invoices/import", "customers", "customers/new", "bounces"),
    *(
        "reminders",
        "settings",
        "settings/texts",
        "settings/preview/invoice",
        "settings/members",
        "settings/reminders",
    ),
    *("settings/tokens", "nowhere"),
)
ADMIN = (
    *("", "trace/?q=INV-0001", "deliveries/delivery/", "deliveries/deadletter/"),
    *("deliveries/lane/", "deliveries/workerpresence/", "deliveries/message/"),
    *("invoices/customer/", "invoices/invoice/", "invoices/organization/", "auth/user/"),
    *("auth/user/add/", "auth/group/add/", "otp_totp/totpdevice/add/", "password_change/"),
)
NOTE = """
    window.violations = [];
    document.addEventListener("securitypolicyviolation", (event) => window.violations.push(
        `${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}:${event.lineNumber}`));
"""


@pytest.fixture
def violations(page: Page) -> list[str]:
    """What the browser complained about, on whichever page."""
    found: list[str] = []
    page.add_init_script(NOTE)
    page.on(
        "console",
        lambda line: (
            found.append(f"{page.url}: {line.text}")
            if "Content Security Policy" in line.text or "Permissions-Policy" in line.text
            else None
        ),
    )
    return found


def visit(page: Page, address: str, found: list[str]) -> None:
    page.goto(address)
    page.wait_for_load_state("load")
    said = json.loads(page.evaluate("JSON.stringify(window.violations)"))
    found += [f"{address}: {line}" for line in said]


def test_finance_s_pages_keep_to_the_policy(demo: Demo, page: Page, violations: list[str]) -> None:
    log_in(page, demo, "finance")
    for path in FINANCE:
        visit(page, f"{demo.app}{path}", violations)
    page.goto(f"{demo.app}invoices")
    page.get_by_role("row").filter(has_text="INV-0004").get_by_role("link").first.click()
    page.wait_for_url("**/invoices/*")
    visit(page, page.url, violations)
    visit(page, f"{page.url}/edit", violations)
    assert violations == []


@pytest.mark.thorough
def test_the_admin_s_pages_keep_to_the_policy(
    demo: Demo, page: Page, violations: list[str]
) -> None:
    page.goto(f"{demo.app}admin/")
    page.fill("input[name=username]", "admin")
    page.fill("input[name=password]", "invoicehub-demo")
    page.get_by_role("button", name="Log in").click()
    for path in ADMIN:
        visit(page, f"{demo.app}admin/{path}", violations)
    for path in ("deliveries/lane/", "invoices/invoice/", "invoices/customer/", "auth/user/"):
        page.goto(f"{demo.app}admin/{path}")
        page.locator("#result_list tbody th a").first.click()
        visit(page, page.url, violations)
    visit(page, f"{demo.app}login/second-step/app", violations)
    assert page.locator(".qr img").evaluate("image => image.naturalWidth") > 100
    assert violations == []


def test_the_policy_is_felt(demo: Demo, page: Page, violations: list[str]) -> None:
    visit(page, f"{demo.app}login", violations)
    page.evaluate("""() => {
        const script = document.createElement("script");
        script.textContent = "window.ran = true";
        document.body.append(script);
    }""")
    assert page.evaluate("window.ran") is None
    page.wait_for_function("window.violations.length > 0")
