"""A charset that is not UTF-8 is refused before anything is decoded by it."""

import io
from collections.abc import Callable
from wsgiref.util import setup_testing_defaults

import pytest

CODECS = ["base64", "rot13", "punycode", "utf-7", "unicode_escape", "latin-1", "nonsense", "x\0y"]


def ask(kind: str, *, method: str = "GET", path: str = "/healthz", query: str = "a=%41") -> object:
    """Return the status line that the web server would send."""
    environ = {
        "REQUEST_METHOD": method,
        "PATH_INFO": path,
        "QUERY_STRING": query,
        "CONTENT_TYPE": kind,
        "CONTENT_LENGTH": "5",
        "wsgi.input": io.BytesIO(b"--x--"),
    }
    setup_testing_defaults(environ)
    from invoicehub.wsgi import application

    said: list[object] = []

    def start_response(status: str, *_: object) -> Callable[[bytes], object]:
        said.append(status)
        return said.append

    list(application(environ, start_response))
    return said[0]


@pytest.mark.parametrize("charset", CODECS)
@pytest.mark.parametrize("kind", ["text/plain", "multipart/form-data; boundary=x"])
def test_whatever_is_asked_in_it_is_refused(kind: str, charset: str) -> None:
    for method, path in (("GET", "/healthz"), ("POST", "/login"), ("GET", "/metrics")):
        status = ask(f"{kind}; charset={charset}", method=method, path=path)
        assert status == "415 Unsupported Media Type"


@pytest.mark.parametrize("kind", ["", "text/plain", "a/b; charset=utf-8", 'a/b; charset="UTF8"'])
def test_utf_8_is_taken(db: None, kind: str) -> None:
    assert str(ask(kind)).startswith("200")
