"""Pages that were rendered beforehand, shown to a real browser without a server in between.

A page that a form answers with is shown as well as any other, and whatever state is wanted is
made by the factories, in a transaction that comes to nothing.
"""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from django.contrib.staticfiles import finders
from django.test import Client, RequestFactory
from django.views.i18n import JavaScriptCatalog
from playwright.sync_api import Page, Route

SITE = "http://invoicehub.test"


@dataclass(frozen=True)
class Rendered:
    """An answer of the application; `name` says which page it is, and what is special about it."""

    name: str
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def address(self) -> str:
        return f"{SITE}/{self.name.replace(' ', '-')}"


def rendered(name: str, response: Any, status: int = 200) -> Rendered:
    assert response.status_code == status, f"{name}: {response.status_code}"
    # Without its policy, which keeps axe out as it should; tests/browser/test_content_security.py
    # holds the pages to it.
    kept = {n: v for n, v in response.headers.items() if n != "Content-Security-Policy"}
    return Rendered(name, status, kept, response.content)


def posted(client: Client, called: str, path: str, **data: Any) -> Rendered:
    return rendered(called, client.post(path, data))


def got(client: Client, name: str, path: str, status: int = 200) -> Rendered:
    return rendered(name, client.get(path), status)


def show(page: Page, shown: Rendered) -> None:
    """Open the page, with its style and scripts; what else it asks for is answered by nothing."""
    page.unroute_all()
    page.route("**/*", lambda route: _answer(route, shown))
    page.goto(shown.address)
    # Colours are looked at as they are to stay.
    page.add_style_tag(content="* { transition: none !important }")


def _answer(route: Route, shown: Rendered) -> None:
    path = urlsplit(route.request.url).path
    if route.request.url == shown.address:
        route.fulfill(status=shown.status, headers=shown.headers, body=shown.body)
    elif path.startswith("/static/") and (found := finders.find(path.removeprefix("/static/"))):
        route.fulfill(path=str(found))
    elif path.endswith("/jsi18n/"):
        catalog: Any = JavaScriptCatalog.as_view(packages=["django.contrib.admin"])
        route.fulfill(
            body=catalog(RequestFactory().get(path)).content, content_type="text/javascript"
        )
    else:
        route.fulfill(status=204)
