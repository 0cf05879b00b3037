"""Refuses text in another charset than UTF-8, before Django decodes anything."""

import codecs
from collections.abc import Iterable
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from django.utils.http import parse_header_parameters

_ANSWER = b"Send UTF-8.\n"


class RefuseOtherCharsets:
    """415 for a `Content-Type` with a charset that is neither UTF-8 nor ASCII; WSGI middleware.

    Django decodes address and form as it says, the address before any middleware of its own. Python
    has codecs that are no charsets (base64), that let lone surrogates through (utf-7), and that
    take minutes for a megabyte (punycode).
    """

    def __init__(self, application: WSGIApplication) -> None:
        self.application = application

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if _is_utf_8(environ.get("CONTENT_TYPE", "")):
            return self.application(environ, start_response)
        start_response(
            "415 Unsupported Media Type",
            [
                ("Content-Type", "text/plain"),
                ("Content-Length", str(len(_ANSWER))),
                ("X-Content-Type-Options", "nosniff"),
            ],
        )
        return [_ANSWER]


def _is_utf_8(content_type: str) -> bool:
    try:
        _kind, parameters = parse_header_parameters(content_type)
        charset = parameters.get("charset", "")
        return not charset or codecs.lookup(charset).name in {"utf-8", "ascii"}
    except (LookupError, ValueError):
        return False
