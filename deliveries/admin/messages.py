"""The message exactly as it was handed over, to look at without being able to run its script."""

from dataclasses import dataclass
from typing import Any

from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.dateformat import format as date_format
from django.utils.decorators import method_decorator
from django.utils.html import format_html
from django.utils.http import content_disposition_header
from django.utils.text import Truncator
from django.views.decorators.http import require_safe

from deliveries.admin.attachments import Attachment, attachments_of
from deliveries.admin.readonly import ReadOnlyAdmin
from deliveries.models import Delivery, Message

# Megabytes each, and of no use in a list.
HEAVY = ("html", "text", "attachments", "headers")
MOST_OTHERS = 20
# Chromium needs more than half a minute to lay out a megabyte without a space on this page.
MOST_TEXT = 50_000

# The sandbox gives the document an origin of its own, wherever it is opened: without our cookies
# and pages, and without scripts, forms and pop-ups. Nothing is loaded that would tell the sender.
HTML_POLICY = "sandbox; default-src 'none'; img-src data:; style-src 'unsafe-inline'"
FILE_POLICY = "default-src 'none'; object-src 'none'; sandbox"
# Not sandboxed: some browsers' PDF viewers stay empty in a sandbox. A viewer is a page of the
# browser's own, and the fixed type with nosniff keeps the bytes from being anything else.
PDF_POLICY = "script-src 'none'"
PLAIN = "text/plain; charset=utf-8"


@dataclass(frozen=True, kw_only=True)
class Standing:
    """What became of a stored message, as far as its delivery tells."""

    word: str
    tone: str
    sentence: str


SENT = Standing(word="Sent", tone="good", sentence="The provider accepted exactly this message.")
REPLACED = Standing(
    word="Replaced",
    tone="quiet",
    sentence="A replay put another message in its place, under another key. "
    "The delivery's timeline tells what became of this one.",
)
BEING_SENT = Standing(word="Being sent", tone="busy", sentence="A worker has it right now.")
UNKNOWN = Standing(
    word="May have been sent",
    tone="wait",
    sentence="It was handed over, and no answer says whether the provider accepted it.",
)
NOT_SENT = Standing(word="Not sent", tone="bad", sentence="The provider did not accept it.")
WAITING = Standing(
    word="Waiting", tone="wait", sentence="The next attempt hands over exactly this message."
)


def standing_of(message: Message) -> Standing:
    delivery = message.delivery
    if message.idempotency_key != delivery.idempotency_key:
        return REPLACED
    if delivery.status == Delivery.Status.SENT:
        return SENT
    if delivery.status == Delivery.Status.RUNNING:
        return BEING_SENT
    if delivery.handed_over_at is not None:
        return UNKNOWN
    return WAITING if delivery.status in Delivery.WAITING else NOT_SENT


@admin.register(Message)
class MessageAdmin(ReadOnlyAdmin):
    list_display = ["stored", "beginning_of_subject", "recipients", "of_delivery", "standing"]
    # Only what an index can order: the newest first.
    sortable_by = ()
    ordering = ["-id"]
    search_fields = ["idempotency_key__exact"]
    search_help_text = "One idempotency key, complete. The search above finds all else."

    def get_queryset(self, request: HttpRequest) -> QuerySet[Message]:
        """Without what is heavy: a page about one message asks for it."""
        return super().get_queryset(request).select_related("delivery").defer(*HEAVY)

    @admin.display(description="stored (UTC)")
    def stored(self, message: Message) -> str:
        return date_format(message.created_at, "j M Y, H:i:s")

    @admin.display(description="subject")
    def beginning_of_subject(self, message: Message) -> str:
        return Truncator(message.subject).chars(100)

    @admin.display(description="to")
    def recipients(self, message: Message) -> str:
        return Truncator(", ".join(message.to)).chars(80)

    @admin.display(description="delivery")
    def of_delivery(self, message: Message) -> str:
        address = reverse("admin:deliveries_delivery_change", args=[message.delivery_id])
        words = f"{message.delivery.kind} {message.delivery.reference}"
        return format_html('<a href="{}">{}</a>', address, words)

    def standing(self, message: Message) -> str:
        found = standing_of(message)
        return format_html('<span class="pill pill-{}">{}</span>', found.tone, found.word)

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view
        own = [
            path("<int:message_id>/html/", view(self.html_view), name="deliveries_message_html"),
            path("<int:message_id>/text/", view(self.text_view), name="deliveries_message_text"),
            path(
                "<int:message_id>/attachments/<int:place>/",
                view(self.attachment_view),
                name="deliveries_message_attachment",
            ),
        ]
        return [*own, *super().get_urls()]

    @method_decorator(require_safe)
    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Show one message; three queries beside those for the session."""
        message = self._message(request, unquote(object_id), *HEAVY)
        if message is None:
            return self._get_obj_does_not_exist_redirect(  # type: ignore[no-any-return, attr-defined]
                request, self.opts, object_id
            )
        context = {**self.admin_site.each_context(request), **_page(message)}
        return TemplateResponse(request, "support/message.html", context)

    @method_decorator(require_safe)
    def html_view(self, request: HttpRequest, message_id: int) -> HttpResponse:
        """Answer the HTML version as a document that can do nothing but be looked at."""
        message = self._message(request, message_id, "html")
        if message is None or not message.html:
            return _nothing("There is no such message, or it has no HTML version.")
        headers = {"X-Frame-Options": "SAMEORIGIN"}
        return HttpResponse(message.html, headers=_careful(HTML_POLICY) | headers)

    @method_decorator(require_safe)
    def text_view(self, request: HttpRequest, message_id: int) -> HttpResponse:
        """Answer the whole text version, however long."""
        message = self._message(request, message_id, "text")
        if message is None or not message.text:
            return _nothing("There is no such message, or it has no text version.")
        return HttpResponse(message.text, content_type=PLAIN, headers=_careful(FILE_POLICY))

    @method_decorator(require_safe)
    def attachment_view(self, request: HttpRequest, message_id: int, place: int) -> HttpResponse:
        message = self._message(request, message_id, "attachments")
        attachments = attachments_of(message) if message else ()
        if place >= len(attachments):
            return _nothing("There is no such message, or it has no such attachment.")
        return _file(attachments[place])

    def _message(self, request: HttpRequest, message_id: Any, *columns: str) -> Message | None:
        """Return the message with these heavy columns; two queries. Raise `PermissionDenied`."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        message: Message | None = self.get_object(request, str(message_id))
        if message is not None:
            message.refresh_from_db(fields=columns)
        return message


def _page(message: Message) -> dict[str, object]:
    delivery = message.delivery
    return {
        "title": f"Message: {delivery.kind} {delivery.reference}",
        "opts": Message._meta,
        "message": message,
        "standing": standing_of(message),
        "text": message.text[:MOST_TEXT],
        "text_is_cut": len(message.text) > MOST_TEXT,
        "headers": _headers(message),
        "attachments": attachments_of(message),
        "others": _others(message),
    }


def _headers(message: Message) -> list[tuple[str, object]]:
    stored: object = message.headers
    return list(stored.items()) if isinstance(stored, dict) else [("", stored)]


def _others(message: Message) -> QuerySet[Message]:
    """The delivery's other messages, newest first: one for each key it has had."""
    others = Message.objects.filter(delivery=message.delivery_id).exclude(pk=message.pk)
    return others.only("created_at", "idempotency_key").order_by("-pk")[:MOST_OTHERS]


def _file(attachment: Attachment) -> HttpResponse:
    if attachment.content is None:
        return _nothing("This attachment cannot be read: what is stored is not base64.")
    disposition = content_disposition_header(not attachment.is_shown, attachment.safe_filename)
    policy = PDF_POLICY if attachment.served_type == "application/pdf" else FILE_POLICY
    headers = _careful(policy) | {"Content-Disposition": disposition or "attachment"}
    return HttpResponse(attachment.content, content_type=attachment.served_type, headers=headers)


def _nothing(words: str) -> HttpResponse:
    headers = _careful(FILE_POLICY)
    return HttpResponse(f"{words}\n", status=404, content_type=PLAIN, headers=headers)


def _careful(policy: str) -> dict[str, str]:
    """What holds for every answer whose content is not ours."""
    return {
        "Content-Security-Policy": policy,
        "Cache-Control": "no-store",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
    }
