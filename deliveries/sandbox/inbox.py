"""The inbox as people see it: HTML pages made of strings. Whatever came in a message is escaped."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from html import escape
from typing import Any

from deliveries.sandbox.style import CSS

REFRESH_SECONDS = 3

_COUNTS = (
    ("requests", "Handed over"),
    ("accepted", "Accepted"),
    ("replayed", "Replayed"),
    ("refused", "Refused"),
    ("faulted", "Faulted"),
)
_BUTTONS = (
    ("fail_two", "Fail the next two with 503"),
    ("slow", "Slow: 2 s"),
    ("drop_after_accept", "Drop the connection after accepting the next"),
)


def list_page(
    messages: list[dict[str, Any]],
    *,
    total: int,
    stats: Mapping[str, int],
    switches: Mapping[str, Any],
) -> str:
    more = total - len(messages)
    note = f'<p class="soft">And {more} older ones: see GET /messages.</p>' if more > 0 else ""
    refresh = f'<meta http-equiv="refresh" content="{REFRESH_SECONDS}">'
    return _page(
        title=f"Inbox ({total})",
        head=refresh,
        body=f"""
<h1>Sandbox inbox</h1>
<p class="soft">What the e-mail provider accepted. Nothing leaves this machine.</p>
{_counts(stats)}
{_switches_panel(switches)}
{_table(messages)}
{note}""",
    )


def message_page(message: Mapping[str, Any]) -> str:
    return _page(
        title=message["subject"],
        body=f"""
<p class="crumb"><a href="/">← Inbox</a></p>
<h1>{escape(message["subject"]) or "(no subject)"}</h1>
{_fields(message)}
{_attachments(message)}
{_html_body(message)}
{_text_body(message)}
{_raw_headers(message)}""",
    )


def _page(*, title: str, body: str, head: str = "") -> str:
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
{head}
<title>{escape(title)} · Sandbox e-mail provider</title>
<style>{CSS}</style>
</head>
<body>
<main>{body}
</main>
</body>
</html>
"""


def _counts(stats: Mapping[str, int]) -> str:
    values = [(label, str(stats[name])) for name, label in _COUNTS]
    values.append(("At once (most)", f"{stats['in_flight']} ({stats['max_in_flight']})"))
    cells = "".join(f"<div><dt>{label}</dt><dd>{value}</dd></div>" for label, value in values)
    return f'<dl class="counts">{cells}</dl>'


def _switches_panel(switches: Mapping[str, Any]) -> str:
    active = list(_in_words(switches))
    state = (
        f'<p class="state faulty">{escape("; ".join(active))}</p>'
        if active
        else '<p class="state">Everything works.</p>'
    )
    buttons = "".join(
        f'<button name="switch" value="{value}">{label}</button>' for value, label in _BUTTONS
    )
    return f"""<section class="panel switches" aria-label="Fault switches">
{state}
<form method="post" action="/faults/form">{buttons}
<button name="switch" value="clear" class="clear">Everything works</button></form>
</section>"""


def _in_words(switches: Mapping[str, Any]) -> Iterable[str]:
    """Say each switch that is on in a person's words; counts are what is left of them."""
    if fail := switches["fail_next"]:
        yield f"The next {fail['count']}: answered with {fail['status']}"
    yield from (
        f"The next {switches[name]}: {words}" for name, words in _COUNTED_IN_WORDS if switches[name]
    )
    if switches["delay_ms"]:
        yield f"Each takes {switches['delay_ms'] / 1000:g} s"
    if drip := switches["drip"]:
        yield f"Answers drip, a byte every {drip['interval_ms']:g} ms"
    if switches["down"]:
        yield "Down: all are answered with 503"
    if switches["fail_addresses"]:
        yield "Refused addresses: " + ", ".join(switches["fail_addresses"])
    if rule := switches["random_failure"]:
        yield f"{rule['rate']:.0%} fail at random"


_COUNTED_IN_WORDS = (
    ("hang_next", "never answered, not stored"),
    ("hang_after_accept_next", "stored, never answered"),
    ("drop_before_next", "connection dropped, not stored"),
    ("drop_after_accept_next", "stored, connection dropped without an answer"),
    ("cut_mid_answer_next", "stored, answer cut in the middle"),
    ("redirect_next", "redirected"),
    ("html_200_next", "answered with a proxy's page, not stored"),
)


def _table(messages: list[dict[str, Any]]) -> str:
    if not messages:
        return '<div class="panel empty">No message yet. This page looks again by itself.</div>'
    rows = "\n".join(_row(message) for message in messages)
    return f"""<div class="panel"><table class="list">
<thead><tr><th scope="col" class="to">To</th><th scope="col">Subject</th>
<th scope="col" class="files-of">Attachments</th><th scope="col" class="time">Received (UTC)</th>
<th scope="col" class="count">Handed over</th></tr></thead>
<tbody>
{rows}
</tbody></table></div>"""


def _row(message: Mapping[str, Any]) -> str:
    files = ", ".join(attachment["filename"] for attachment in message["attachments"])
    count = message["hand_overs"]
    often = f'<span class="again"><span class="narrow">Handed over </span>{count} times</span>'
    return (
        f'<tr><td class="to">{escape(_joined(message["to"]))}</td>'
        f'<td class="subject"><a href="/inbox/{escape(message["id"])}">'
        f"{escape(message['subject']) or '(no subject)'}</a></td>"
        f'<td class="files-of">{escape(files) or "–"}</td>'
        f'<td class="time">{_time(message["received_at"], "%-d %b, %H:%M:%S")}</td>'
        + (f'<td class="count">{often}</td>' if count > 1 else '<td class="count once">once</td>')
        + "</tr>"
    )


def _fields(message: Mapping[str, Any]) -> str:
    values = [
        ("From", escape(message["from"])),
        ("To", escape(_joined(message["to"]))),
        ("Cc", escape(_joined(message.get("cc")))),
        ("Reply-To", escape(_joined(message.get("reply_to")))),
        ("Received", _time(message["received_at"], "%-d %B %Y, %H:%M:%S UTC")),
        ("Handed over", _times(message["hand_overs"])),
        ("Idempotency key", f"<code>{escape(message['idempotency_key'])}</code>"),
        ("Id", f"<code>{escape(message['id'])}</code>"),
    ]
    rows = "\n".join(
        f'<tr><th scope="row">{label}</th><td>{value}</td></tr>' for label, value in values if value
    )
    return f'<h2>Message</h2><div class="panel"><table class="fields">\n{rows}\n</table></div>'


def _attachments(message: Mapping[str, Any]) -> str:
    items = "\n".join(
        f'<li><a href="/inbox/{escape(message["id"])}/attachments/{number}">'
        f"{escape(attachment['filename'])}</a> "
        f'<span class="soft">{escape(attachment["content_type"])}, '
        f"{_bytes(attachment['size'])}</span></li>"
        for number, attachment in enumerate(message["attachments"])
    )
    return f'<h2>Attachments</h2><ul class="panel files">\n{items}\n</ul>' if items else ""


def _html_body(message: Mapping[str, Any]) -> str:
    if not message.get("html"):
        return ""
    source = f"/inbox/{escape(message['id'])}/html"
    return (
        f'<h2>HTML body</h2><div class="panel"><iframe sandbox="" src="{source}" '
        'title="The HTML body of the message"></iframe></div>'
    )


def _text_body(message: Mapping[str, Any]) -> str:
    text = message.get("text")
    return f'<h2>Text body</h2><div class="panel"><pre>{escape(text)}</pre></div>' if text else ""


def _raw_headers(message: Mapping[str, Any]) -> str:
    lines = "\n".join(f"{name}: {value}" for name, value in message["headers"].items())
    return f'<h2>Headers</h2><div class="panel"><pre>{escape(lines)}</pre></div>' if lines else ""


def _joined(addresses: str | list[str] | None) -> str:
    return addresses if isinstance(addresses, str) else ", ".join(addresses or [])


def _time(iso: str, pattern: str) -> str:
    return f'<time datetime="{escape(iso)}">{datetime.fromisoformat(iso):{pattern}}</time>'


def _times(count: int) -> str:
    return "once" if count <= 1 else f'<span class="again">{count} times, accepted once</span>'


def _bytes(size: int) -> str:
    if size < 1024:
        return f"{size} bytes"
    return f"{size / 1024:.1f} KB" if size < 1024 * 1024 else f"{size / 1024 / 1024:.1f} MB"
