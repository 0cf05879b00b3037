"""Support's start page, which stays open all day: it renews itself, and says when it cannot."""

from playwright.sync_api import Page, expect

from tests.browser.conftest import Demo


def test_the_numbers_renew_themselves_and_say_so_when_they_cannot(demo: Demo, page: Page) -> None:
    page.clock.install()
    page.goto(f"{demo.app}admin/")
    page.fill("input[name=username]", "admin")
    page.fill("input[name=password]", "invoicehub-demo")
    page.get_by_role("button", name="Log in").click()
    numbers = page.locator("#right-now")
    expect(numbers).to_contain_text("UTC")
    numbers.evaluate("shown => shown.dataset.seen = 'before'")
    numbers.get_by_text("As a table").click()
    page.locator("body").click(position={"x": 1, "y": 1})
    page.clock.fast_forward(31_000)
    expect(page.locator("#right-now:not([data-seen])")).to_be_visible()
    expect(page.locator("#right-now details[open]")).to_be_visible()
    expect(numbers).not_to_contain_text("not renewed")
    page.route("**/admin/", lambda route: route.abort())
    page.clock.fast_forward(31_000)
    expect(numbers).to_contain_text("and not renewed since: reload the page.")
