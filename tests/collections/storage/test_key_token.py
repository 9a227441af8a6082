"""Erasable keys in a PKCS#11 token, which processes of many hosts share."""

import pytest

pytest.importorskip("pkcs11", reason="python-pkcs11 is not installed")

from typing import Any

import pkcs11
from pkcs11 import Attribute, exceptions

from storage import key_token
from storage.key_service import KeyServiceError
from storage.key_token import KeyToken
from tests.collections.storage.key_service_contract import (
    DATA,
    DATABASE,
    SECRET,
    KeyServiceContract,
    elsewhere,
    new_name,
)
from tests.collections.storage.soft_token import PIN, SoftToken, needed
from tests.collections.storage.soft_token import silenced as silenced
from tests.collections.storage.soft_token import token as token

pytestmark = needed


@pytest.fixture
def service(token: SoftToken) -> KeyToken:
    return KeyToken(token.address, PIN)


class TestKeyToken(KeyServiceContract):
    pass


def keys(service: KeyToken) -> list[pkcs11.Object]:
    """As another program with the PIN sees them."""
    list(service.names(DATABASE))
    session = key_token._process.session
    assert session is not None
    return list(session.get_objects({Attribute.CLASS: pkcs11.ObjectClass.SECRET_KEY}))


def test_token_never_hands_a_key_out(service: KeyToken) -> None:
    name = new_name()
    service.seal(name, SECRET, DATA)
    (key,) = keys(service)
    shown = (Attribute.TOKEN, Attribute.PRIVATE, Attribute.SENSITIVE, Attribute.EXTRACTABLE, Attribute.WRAP)
    assert [key[attribute] for attribute in shown] == [True, True, True, False, False]
    assert (key[Attribute.ID], key[Attribute.LABEL], key[Attribute.VALUE_LEN]) == (name, DATABASE.hex(), 32)
    with pytest.raises(exceptions.AttributeSensitive):
        key[Attribute.VALUE]


def test_pin_is_in_no_text_about_the_service(service: KeyToken) -> None:
    assert PIN not in f"{service} {service!r} {service.place} {service.address}"


def test_wrong_pin_is_tried_once_and_the_setting_named(
    service: KeyToken, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tokens lock after a few attempts."""
    name = new_name()
    sealed = service.seal(name, SECRET, DATA)
    opened, attempts = KeyToken._opened, []

    def counted(self: KeyToken) -> Any:
        attempts.append(self)
        return opened(self)

    monkeypatch.setattr(KeyToken, "_opened", counted)
    wrong = KeyToken(service.address, "wrong 1234")
    for _ in range(3):
        with pytest.raises(KeyServiceError, match="refuses PANAPP_KEY_SERVICE_PIN") as refused:
            wrong.unseal(name, sealed, DATA)
        with pytest.raises(KeyServiceError):
            wrong.seal(new_name(), SECRET, DATA)
        assert "1234" not in str(refused.value)
    assert attempts == [wrong]
    assert service.unseal(name, sealed, DATA) == SECRET


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"module": "/nowhere/module.so"}, "the module that PANAPP_KEY_SERVICE names cannot be loaded"),
        ({"token": "another"}, "not exactly one token is there"),
        ({"serial": "4711"}, "not exactly one token is there"),
    ],
)
def test_token_that_is_not_found_is_named_by_its_setting(
    service: KeyToken, changed: dict[str, str], message: str
) -> None:
    other = KeyToken(service.address._replace(**changed), PIN)
    with pytest.raises(KeyServiceError, match=message):
        other.seal(new_name(), SECRET, DATA)


def test_token_is_found_by_its_serial_number_alone(service: KeyToken) -> None:
    name = new_name()
    sealed = service.seal(name, SECRET, DATA)
    session = key_token._process.session
    assert session is not None
    serial = session.token.serial.decode()
    by_serial = KeyToken(service.address._replace(token="", serial=serial), PIN)
    assert by_serial.unseal(name, sealed, DATA) == SECRET


class Failing:
    """A session whose token raises an error at everything that would make a key."""

    def __init__(self, error: type[exceptions.PKCS11Error]) -> None:
        self.error = error

    def generate_key(self, *_: Any, **__: Any) -> Any:
        raise self.error

    def get_objects(self, _: Any) -> list[Any]:
        return []

    def close(self) -> None:
        raise exceptions.SessionHandleInvalid


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (exceptions.DeviceMemory, "takes no more keys"),
        (exceptions.PinLocked, "PIN of PANAPP_KEY_SERVICE's token is locked"),
        (exceptions.TokenNotPresent, "not exactly one token is there"),
        (exceptions.TokenWriteProtected, "write-protected"),
        (exceptions.DeviceError, "PANAPP_KEY_SERVICE fails: DeviceError"),
    ],
)
def test_full_locked_or_broken_token_is_said_to_be_that(
    service: KeyToken, monkeypatch: pytest.MonkeyPatch, error: type[exceptions.PKCS11Error], message: str
) -> None:
    monkeypatch.setattr(KeyToken, "_opened", lambda _: Failing(error))
    with pytest.raises(KeyServiceError, match=message):
        service.seal(new_name(), SECRET, DATA)


def test_token_with_one_attempt_left_is_not_signed_in_to(
    service: KeyToken, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Token:
        flags = pkcs11.TokenFlag.USER_PIN_FINAL_TRY

    class Library:
        def finalize(self) -> None: ...

        def initialize(self) -> None: ...

        def get_token(self, **_: Any) -> Token:
            return Token()

    monkeypatch.setattr(pkcs11, "lib", lambda _: Library())
    with pytest.raises(KeyServiceError, match="one more attempt"):
        service.seal(new_name(), SECRET, DATA)


# The library ends a search in the session that ended, in vain, when it is collected.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_session_that_ended_is_opened_anew(service: KeyToken) -> None:
    name, other = new_name(), new_name()
    sealed = service.seal(name, SECRET, DATA)

    def end_session() -> None:
        assert key_token._process.session is not None
        key_token._process.session.close()

    end_session()
    assert service.unseal(name, sealed, DATA) == SECRET
    end_session()
    service.seal(other, SECRET, DATA)
    end_session()
    assert service.names(DATABASE) == {name, other}
    end_session()
    service.erase(other)
    assert service.names(DATABASE) == {name}


def test_seal_that_failed_after_the_key_was_made_leaves_one_key(
    service: KeyToken, monkeypatch: pytest.MonkeyPatch
) -> None:
    encrypt, failures = key_token._Gcm.encrypt, [exceptions.DeviceError()]

    def fail_once(*arguments: Any) -> bytes:
        if failures:
            raise failures.pop()
        return encrypt(*arguments)

    monkeypatch.setattr(key_token._Gcm, "encrypt", fail_once)
    name = new_name()
    sealed = service.seal(name, SECRET, DATA)
    assert len(keys(service)) == 1
    assert service.unseal(name, sealed, DATA) == SECRET


def test_token_that_was_made_anew_has_no_key(service: KeyToken, token: SoftToken) -> None:
    name = new_name()
    sealed = service.seal(name, SECRET, DATA)
    with token.removed():
        token.initialize(PIN)
        for folder in token.folder.iterdir():
            assert elsewhere(service, f"print(service.names({DATABASE!r}))") == "set()\n"
            for file in folder.iterdir():
                file.unlink()
            folder.rmdir()
    assert service.unseal(name, sealed, DATA) == SECRET


FORKING = """
import os
before = {before!r}
sealed = service.seal(before, b"before the fork", b"")
child = os.fork()
made = bytes({database!r}) + bytes([child > 0]) * 16
own = service.seal(made, b"after it", b"")
assert service.unseal(made, own, b"") == b"after it"
assert service.unseal(before, sealed, b"") == b"before the fork"
if child == 0:
    grandchild = os.fork()
    service.erase(made)
    if grandchild:
        assert os.waitpid(grandchild, 0)[1] == 0
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
assert service.unseal(before, sealed, b"") == b"before the fork"
assert service.names(bytes({database!r})) == {{before, made}}
print("fine")
"""


def test_children_of_a_fork_have_sessions_of_their_own(service: KeyToken) -> None:
    """As Celery's workers are made."""
    work = FORKING.format(before=new_name(), database=DATABASE)
    assert elsewhere(service, work) == "fine\n"
