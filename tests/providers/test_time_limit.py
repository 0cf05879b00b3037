"""The time limit is on the whole exchange, whatever the other side does meanwhile."""

import gzip
import socket
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from deliveries.errors import AccountProblem, TemporaryFailure
from deliveries.providers.sandbox import SandboxProvider
from tests import factories
from tests.providers.conftest import Connect, Serve
from tests.providers.raw_server import (
    PATIENCE_SECONDS,
    SELF_SIGNED,
    Peer,
    accepted,
    answer,
    answering,
    for_ever,
)

pytestmark = pytest.mark.thorough

LIMIT_SECONDS = 0.2
MEGABYTE = 1024 * 1024


def send(provider: SandboxProvider) -> str:
    return provider.send(factories.make_message(), idempotency_key="delivery-1").id


def failure_of(provider: SandboxProvider) -> TemporaryFailure:
    with pytest.raises(TemporaryFailure) as caught:
        send(provider)
    return caught.value


def never_answer(peer: Peer) -> None:
    peer.request()
    peer.wait_until_it_leaves()


def never_read(peer: Peer) -> None:
    peer.wait_until_it_leaves()


def drip_the_header(peer: Peer) -> None:
    peer.request()
    peer.drip([b"HTTP/1.1 200 OK\r\n"])
    peer.drip(for_ever(b"x"))


def drip_headers(peer: Peer) -> None:
    peer.request()
    peer.send(b"HTTP/1.1 200 OK\r\n")
    peer.drip(for_ever(b"X-More: to come\r\n"))


def drip_the_body(peer: Peer) -> None:
    peer.request()
    peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    peer.drip(for_ever(b" "))


def drip_the_body_of_a_closing_answer(peer: Peer) -> None:
    # http.client gives the socket away to such an answer: the connection has none any more.
    peer.request()
    peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\nConnection: close\r\n\r\n")
    peer.drip(for_ever(b" "))


def drip_a_body_without_a_length(peer: Peer) -> None:
    peer.request()
    peer.send(b"HTTP/1.0 200 OK\r\n\r\n")
    peer.drip(for_ever(b" "))


def drip_chunks(peer: Peer) -> None:
    peer.request()
    peer.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    peer.drip(for_ever(b"1\r\n \r\n"))


def drip_continues(peer: Peer) -> None:
    peer.request()
    peer.drip(for_ever(b"HTTP/1.1 100 Continue\r\n\r\n"))


def stop_in_mid_body(peer: Peer) -> None:
    peer.request()
    peer.send(b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"id": "msg_1"')
    peer.wait_until_it_leaves()


@pytest.mark.parametrize(
    "script",
    [
        never_answer,
        drip_the_header,
        drip_headers,
        drip_the_body,
        drip_the_body_of_a_closing_answer,
        drip_a_body_without_a_length,
        drip_chunks,
        drip_continues,
        stop_in_mid_body,
    ],
)
def test_an_exchange_is_cut_off_when_its_time_is_up(
    serve: Serve, connect: Connect, script: Callable[[Peer], None]
) -> None:
    provider = connect(serve(script).url, seconds=LIMIT_SECONDS)
    started = time.monotonic()
    failure = failure_of(provider)
    assert LIMIT_SECONDS <= time.monotonic() - started < LIMIT_SECONDS + 3
    assert str(failure) == "The provider did not answer in time."
    assert failure.may_have_accepted


def test_a_request_that_the_other_side_does_not_take_is_cut_off(
    serve: Serve, connect: Connect
) -> None:
    provider = connect(serve(never_read).url, seconds=LIMIT_SECONDS)
    pdf = {"filename": "a.pdf", "content_type": "application/pdf", "content": "A" * 8 * MEGABYTE}
    with pytest.raises(TemporaryFailure) as failure:
        provider.send(factories.make_message(attachments=[pdf]), idempotency_key="delivery-1")
    assert failure.value.may_have_accepted


def test_an_exchange_after_one_that_was_cut_off_works(serve: Serve, connect: Connect) -> None:
    scripts = iter([drip_the_body, answering(accepted("msg_2"))])

    def script(peer: Peer) -> None:
        next(scripts)(peer)

    provider = connect(serve(script).url, seconds=0.3)
    failure_of(provider)
    assert send(provider) == "msg_2"


def close_at_once(peer: Peer) -> None:
    peer.close()


def close_after_the_request(peer: Peer) -> None:
    peer.request()


def reset_after_the_request(peer: Peer) -> None:
    peer.request()
    peer.reset()


def reset_in_mid_answer(peer: Peer) -> None:
    peer.request()
    peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 16\r\n\r\n" + b'{"id": "m')
    peer.reset()


def reset_in_mid_header(peer: Peer) -> None:
    peer.request()
    peer.send(b"HTTP/1.1 200 OK\r\nContent-Le")
    peer.reset()


def close_before_the_declared_end(peer: Peer) -> None:
    peer.request()
    # What came is whole JSON: only the declared length gives the truncation away.
    peer.send(b'HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{"id": "msg_1"}')


def close_in_mid_chunk(peer: Peer) -> None:
    peer.request()
    peer.send(b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n40\r\n{"id": "msg_1"}')


@pytest.mark.parametrize(
    "script",
    [
        close_at_once,
        close_after_the_request,
        reset_after_the_request,
        reset_in_mid_answer,
        reset_in_mid_header,
        close_before_the_declared_end,
        close_in_mid_chunk,
    ],
)
def test_a_connection_that_breaks_after_it_was_accepted_may_have_carried_the_message(
    serve: Serve, connect: Connect, script: Callable[[Peer], None]
) -> None:
    assert failure_of(connect(serve(script).url)).may_have_accepted


def test_a_refused_connection_cannot_have_carried_the_message(connect: Connect) -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
    assert not failure_of(connect(url)).may_have_accepted


def test_a_name_that_does_not_resolve_cannot_have_led_to_the_provider(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(*args: object, **kwargs: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    failure = failure_of(connect("http://provider.invalid"))
    assert not failure.may_have_accepted


@pytest.fixture
def deaf_address() -> Iterator[tuple[str, int]]:
    """An address whose packets are dropped: a listener whose queue is full."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        waiting = []
        for _ in range(4):
            client = socket.socket()
            client.setblocking(False)
            client.connect_ex(listener.getsockname())
            waiting.append(client)
        yield listener.getsockname()
        for client in waiting:
            client.close()


def test_a_connection_that_is_never_made_is_given_up_and_carried_nothing(
    connect: Connect, deaf_address: tuple[str, int]
) -> None:
    provider = connect(f"http://127.0.0.1:{deaf_address[1]}", seconds=LIMIT_SECONDS)
    started = time.monotonic()
    failure = failure_of(provider)
    assert time.monotonic() - started < LIMIT_SECONDS + 3
    assert not failure.may_have_accepted


def test_the_addresses_of_a_name_share_the_exchanges_time(
    serve: Serve,
    connect: Connect,
    deaf_address: tuple[str, int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    good = serve(answering(accepted()))
    deaf = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", deaf_address)]
    works = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", good.port))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **kwargs: deaf * 8)
    started = time.monotonic()
    failure = failure_of(connect("http://provider.example", seconds=0.3))
    assert time.monotonic() - started < 2.5
    assert not failure.may_have_accepted
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **kwargs: deaf + works)
    assert send(connect("http://provider.example", seconds=0.8)) == "msg_1"


def test_a_name_server_that_answers_too_late_leaves_no_time_to_connect(
    serve: Serve, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve(answering(accepted()))
    resolve = socket.getaddrinfo

    def late(*args: object, **kwargs: object) -> object:
        time.sleep(LIMIT_SECONDS * 2)
        return resolve("127.0.0.1", server.port, 0, socket.SOCK_STREAM)

    monkeypatch.setattr(socket, "getaddrinfo", late)
    failure = failure_of(connect("http://provider.example", seconds=LIMIT_SECONDS))
    assert not failure.may_have_accepted
    assert server.requests == []


def endless_body(peer: Peer) -> None:
    peer.request()
    peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 10000000000\r\n\r\n")
    for _ in range(10_000):
        peer.send(b"x" * 65536)


def test_an_endless_body_is_read_up_to_a_limit_and_no_further(
    serve: Serve, connect: Connect
) -> None:
    provider = connect(serve(endless_body).url)
    tracemalloc.start()
    try:
        failure = failure_of(provider)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert "without the id" in str(failure)
    assert peak < 4 * MEGABYTE


def test_a_body_of_compressed_nothing_does_not_fill_the_memory(
    serve: Serve, connect: Connect
) -> None:
    bomb = gzip.compress(b" " * 64 * MEGABYTE)
    provider = connect(serve(answering(answer(200, bomb, Content_Encoding="gzip"))).url)
    tracemalloc.start()
    try:
        failure_of(provider)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 16 * MEGABYTE


def redirect_with_an_endless_body(peer: Peer) -> None:
    peer.request()
    peer.send(b"HTTP/1.1 302 Found\r\nLocation: /x\r\nTransfer-Encoding: chunked\r\n\r\n")
    with suppress(OSError):
        while True:
            peer.send(b"10000\r\n" + b"x" * 65536 + b"\r\n")


@pytest.mark.parametrize("location", ["/x", "http://[::1", "/\xff\xfe"])
def test_a_redirects_target_is_not_looked_at(serve: Serve, connect: Connect, location: str) -> None:
    answered = answer(302, b"gone").replace(
        b"\r\n\r\n", b"\r\nLocation: " + location.encode("latin-1") + b"\r\n\r\n"
    )
    provider = connect(serve(answering(answered)).url)
    with pytest.raises(AccountProblem, match="address is wrong"):
        send(provider)


def test_a_redirects_endless_body_does_not_fill_the_memory(serve: Serve, connect: Connect) -> None:
    provider = connect(serve(redirect_with_an_endless_body).url)
    tracemalloc.start()
    try:
        with pytest.raises(AccountProblem):
            send(provider)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4 * MEGABYTE


def dribble_the_handshake(peer: Peer) -> None:
    # A TLS record header that promises 16,000 bytes of handshake, which come one by one.
    peer.send(b"\x16\x03\x03\x3e\x80")
    peer.drip(for_ever(b"\x02"))


def test_a_tls_handshake_that_is_dripped_is_cut_off_and_carried_nothing(
    serve: Serve, connect: Connect
) -> None:
    server = serve(dribble_the_handshake)
    provider = connect(f"https://127.0.0.1:{server.port}", seconds=LIMIT_SECONDS)
    started = time.monotonic()
    failure = failure_of(provider)
    assert time.monotonic() - started < LIMIT_SECONDS + 3
    assert str(failure) == "The provider did not answer in time."
    assert not failure.may_have_accepted


def test_an_answer_over_tls_that_is_dripped_is_cut_off(
    serve: Serve, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    def script(peer: Peer) -> None:
        peer.start_tls()
        drip_the_body(peer)

    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(SELF_SIGNED))
    provider = connect(f"https://127.0.0.1:{serve(script).port}", seconds=LIMIT_SECONDS)
    started = time.monotonic()
    assert failure_of(provider).may_have_accepted
    assert time.monotonic() - started < LIMIT_SECONDS + 3


def test_an_answer_through_a_proxy_that_is_dripped_is_cut_off(
    serve: Serve, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", serve(drip_the_body).url)
    provider = connect("http://provider.example", seconds=LIMIT_SECONDS)
    started = time.monotonic()
    failure_of(provider)
    assert time.monotonic() - started < LIMIT_SECONDS + 3


def test_no_time_limit_means_patience(serve: Serve, connect: Connect) -> None:
    def slow(peer: Peer) -> None:
        peer.request()
        peer.drip([bytes([byte]) for byte in accepted()], every=0.001)

    assert send(connect(serve(slow).url, seconds=PATIENCE_SECONDS)) == "msg_1"
