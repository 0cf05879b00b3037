"""HTTPS: who is trusted, and what is said where no connection comes about."""

import pytest

from deliveries.errors import AccountProblem, TemporaryFailure
from deliveries.providers.sandbox import SandboxProvider
from tests import factories
from tests.providers.conftest import Connect, Serve
from tests.providers.raw_server import SELF_SIGNED, Peer, accepted, answering


def send(provider: SandboxProvider) -> str:
    return provider.send(factories.make_message(), idempotency_key="delivery-1").id


def over_tls(peer: Peer) -> None:
    peer.start_tls()
    answering(accepted("msg_tls"))(peer)


def test_a_certificate_that_nobody_vouches_for_is_an_account_problem(
    serve: Serve, connect: Connect
) -> None:
    server = serve(over_tls)
    with pytest.raises(AccountProblem, match="certificate is not trusted") as failure:
        send(connect(f"https://127.0.0.1:{server.port}"))
    assert "REQUESTS_CA_BUNDLE" in failure.value.look_at
    assert server.requests == []


def test_each_cause_has_its_own_words(closed_port: int, connect: Connect) -> None:
    closed = f"http://127.0.0.1:{closed_port}"
    said = {}
    for url in (closed, "https://no-such-host.invalid"):
        with pytest.raises(TemporaryFailure) as failure:
            send(connect(url))
        assert not failure.value.may_have_accepted
        said[url] = str(failure.value)
    assert said[closed] == "The connection to the provider failed: connection refused."
    assert "name" in said["https://no-such-host.invalid"]


def test_a_certificate_that_the_environment_trusts_is_accepted(
    serve: Serve, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(SELF_SIGNED))
    server = serve(over_tls)
    provider = connect(f"https://127.0.0.1:{server.port}")
    assert [send(provider), send(provider)] == ["msg_tls", "msg_tls"]
    assert server.connections == 1


def test_certificates_that_are_not_there_are_a_failure_and_not_a_crash(
    serve: Serve, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", "/nowhere/certificates.pem")
    with pytest.raises(AccountProblem, match="REQUESTS_CA_BUNDLE names are not there"):
        send(connect(f"https://127.0.0.1:{serve(over_tls).port}"))


def test_plain_http_on_a_tls_port_is_a_temporary_failure(serve: Serve, connect: Connect) -> None:
    server = serve(answering(accepted()))
    with pytest.raises(TemporaryFailure) as failure:
        send(connect(f"https://127.0.0.1:{server.port}", seconds=0.2))
    assert not failure.value.may_have_accepted
