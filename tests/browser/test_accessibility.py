"""What axe-core finds in the pages, in all states, light and dark: nothing."""

from collections.abc import Callable, Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from invoices.models import Organization
from tests.browser import everything
from tests.browser.rendered import Rendered, show

# What is shown in a frame is a page of its own here. Django's own label of the admin's search is a
# picture, which axe takes for none.
ALL: dict[str, object] = {
    "resultTypes": ["violations"],
    "iframes": False,
    "rules": {"label-title-only": {"enabled": False}},
}
COLOURS = ALL | {"runOnly": ["color-contrast"]}
# An e-mail is shown inside of a page: headings and landmarks are the page's.
OF_LETTERS = ALL | {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}

DESK, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}

Pages = Callable[[Organization], Iterator[Rendered]]


@pytest.fixture
def shown(request: pytest.FixtureRequest, db: None) -> list[Rendered]:
    """The pages, made before the browser starts: beside it Django's ORM refuses to work."""
    pages: Pages = request.param
    return list(pages(everything.make_everything()))


def found(page: Page, rendered: Rendered, options: dict[str, object]) -> list[str]:
    violations = Axe().run(page, options=options).response["violations"]
    return [
        f"{rendered.name}: {each['help']} ({each['id']}) at {node['target'][0]}\n"
        f"    {node['html'][:200]}\n    {node['failureSummary']}"
        for each in violations
        for node in each["nodes"]
    ]


def too_wide(page: Page, rendered: Rendered) -> list[str]:
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    over = page.evaluate(
        "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )
    page.set_viewport_size(DESK)  # type: ignore[arg-type]
    return [f"{rendered.name}: {over} pixels too wide for a phone"] if over > 0 else []


# Many pages in one browser: more than the usual limit on a machine that is busy.
@pytest.mark.thorough
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "shown",
    [
        everything.pages_of_invoices,
        everything.other_pages,
        everything.support_pages,
    ],
    indirect=True,
)
def test_axe_finds_nothing_light_or_dark_and_no_page_is_too_wide_for_a_phone(
    shown: list[Rendered], page: Page
) -> None:
    wrong = []
    for rendered in shown:
        page.emulate_media(color_scheme="light")
        show(page, rendered)
        wrong += found(page, rendered, OF_LETTERS if rendered.name == "letter" else ALL)
        page.emulate_media(color_scheme="dark")
        wrong += [f"dark: {each}" for each in found(page, rendered, COLOURS)]
        wrong += too_wide(page, rendered)
    assert not wrong, "\n".join(wrong)
