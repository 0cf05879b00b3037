import socket

import pytest

from invoicehub.demo.plan import Place
from invoicehub.demo.ports import CannotListen, free_port


def test_a_free_port_is_taken_as_it_is() -> None:
    port = free_port("127.0.0.1", 0)
    assert free_port("127.0.0.1", port) == port


def test_a_port_in_use_gives_way_to_the_next() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        taken = listener.getsockname()[1]
        assert free_port("127.0.0.1", taken) not in {0, taken}


def test_a_port_meant_for_another_is_not_given_twice() -> None:
    port = free_port("127.0.0.1", 0)
    assert free_port("127.0.0.1", port, besides=port) != port


@pytest.mark.parametrize("host", ["no.such.host.invalid", "192.0.2.1"])
def test_a_host_that_is_not_here_is_named(host: str) -> None:
    with pytest.raises(CannotListen, match=host):
        free_port(host, 0)


@pytest.mark.parametrize("port", [-1, 65536])
def test_a_port_out_of_bounds_is_refused(port: int) -> None:
    with pytest.raises(CannotListen, match=f"{port} is no port"):
        free_port("127.0.0.1", port)


def test_every_address_is_reached_at_this_machine() -> None:
    assert Place("0.0.0.0", 80).url == "http://127.0.0.1:80"
    assert Place("0.0.0.0", 80).bind == "0.0.0.0:80"
    assert Place("::", 80).url == "http://[::1]:80"
    assert Place("::", 80).bind == "[::]:80"
