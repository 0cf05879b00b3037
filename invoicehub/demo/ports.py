"""Where to listen."""

import errno
import socket
from contextlib import suppress

TRIED = 50


class CannotListen(Exception):
    """No port of this host can be had; the message says why, for people."""


def free_port(host: str, wanted: int, *, besides: int = 0) -> int:
    """Return the wanted port, or the next one that is free, or any; 0 asks for any.

    Raises CannotListen for a host that is not this machine, or a port that is out of bounds.
    """
    if not 0 <= wanted <= 65535:
        raise CannotListen(f"{wanted} is no port: 0 to 65535.")
    last = min(wanted + TRIED, 65535)
    # From 0 on, the next free ones would be those of root.
    candidates = [p for p in range(wanted, last + 1) if p != besides] if wanted else []
    for port in candidates:
        with suppress(_Taken):
            return _try(host, port)
    return _try(host, 0)


class _Taken(Exception):
    pass


def _try(host: str, port: int) -> int:
    try:
        family, kind, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as listener:
            # Connections that have just been closed do not make a port taken.
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            return int(listener.getsockname()[1])
    except PermissionError:
        raise CannotListen(f"Only root may listen on port {port}.") from None
    except socket.gaierror as error:
        raise CannotListen(f"{host} is no address: {error.strerror}.") from None
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise _Taken from None
        raise CannotListen(f"{host} cannot be listened on: {error.strerror}.") from None
