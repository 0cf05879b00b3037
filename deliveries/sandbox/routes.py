"""Everything the sandbox serves besides POST /messages: lists, statistics, switches and pages."""

import base64
import re
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import parse_qs, quote

from deliveries.sandbox import inbox
from deliveries.sandbox.answers import HTML_TYPE, Answer, Refusal, error_answer, json_answer
from deliveries.sandbox.answers import redirect as redirect_to
from deliveries.sandbox.faults import Faults
from deliveries.sandbox.handing_over import Sandbox
from deliveries.sandbox.messages import read_object
from deliveries.sandbox.switches import InvalidSwitch

PAGE_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
MESSAGE_POLICY = "sandbox; default-src 'none'; img-src data:; style-src 'unsafe-inline'"
LISTED_ON_THE_PAGE = 200


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    query: str
    body: bytes

    def parameter(self, name: str) -> str | None:
        return parse_qs(self.query).get(name, [None])[0]


def answer_to(request: Request, *, sandbox: Sandbox) -> Answer:
    """Answer any request but a hand-over; raise a Refusal."""
    method = "GET" if request.method == "HEAD" else request.method
    matching = [
        (route_method, found, view)
        for route_method, pattern, view in _ROUTES
        if (found := pattern.fullmatch(request.path))
    ]
    for route_method, found, view in matching:
        if route_method == method:
            return view(sandbox, request, *found.groups())
    if not matching:
        raise Refusal(404, "not_found", f"There is nothing at {request.path}.")
    allowed = ", ".join(sorted({route_method for route_method, _, _ in matching}))
    message = f"{request.path} does not take {request.method}, only {allowed}."
    return error_answer(405, "not_found", message, headers=(("Allow", allowed),))


def _healthz(sandbox: Sandbox, request: Request) -> Answer:
    return Answer(200, b"ok\n", "text/plain; charset=utf-8")


def _stats(sandbox: Sandbox, request: Request) -> Answer:
    return json_answer(sandbox.traffic.stats())


def _reset_stats(sandbox: Sandbox, request: Request) -> Answer:
    sandbox.traffic.reset()
    return _stats(sandbox, request)


def _list_messages(sandbox: Sandbox, request: Request) -> Answer:
    limit = request.parameter("limit")
    if limit is not None and not (limit.isascii() and limit.isdecimal()):
        raise Refusal(422, "missing_field", "'limit' must be a whole number.")
    found = sandbox.store.messages(
        to=request.parameter("to"),
        key=request.parameter("key"),
        limit=None if limit is None else int(limit),
    )
    return json_answer(found)


def _get_message(sandbox: Sandbox, request: Request, message_id: str) -> Answer:
    return json_answer(sandbox.store.message(message_id))


def _delete_messages(sandbox: Sandbox, request: Request) -> Answer:
    return json_answer({"deleted": sandbox.store.clear()})


def _get_faults(sandbox: Sandbox, request: Request) -> Answer:
    return json_answer(sandbox.faults.snapshot())


def _put_faults(sandbox: Sandbox, request: Request) -> Answer:
    values = read_object(request.body)
    try:
        sandbox.faults.set(**values)
    except InvalidSwitch as error:
        raise Refusal(422, "invalid_fault", str(error)) from None
    return _get_faults(sandbox, request)


def _delete_faults(sandbox: Sandbox, request: Request) -> Answer:
    sandbox.faults.clear()
    return _get_faults(sandbox, request)


def _post_faults_form(sandbox: Sandbox, request: Request) -> Answer:
    form = parse_qs(request.body.decode(errors="replace"))
    press = _BUTTONS.get(form.get("switch", [""])[0])
    if press is None:
        raise Refusal(422, "invalid_fault", f"'switch' must be one of: {', '.join(_BUTTONS)}.")
    press(sandbox.faults)
    return redirect_to("/")


def _inbox_page(sandbox: Sandbox, request: Request) -> Answer:
    page = inbox.list_page(
        sandbox.store.messages(limit=LISTED_ON_THE_PAGE),
        total=len(sandbox.store),
        stats=sandbox.traffic.stats(),
        switches=sandbox.faults.snapshot(),
    )
    return _html(page, policy=PAGE_POLICY)


def _message_page(sandbox: Sandbox, request: Request, message_id: str) -> Answer:
    page = inbox.message_page(sandbox.store.message(message_id))
    return _html(page, policy=PAGE_POLICY)


def _message_html(sandbox: Sandbox, request: Request, message_id: str) -> Answer:
    html = sandbox.store.message(message_id).get("html")
    if not html:
        raise Refusal(404, "not_found", "This message has no HTML body.")
    return _html(html, policy=MESSAGE_POLICY)


def _attachment(sandbox: Sandbox, request: Request, message_id: str, number: str) -> Answer:
    attachments = sandbox.store.message(message_id)["attachments"]
    if int(number) >= len(attachments):
        raise Refusal(404, "not_found", f"This message has no attachment {number}.")
    attachment = attachments[int(number)]
    content_type: str = attachment["content_type"]
    # Only a PDF is shown: an HTML or SVG attachment would run as a page of ours.
    shown = content_type.partition(";")[0].strip().lower() == "application/pdf"
    disposition = _disposition("inline" if shown else "attachment", attachment["filename"])
    headers = [("Content-Disposition", disposition)]
    if not shown:
        headers.append(("Content-Security-Policy", "sandbox; default-src 'none'"))
    return Answer(200, base64.b64decode(attachment["content"]), content_type, tuple(headers))


def _disposition(how: str, filename: str) -> str:
    """Write a Content-Disposition header for any file name (RFC 6266)."""
    plain = re.sub(r"[^A-Za-z0-9 ._-]", "_", filename)
    encoded = quote(filename, safe="", errors="replace")
    return f"{how}; filename=\"{plain}\"; filename*=UTF-8''{encoded}"


def _html(page: str, *, policy: str) -> Answer:
    headers = (("Content-Security-Policy", policy), ("Referrer-Policy", "no-referrer"))
    # JSON may hold half a surrogate pair, which no encoding can write.
    return Answer(200, page.encode(errors="replace"), HTML_TYPE, headers)


_BUTTONS: dict[str, Callable[[Faults], None]] = {
    "fail_two": lambda faults: faults.add(fail_next={"status": 503, "count": 2}),
    "slow": lambda faults: faults.add(delay_ms=2000),
    "drop_after_accept": lambda faults: faults.add(drop_after_accept_next=1),
    "clear": lambda faults: faults.clear(),
}

_Route = tuple[str, re.Pattern[str], Callable[..., Answer]]


def _route(method: str, pattern: str, view: Callable[..., Answer]) -> _Route:
    return method, re.compile(pattern), view


_ROUTES = [
    _route("GET", "/", _inbox_page),
    _route("GET", r"/inbox/([\w-]+)", _message_page),
    _route("GET", r"/inbox/([\w-]+)/html", _message_html),
    _route("GET", r"/inbox/([\w-]+)/attachments/([0-9]{1,6})", _attachment),
    _route("GET", "/messages", _list_messages),
    _route("DELETE", "/messages", _delete_messages),
    _route("POST", "/messages", _list_messages),  # handled before; here for the Allow header
    _route("GET", r"/messages/([\w-]+)", _get_message),
    _route("GET", "/stats", _stats),
    _route("POST", "/stats/reset", _reset_stats),
    _route("GET", "/faults", _get_faults),
    _route("PUT", "/faults", _put_faults),
    _route("DELETE", "/faults", _delete_faults),
    _route("POST", "/faults/form", _post_faults_form),
    _route("GET", "/healthz", _healthz),
]
