"""What a mail server that cannot be talked to makes us say: the cause, and the setting."""

import pytest

from deliveries.errors import AccountProblem, TemporaryFailure
from tests.providers.conftest import ConnectSmtp, Serve, StartMail
from tests.providers.raw_server import Peer
from tests.providers.smtp_steps import failing


def silent(peer: Peer) -> None:
    peer.wait_until_it_leaves()


@pytest.mark.thorough
def test_plain_smtp_on_a_port_for_tls_is_told_of_the_setting(
    serve: Serve, connect_smtp: ConnectSmtp
) -> None:
    failure = failing(connect_smtp(serve(silent).port, seconds=0.3, security="starttls"))
    assert type(failure) is TemporaryFailure
    assert "EMAIL_SECURITY must be tls" in str(failure)


def test_a_port_for_tls_that_hangs_up_is_told_of_the_setting(
    serve: Serve, connect_smtp: ConnectSmtp
) -> None:
    failure = failing(connect_smtp(serve(lambda peer: None).port, security="none"))
    assert "EMAIL_SECURITY must be tls" in str(failure)


def test_tls_on_a_port_for_starttls_is_told_of_the_setting(
    mail_server: StartMail, connect_smtp: ConnectSmtp
) -> None:
    failure = failing(connect_smtp(mail_server(tls="starttls").port, security="tls"))
    assert type(failure) is TemporaryFailure
    assert "EMAIL_SECURITY is starttls" in str(failure)
    assert not failure.may_have_accepted


def test_a_refused_port_and_an_unknown_name_differ(
    closed_port: int, connect_smtp: ConnectSmtp
) -> None:
    assert "connection refused" in str(failing(connect_smtp(closed_port)))
    nobody = failing(connect_smtp(closed_port, host="no-such-host.invalid"))
    assert "name" in str(nobody)
    assert "refused" not in str(nobody)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"tls": "starttls", "login": True}, "EMAIL_HOST_PASSWORD"),
        ({}, "EMAIL_SECURITY"),
    ],
)
def test_an_account_problem_names_its_settings(
    mail_server: StartMail, connect_smtp: ConnectSmtp, options: dict[str, object], named: str
) -> None:
    provider = connect_smtp(
        mail_server(**options).port, security="starttls", username="a", password="wrong"
    )
    failure = failing(provider)
    assert isinstance(failure, AccountProblem)
    assert named in failure.look_at
