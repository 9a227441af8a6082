"""What every key service promises, as tests that each implementation inherits."""

import os
import secrets
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from panprivacy.encryption.sealing import SealBrokenError, SealFormatError
from storage.key_service import NAME_BYTES, PREFIX_BYTES, KeyAbsentError, KeyService, KeyServiceError
from tests.concurrency import at_once

ROOT = Path(__file__).resolve().parents[3]
SECRET, DATA = b"a secret", b"whose it is"
DATABASE, OTHER_DATABASE = bytes([1]) * PREFIX_BYTES, bytes([2]) * PREFIX_BYTES


def new_name(database: bytes = DATABASE) -> bytes:
    return database + secrets.token_bytes(NAME_BYTES - PREFIX_BYTES)


def elsewhere(service: KeyService, work: str) -> str:
    """What another process prints that does `work` with the same service.

    Args:
        work: statements in which it is called `service`.
    """
    script = f"""
from pathlib import Path
from storage.key_files import KeyFiles
from storage.key_service import KeyAbsentError, TokenAddress
if {service.kind == "pkcs11"}:
    from storage.key_token import KeyToken
service = {service!r}
{work}
"""
    # Without its PIN, which it does not show.
    script = script.replace("KeyToken(address=", f"KeyToken(pin={getattr(service, 'pin', '')!r}, address=")
    script = script.replace("PosixPath(", "Path(")
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'collections'}"}
    run = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


class KeyServiceContract:
    """A subclass has the fixtures `service`, and `silenced`, which makes it unavailable in a block."""

    def test_secret_opens_until_its_key_is_erased(self, service: KeyService) -> None:
        name = new_name()
        sealed = service.seal(name, SECRET, DATA)
        assert service.unseal(name, sealed, DATA) == SECRET
        service.erase(name)
        with pytest.raises(KeyAbsentError):
            service.unseal(name, sealed, DATA)

    def test_erasing_again_or_what_never_was_does_nothing(self, service: KeyService) -> None:
        kept, erased = new_name(), new_name()
        sealed = service.seal(kept, SECRET, DATA)
        service.seal(erased, SECRET, DATA)
        for name in (erased, erased, new_name()):
            service.erase(name)
        assert service.unseal(kept, sealed, DATA) == SECRET
        assert set(service.names(DATABASE)) == {kept}

    def test_key_of_a_name_that_never_was_is_absent(self, service: KeyService) -> None:
        sealed = service.seal(new_name(), SECRET, DATA)
        with pytest.raises(KeyAbsentError):
            service.unseal(new_name(), sealed, DATA)

    @pytest.mark.parametrize("secret", [b"", b"a", bytes(100_000)], ids=len)
    def test_secret_of_any_length_opens(self, service: KeyService, secret: bytes) -> None:
        name = new_name()
        sealed = service.seal(name, secret, DATA)
        assert len(sealed) == len(secret) + 33
        assert service.unseal(name, sealed, DATA) == secret

    def test_another_key_owner_or_byte_does_not_open(self, service: KeyService) -> None:
        name, other = new_name(), new_name()
        sealed = service.seal(name, SECRET, DATA)
        service.seal(other, SECRET, DATA)
        altered = [
            sealed[:at] + bytes([sealed[at] ^ 1]) + sealed[at + 1 :] for at in (5, 17, -1 % len(sealed))
        ]
        refused = [
            (other, sealed, DATA),
            (name, sealed, b"another's"),
            *((name, each, DATA) for each in altered),
        ]
        for arguments in refused:
            with pytest.raises(SealBrokenError):
                service.unseal(*arguments)
        # Nor did that do any harm.
        assert service.unseal(name, sealed, DATA) == SECRET

    @pytest.mark.parametrize("wrong", [b"", b"PPSK\x01", b"PPSK\x02" + bytes(99), bytes(99)])
    def test_what_is_no_seal_is_refused(self, service: KeyService, wrong: bytes) -> None:
        name = new_name()
        service.seal(name, SECRET, DATA)
        with pytest.raises(SealFormatError):
            service.unseal(name, wrong, DATA)

    def test_names_are_those_of_one_database(self, service: KeyService) -> None:
        assert set(service.names(DATABASE)) == set()
        names = {new_name() for _ in range(25)}
        for name in names:
            service.seal(name, SECRET, DATA)
        other = new_name(OTHER_DATABASE)
        service.seal(other, SECRET, DATA)
        assert set(service.names(DATABASE)) == names
        assert set(service.names(OTHER_DATABASE)) == {other}

    def test_another_process_opens_what_was_sealed_here_and_there(self, service: KeyService) -> None:
        name, theirs = new_name(), new_name()
        sealed = service.seal(name, SECRET, DATA)
        opened = elsewhere(service, f"print(service.unseal({name!r}, {sealed!r}, {DATA!r}))")
        assert opened == f"{SECRET!r}\n"
        made = elsewhere(service, f"print(service.seal({theirs!r}, {SECRET!r}, {DATA!r}).hex())")
        assert service.unseal(theirs, bytes.fromhex(made), DATA) == SECRET
        assert set(service.names(DATABASE)) == {name, theirs}

    def test_process_that_had_a_key_open_loses_it_when_another_erases(self, service: KeyService) -> None:
        name = new_name()
        sealed = service.seal(name, SECRET, DATA)
        assert service.unseal(name, sealed, DATA) == SECRET
        elsewhere(service, f"service.erase({name!r})")
        with pytest.raises(KeyAbsentError):
            service.unseal(name, sealed, DATA)
        assert set(service.names(DATABASE)) == set()

    def test_process_that_dies_after_sealing_leaves_the_key(self, service: KeyService) -> None:
        name = new_name()
        work = (
            f"print(service.seal({name!r}, {SECRET!r}, {DATA!r}).hex(), flush=True)\nimport os; os._exit(0)"
        )
        sealed = bytes.fromhex(elsewhere(service, work))
        assert set(service.names(DATABASE)) == {name}
        assert service.unseal(name, sealed, DATA) == SECRET

    def test_many_threads_seal_open_and_erase_at_once(self, service: KeyService) -> None:
        def work() -> bytes:
            name = new_name()
            sealed = service.seal(name, name, DATA)
            assert service.unseal(name, sealed, DATA) == name
            service.erase(new_name())
            return name

        names = at_once(*[work] * 8)
        assert set(service.names(DATABASE)) == set(names)

    def test_unavailable_service_says_so_and_calls_nothing_erased(
        self, service: KeyService, silenced: Callable[[], AbstractContextManager[None]]
    ) -> None:
        name, made = new_name(), new_name()
        sealed = service.seal(name, SECRET, DATA)
        with silenced():
            for call in (
                lambda: service.seal(made, SECRET, DATA),
                lambda: service.unseal(name, sealed, DATA),
                lambda: service.erase(name),
                lambda: list(service.names(DATABASE)),
            ):
                with pytest.raises(KeyServiceError, match="PANAPP_"):
                    call()
        assert service.unseal(name, sealed, DATA) == SECRET
        assert set(service.names(DATABASE)) == {name}
