"""An e-mail's HTML that tries all it can, and a browser that shows what came of it."""

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from playwright.sync_api import Dialog, Page, Route, sync_playwright

from tests.browser.conftest import BROWSERS, QUIET

SITE, EVIL = "https://invoices.test", "https://evil.test"
_RUN = f"top.ran=window.ran=1;alert(1);fetch('{EVIL}/ran')"
HTML = f"""<!doctype html><html><head>
<base href="{EVIL}/base/">
<meta http-equiv="refresh" content="0;url={EVIL}/refresh">
<link rel="stylesheet" href="{EVIL}/style.css"><link rel="preload" as="image" href="{EVIL}/load">
<link rel="prefetch" href="{EVIL}/fetch"><link rel="icon" href="{EVIL}/icon">
<style>@import url({EVIL}/import.css); body {{ background: url({EVIL}/background) }}
@font-face {{ font-family: x; src: url({EVIL}/font) }} * {{ font-family: x, sans-serif }}</style>
<script>{_RUN}</script><script src="{EVIL}/script.js"></script>
<script src="/static/invoices/list.js"></script></head>
<body onload="{_RUN}" onpageshow="{_RUN}">
<p><a id="script-link" href="javascript:{_RUN}">one</a></p>
<p><a id="data-link" href="data:text/html,<script>{_RUN}</script>" target="_blank">two</a></p>
<p><a id="top-link" href="{EVIL}/top" target="_top">three</a></p>
<p><a id="parent-link" href="{EVIL}/parent" target="_parent">four</a></p>
<p><a id="new-link" href="{EVIL}/new" target="_blank" ping="{EVIL}/ping">five</a></p>
<p><a id="download" href="{EVIL}/file" download target="_top">six</a></p>
<p><button id="handler" onclick="{_RUN}">seven</button></p>
<form action="{EVIL}/form" method="post"><button id="form">eight</button></form>
<form action="{EVIL}/form" target="_top"><button id="top-form">nine</button></form>
<form action="{SITE}/invoices/1/send" method="post"><button id="own-form">ten</button></form>
<form action="javascript:{_RUN}"><button id="script-form">eleven</button></form>
<img src="{EVIL}/picture" onerror="{_RUN}"><img src=x onerror="{_RUN}">
<img srcset="{EVIL}/set 1x"><input autofocus onfocus="{_RUN}">
<video autoplay src="{EVIL}/video" poster="{EVIL}/poster"></video><audio autoplay src="{EVIL}/a">
</audio><svg onload="{_RUN}"><script>{_RUN}</script><image href="{EVIL}/svg" /></svg>
<details open ontoggle="{_RUN}">x</details><marquee onstart="{_RUN}">x</marquee>
<iframe src="{EVIL}/frame"></iframe><iframe srcdoc="<script>{_RUN}</script>"></iframe>
<iframe src="javascript:{_RUN}"></iframe><iframe src="{SITE}/admin/"></iframe>
<object data="{EVIL}/object"></object><embed src="{EVIL}/embed">
</body></html>"""
CLICKED = (
    *("script-link", "data-link", "top-link", "parent-link", "new-link", "download", "handler"),
    *("form", "top-form", "own-form", "script-form"),
)


@dataclass
class Site:
    """Answers of ours, by path, and what the browser asked for and did."""

    answers: Mapping[str, Any]
    asked: list[str] = field(default_factory=list)
    did: list[str] = field(default_factory=list)

    def serve(self, route: Route) -> None:
        url, method = route.request.url, route.request.method
        self.asked.append(f"{method} {url}")
        answer = self.answers.get(url.removeprefix(SITE).partition("#")[0])
        if not url.startswith(SITE) or answer is None:
            route.abort()
            return
        status, headers, body = answer
        route.fulfill(status=status, headers=headers, body=body)

    def dismiss(self, dialog: Dialog) -> None:
        self.did.append("dialog")
        dialog.dismiss()


def kept(answer: Any) -> tuple[int, dict[str, str], bytes]:
    """Return what a browser would be sent: taken before it starts, since the ORM then refuses."""
    return answer.status_code, dict(answer.headers), answer.content


@contextmanager
def browsing(answers: Mapping[str, Any]) -> Iterator[tuple[Page, Site]]:
    """Open a browser that gets these answers and nothing from the network."""
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    assert found, f"None of {', '.join(BROWSERS)} is installed: apt-get install chromium."
    site = Site(answers)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=QUIET)
        context = browser.new_context()
        context.route("**/*", site.serve)
        page = context.new_page()
        page.set_default_timeout(5_000)
        page.on("dialog", site.dismiss)
        page.on("download", lambda download: site.did.append(f"download {download.url}"))
        context.on("page", lambda other: site.did.append(f"window {other.url}"))
        yield page, site
        browser.close()
