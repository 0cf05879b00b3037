"""Why a server was not reached, in words for people: no address, no path, no secret in them."""

import errno
import socket
import ssl
from collections.abc import Iterator

# What OpenSSL says of an answer that is no TLS, by its version.
_NO_TLS = {"WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "UNKNOWN_PROTOCOL", "HTTP_REQUEST"}
_NO_WAY = {errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EHOSTDOWN}


def why(error: BaseException) -> str:
    """Return the cause as half a sentence, or "" where none is known."""
    return next((words for each in chain(error) if (words := _of(each))), "")


def untrusted(error: BaseException) -> ssl.SSLCertVerificationError | None:
    """Return what was wrong with the server's certificate, if that was the cause."""
    found = (each for each in chain(error) if isinstance(each, ssl.SSLCertVerificationError))
    return next(found, None)


def speaks_no_tls(error: BaseException) -> bool:
    """Tell whether what came was no TLS at all: a plain server, or a plain port of it."""
    return any(isinstance(e, ssl.SSLError) and e.reason in _NO_TLS for e in chain(error))


def chain(error: BaseException) -> Iterator[BaseException]:
    """Return the error and what led to it, the last first."""
    seen: set[int] = set()
    each: BaseException | None = error
    while each is not None and id(each) not in seen:
        seen.add(id(each))
        yield each
        each = each.__cause__ or each.__context__


_WORDS: dict[type[BaseException] | tuple[type[BaseException], ...], str] = {
    (socket.gaierror, UnicodeError): "name not found",
    ssl.SSLCertVerificationError: "certificate not trusted",
    ConnectionRefusedError: "connection refused",
    (ConnectionResetError, BrokenPipeError): "it broke off the connection",
}


def _of(error: BaseException) -> str:
    if isinstance(error, socket.gaierror) and error.errno == socket.EAI_AGAIN:
        return "the name server does not answer"
    if isinstance(error, ssl.SSLError) and error.reason in _NO_TLS:
        return "it speaks no TLS there"
    if isinstance(error, OSError) and error.errno in _NO_WAY:
        return "there is no way to it"
    return next((words for kinds, words in _WORDS.items() if isinstance(error, kinds)), "")
