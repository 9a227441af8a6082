"""Ports of this machine: each is one server's, from before it listens until all has ended."""

import socket
from pathlib import Path

import pytest

from panapp.ports import HOST, held_lasting_port, held_port, is_free
from panapp.services import running_services


def test_held_port_is_nobody_elses_before_our_server_listens_and_while_it_is_away() -> None:
    with held_port() as port:
        assert not is_free(port)
        for _ in range(2):
            with socket.create_server((HOST, port), reuse_port=True):
                assert not is_free(port)
                with socket.create_connection((HOST, port), timeout=5):
                    pass
            assert not is_free(port)
    assert is_free(port)


def test_port_that_is_named_is_held_though_its_last_connections_are_still_winding_down() -> None:
    with held_port() as port:
        pass
    with socket.create_server((HOST, port)) as server, socket.create_connection((HOST, port)) as client:
        answer, _ = server.accept()
        answer.close()  # The side that closes first waits.
        assert client.recv(1) == b""
    with held_port(port) as held:
        assert held == port


@pytest.mark.parametrize("content", ["", "80 80", "-1", "0", "70000"])
def test_lasting_port_of_a_file_not_written_whole_is_a_fresh_one(tmp_path: Path, content: str) -> None:
    (tmp_path / "port").write_text(content)
    with held_lasting_port(tmp_path / "port") as first:
        pass
    with held_lasting_port(tmp_path / "port") as second:
        assert second == first


def test_lasting_port_that_is_in_use_gives_way_for_this_time_only(tmp_path: Path) -> None:
    with held_lasting_port(tmp_path / "port") as port:
        pass
    with socket.create_server((HOST, port)), held_lasting_port(tmp_path / "port") as other:
        assert other != port
    with held_lasting_port(tmp_path / "port") as again:
        assert again == port


@pytest.mark.long
@pytest.mark.processes
@pytest.mark.django_db(transaction=True)
def test_partners_that_remember_one_port_listen_at_two(tmp_path: Path) -> None:
    with held_port() as port:
        pass
    partners = {role: tmp_path / role for role in ("helper", "shuffler")}
    for data in partners.values():
        data.mkdir()
        (data / "port").write_text(str(port))
    with running_services(partners=partners) as services:
        ports = [pairing.port for pairing in services.pairings.values()]
        assert ports[0] == port
        assert ports[1] != port
