"""Ports of this machine: each is one server's, from before it listens until all has ended."""

import socket
from contextlib import ExitStack
from pathlib import Path

import pytest

from simulations.installation.partners import KINDS, pair
from simulations.installation.ports import HOST, held_lasting_port, held_port, is_free


def test_held_port_is_ours_before_and_between_servers() -> None:
    with held_port() as port:
        assert not is_free(port)
        for _ in range(2):
            with socket.create_server((HOST, port), reuse_port=True):
                assert not is_free(port)
                with socket.create_connection((HOST, port), timeout=5):
                    pass
            assert not is_free(port)
    assert is_free(port)


def test_named_port_is_held_while_connections_wind_down() -> None:
    with held_port() as port:
        pass
    with socket.create_server((HOST, port)) as server, socket.create_connection((HOST, port)) as client:
        answer, _ = server.accept()
        answer.close()  # The side that closes first waits.
        assert client.recv(1) == b""
    with held_port(port) as held:
        assert held == port


@pytest.mark.parametrize("content", ["", "80 80", "-1", "0", "70000"])
def test_lasting_port_is_kept_and_gives_way_where_it_is_in_use(tmp_path: Path, content: str) -> None:
    (tmp_path / "port").write_text(content)
    with held_lasting_port(tmp_path / "port") as port:
        pass
    with socket.create_server((HOST, port)), held_lasting_port(tmp_path / "port") as other:
        assert other != port
    with held_lasting_port(tmp_path / "port") as again:
        assert again == port


def test_partners_that_remember_one_port_listen_at_two(tmp_path: Path) -> None:
    """All are held before the first one is started (`running_services`), so that each has its own."""
    with held_port() as port:
        pass
    with ExitStack() as stack:
        ports = []
        for role in ("helper", "shuffler"):
            (tmp_path / role).mkdir()
            (tmp_path / role / "port").write_text(str(port))
            pairing = stack.enter_context(pair(KINDS[role], site_port=8000, data=tmp_path / role))
            ports.append(pairing.port)
    assert ports[0] == port
    assert ports[1] != port
