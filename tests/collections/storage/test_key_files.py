"""Erasable keys in files of one host."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from storage.key_files import KeyFiles
from tests.collections.storage.key_service_contract import (
    DATA,
    DATABASE,
    SECRET,
    KeyServiceContract,
    new_name,
)


class TestKeyFiles(KeyServiceContract):
    @pytest.fixture
    def service(self, tmp_path: Path) -> KeyFiles:
        return KeyFiles(tmp_path / "keys")

    @pytest.fixture
    def silenced(self, service: KeyFiles) -> Callable[[], AbstractContextManager[None]]:
        @contextmanager
        def silence() -> Iterator[None]:
            away = service.directory.with_name("away")
            service.directory.rename(away)
            service.directory.touch()
            yield
            service.directory.unlink()
            away.rename(service.directory)

        return silence


def test_key_is_overwritten_where_it_was(tmp_path: Path) -> None:
    service, name = KeyFiles(tmp_path), new_name()
    service.seal(name, SECRET, DATA)
    (path,) = tmp_path.iterdir()
    assert path.name == f"{DATABASE.hex()}-{name[16:].hex()}.key"
    with path.open("rb") as file:
        assert any(file.read())
        service.erase(name)
        file.seek(0)
        assert not any(file.read())


def test_file_and_seal_are_read_byte_by_byte_as_they_were_written(tmp_path: Path) -> None:
    """A key 00 01 … 1f in its slot: version, key, checksum; and `SECRET` sealed under it."""
    name = bytes.fromhex("01" * 16 + "02" * 16)
    entry = bytes(8) + bytes(range(32)) + bytes.fromhex("f4b32977b259a87e6f264a88303ce629")
    sealed = bytes.fromhex(
        "5050534b01f5b165224a58b791df6af1d824eeea54cb6f601b17ace1015be49ee3b4f0920a5c768d10"
    )
    (tmp_path / f"{'01' * 16}-{'02' * 16}.key").write_bytes(entry.ljust(4096, b"\0"))
    assert KeyFiles(tmp_path).unseal(name, sealed, DATA) == SECRET
