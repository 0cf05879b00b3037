"""Connections: kept, renewed, secured, led through proxies, and given back at the end."""

import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from deliveries.errors import AccountProblem, TemporaryFailure
from deliveries.providers.sandbox import SandboxProvider
from deliveries.providers.session import DeadlineSession, ExchangeFailed
from deliveries.sandbox import SandboxProvider as Sandbox
from tests import factories
from tests.providers.conftest import Connect, Serve
from tests.providers.raw_server import (
    PATIENCE_SECONDS,
    Peer,
    accepted,
    answer,
    answering,
    eventually,
)


def send(provider: SandboxProvider, key: str = "delivery-1") -> str:
    return provider.send(factories.make_message(), idempotency_key=key).id


def test_a_request_carries_its_key_our_name_and_the_api_key(serve: Serve, connect: Connect) -> None:
    server = serve(answering(accepted()))
    send(connect(server.url, api_key="secret"), "delivery-7f3b")
    [request] = server.requests
    assert request.line == "POST /messages HTTP/1.1"
    assert request.headers["idempotency-key"] == "delivery-7f3b"
    assert request.headers["user-agent"].startswith("InvoiceHub/")
    assert request.headers["authorization"] == "Bearer secret"
    assert request.headers["content-type"] == "application/json"


def test_without_an_api_key_no_authorization_is_sent(serve: Serve, connect: Connect) -> None:
    server = serve(answering(accepted()))
    send(connect(server.url, api_key=""))
    assert "authorization" not in server.requests[0].headers


def test_the_path_of_the_base_url_is_kept(serve: Serve, connect: Connect) -> None:
    server = serve(answering(accepted()))
    send(connect(f"{server.url}/v1"))
    assert server.requests[0].line == "POST /v1/messages HTTP/1.1"


def test_a_thread_keeps_its_connection(serve: Serve, connect: Connect) -> None:
    server = serve(answering(accepted()))
    provider = connect(server.url)
    for _ in range(20):
        send(provider)
    assert (len(server.requests), server.connections) == (20, 1)


def test_two_hundred_sends_over_four_threads_use_four_connections(
    serve: Serve, connect: Connect
) -> None:
    server = serve(answering(accepted()))
    provider = connect(server.url)
    start = threading.Barrier(4)

    def fifty(thread: int) -> None:
        start.wait(PATIENCE_SECONDS)
        for number in range(50):
            send(provider, f"delivery-{thread}-{number}")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(fifty, range(4)))
    assert len({request.headers["idempotency-key"] for request in server.requests}) == 200
    assert server.connections == 4


def test_a_connection_that_was_closed_while_idle_is_replaced(
    serve: Serve, connect: Connect
) -> None:
    closed = threading.Event()

    def one_answer(peer: Peer) -> None:
        peer.request()
        peer.send(accepted())
        peer.close()
        closed.set()

    server = serve(one_answer)
    provider = connect(server.url)
    for _ in range(3):
        closed.clear()
        assert send(provider) == "msg_1"
        assert closed.wait(PATIENCE_SECONDS)
    assert server.connections == 3


def test_a_connection_that_closes_under_the_next_request_may_have_carried_it(
    serve: Serve, connect: Connect
) -> None:
    def one_answer(peer: Peer) -> None:
        peer.request()
        peer.send(accepted())
        peer.request()

    provider = connect(serve(one_answer).url)
    send(provider)
    with pytest.raises(TemporaryFailure) as failure:
        send(provider)
    assert failure.value.may_have_accepted


def test_an_early_answer_does_not_hand_the_real_one_to_the_next_message(
    serve: Serve, connect: Connect
) -> None:
    asked_again = threading.Event()

    def script(peer: Peer) -> None:
        request = peer.request()
        if request.headers["idempotency-key"] == "delivery-2":
            asked_again.set()
            peer.send(accepted("msg_2"))
            return
        peer.send(b"HTTP/1.1 103 Early Hints\r\n\r\n")
        # The real answer comes late, when the next message is under way.
        asked_again.wait(0.5)
        peer.send(accepted("msg_1"))
        peer.request()

    provider = connect(serve(script).url)
    with pytest.raises(TemporaryFailure):
        send(provider, "delivery-1")
    assert send(provider, "delivery-2") == "msg_2"


def test_a_cookie_of_the_providers_is_not_sent_back(serve: Serve, connect: Connect) -> None:
    server = serve(answering(answer(200, b'{"id": "msg_1"}', Set_Cookie="session=1; Path=/")))
    provider = connect(server.url)
    send(provider)
    send(provider)
    assert "cookie" not in server.requests[1].headers


def test_a_proxy_of_the_environment_is_used(
    serve: Serve, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy = serve(answering(accepted("by the proxy")))
    monkeypatch.setenv("http_proxy", proxy.url)
    assert send(connect("http://provider.example")) == "by the proxy"
    assert proxy.requests[0].line == "POST http://provider.example/messages HTTP/1.1"


def test_no_proxy_is_honoured(
    serve: Serve, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy = serve(answering(accepted("by the proxy")))
    monkeypatch.setenv("HTTP_PROXY", proxy.url)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    assert send(connect(serve(answering(accepted())).url)) == "msg_1"
    assert proxy.connections == 0


def test_the_environment_is_read_once(
    serve: Serve, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = connect(serve(answering(accepted())).url)
    send(provider)
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert send(provider) == "msg_1"


def test_a_proxy_that_refuses_the_connection_cannot_have_passed_the_message_on(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{unused.getsockname()[1]}")
    with pytest.raises(TemporaryFailure) as failure:
        send(connect("http://provider.example"))
    assert not failure.value.may_have_accepted


@pytest.mark.parametrize("greeting", [b"HTTP/1.1 502 Bad\r\n\r\n", b""], ids=["502", "cut"])
def test_a_proxy_that_makes_no_tunnel_cannot_have_passed_the_message_on(
    serve: Serve, connect: Connect, monkeypatch: pytest.MonkeyPatch, greeting: bytes
) -> None:
    def script(peer: Peer) -> None:
        peer.request()
        peer.send(greeting)

    proxy = serve(script)
    monkeypatch.setenv("https_proxy", proxy.url)
    with pytest.raises(TemporaryFailure) as failure:
        send(connect("https://provider.example"))
    assert proxy.requests[0].line.startswith("CONNECT provider.example:443 ")
    assert not failure.value.may_have_accepted


@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:9", "gopher://127.0.0.1:9"])
def test_a_proxy_that_we_cannot_use_is_an_account_problem(
    connect: Connect, monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    monkeypatch.setenv("http_proxy", proxy)
    with pytest.raises((AccountProblem, TemporaryFailure)) as failure:
        send(connect("http://provider.example"))
    assert getattr(failure.value, "may_have_accepted", False) is False


def watchdogs() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "exchange-deadline"]


def test_one_watchdog_watches_all_exchanges_and_ends_with_the_provider(
    sandbox: Sandbox, connect: Connect
) -> None:
    before = set(watchdogs())
    provider = connect(sandbox.url)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda number: send(provider, f"delivery-{number}"), range(40)))
    assert len(set(watchdogs()) - before) == 1
    provider.close()
    assert set(watchdogs()) <= before


def test_a_provider_that_was_closed_works_again(serve: Serve, connect: Connect) -> None:
    provider = connect(serve(answering(accepted())).url)
    for _ in range(3):
        send(provider)
        provider.close()
        provider.close()


def test_closing_gives_back_every_connection_of_every_thread(
    serve: Serve, connect: Connect
) -> None:
    given_back = threading.Semaphore(0)

    def script(peer: Peer) -> None:
        peer.request()
        peer.send(accepted())
        peer.wait_until_it_leaves()
        given_back.release()

    provider = connect(serve(script).url)
    all_sent, over = threading.Barrier(4), threading.Event()

    def send_and_stay() -> None:
        send(provider)
        all_sent.wait(PATIENCE_SECONDS)
        over.wait(PATIENCE_SECONDS)

    threads = [threading.Thread(target=send_and_stay) for _ in range(3)]
    for thread in threads:
        thread.start()
    all_sent.wait(PATIENCE_SECONDS)
    provider.close()
    for _ in threads:
        assert given_back.acquire(timeout=PATIENCE_SECONDS)
    over.set()
    for thread in threads:
        thread.join(PATIENCE_SECONDS)


def test_closing_cuts_off_an_exchange_that_hangs(serve: Serve) -> None:
    def hang(peer: Peer) -> None:
        peer.request()
        peer.wait_until_it_leaves()

    server = serve(hang)
    session = DeadlineSession(f"{server.url}/messages", seconds=PATIENCE_SECONDS)
    failures: list[ExchangeFailed] = []

    def post() -> None:
        try:
            session.post(body=b"{}", headers={})
        except ExchangeFailed as failure:
            failures.append(failure)

    thread = threading.Thread(target=post)
    thread.start()
    eventually(lambda: server.requests)
    session.close()
    thread.join(PATIENCE_SECONDS)
    assert [failure.request_begun for failure in failures] == [True]
