"""Erasable keys in a PKCS#11 token, which the processes of many hosts share: each key is an object that the
token does not hand out, and with which the token itself seals.

A key is a secret key of AES-256 (PKCS#11 2.40, section 4.10): stored, sensitive, not extractable, its
`CKA_ID` the key's name, its `CKA_LABEL` the database's identifier in hexadecimal digits. Sealing is
`CKM_AES_GCM` with a nonce of ours. The token must replicate an erasure at once, and back nothing up.

A process has one session, and its threads take turns. The library of the token is set up anew for each
session: after a fork, which a child must not share (section 5.4), and after an error.
"""

import os
import secrets
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol, TypeVar, cast

import pkcs11
from pkcs11 import Attribute, GCMParams, Mechanism, MechanismFlag, ObjectClass, TokenFlag
from pkcs11.exceptions import (
    DeviceMemory,
    EncryptedDataInvalid,
    EncryptedDataLenRange,
    HostMemory,
    MultipleTokensReturned,
    NoSuchToken,
    PinExpired,
    PinIncorrect,
    PinInvalid,
    PinLenRange,
    PinLocked,
    PKCS11Error,
    TokenNotPresent,
    TokenNotRecognised,
    TokenWriteProtected,
    UserPinNotInitialized,
)

from panprivacy.encryption.sealing import SealBrokenError, seal_by, unseal_by
from storage.key_service import PREFIX_BYTES, KeyAbsentError, KeyService, KeyServiceError, TokenAddress

T = TypeVar("T")

KEY_BITS = 256
TAG_BITS = 128
NONCE_BYTES = 12

_FULL = "the token of PANAPP_KEY_SERVICE takes no more keys"
_PIN = "the token of PANAPP_KEY_SERVICE refuses PANAPP_KEY_SERVICE_PIN; restart the process to try again"
_ABSENT = "not exactly one token is there of those that PANAPP_KEY_SERVICE may mean"
_REASONS: dict[type[PKCS11Error], str] = {
    DeviceMemory: _FULL,
    HostMemory: _FULL,
    TokenWriteProtected: "the token of PANAPP_KEY_SERVICE is write-protected",
    **dict.fromkeys((NoSuchToken, MultipleTokensReturned, TokenNotPresent, TokenNotRecognised), _ABSENT),
    **dict.fromkeys((PinIncorrect, PinInvalid, PinLenRange), _PIN),
    **dict.fromkeys(
        (PinLocked, PinExpired, UserPinNotInitialized), "the PIN of PANAPP_KEY_SERVICE's token is locked"
    ),
}
"""What an operator must know of an error; all others are named by their type."""


class _RefusedError(KeyServiceError):
    """The PIN was refused. Tokens lock after some attempts, so that this process makes no other."""


@dataclass
class _Process:
    """What this process has open. `lock` is held by the thread whose turn it is."""

    lock: threading.RLock = field(default_factory=threading.RLock)
    session: pkcs11.Session | None = None
    of: "KeyToken | None" = None
    refused: "KeyToken | None" = None


_process = _Process()


def forget() -> None:
    """Use no session from before: in a child after a fork, whose parent's it is."""
    global _process
    _process = _Process()


os.register_at_fork(after_in_child=forget)


@dataclass(frozen=True)
class KeyToken(KeyService):
    """One token. Its PIN is a secret, which no message and no representation shows."""

    address: TokenAddress
    pin: str = field(repr=False)
    kind = "pkcs11"

    @property
    def place(self) -> str:
        """By the setting, which says more than we may log."""
        return "the token of PANAPP_KEY_SERVICE"

    def seal(self, name: bytes, secret: bytes, associated_data: bytes) -> bytes:
        """The token stores the key before it seals: `C_GenerateKey` returns then."""

        def make_and_seal(session: pkcs11.Session) -> bytes:
            key = session.generate_key(
                pkcs11.KeyType.AES,
                KEY_BITS,
                id=name,
                label=_label(name),
                store=True,
                capabilities=MechanismFlag.ENCRYPT | MechanismFlag.DECRYPT,
                template={
                    Attribute.PRIVATE: True,
                    Attribute.SENSITIVE: True,
                    Attribute.EXTRACTABLE: False,
                    Attribute.MODIFIABLE: False,
                },
            )
            return seal_by(_Gcm(key).encrypt, secret, associated_data, secrets.SystemRandom())

        with _process.lock:
            try:
                return self._in_session(make_and_seal)
            except _RefusedError:
                raise
            except KeyServiceError:
                # The session may have ended since it was last used. What it may have made must not stay.
                self.erase(name)
                return self._in_session(make_and_seal)

    def unseal(self, name: bytes, sealed: bytes, associated_data: bytes) -> bytes:
        """The key is searched for each time: what another process erased does not open."""

        def find_and_unseal(session: pkcs11.Session) -> bytes:
            key = next(iter(_keys(session, name)), None)
            if key is None:
                raise KeyAbsentError("the token has no such key")
            return unseal_by(_Gcm(key).decrypt, sealed, associated_data)

        return self._in_session_again(find_and_unseal)

    def erase(self, name: bytes) -> None:
        """`C_DestroyObject`: the token forgets the key."""

        def find_and_destroy(session: pkcs11.Session) -> None:
            found = _keys(session, name)
            if not found:
                raise KeyAbsentError("the token has no such key")
            for key in found:
                key.destroy()

        with suppress(KeyAbsentError):
            self._in_session_again(find_and_destroy)

    def names(self, prefix: bytes) -> set[bytes]:
        """Of the objects whose label is this database's."""

        def find(session: pkcs11.Session) -> set[bytes]:
            found = session.get_objects(
                {Attribute.CLASS: ObjectClass.SECRET_KEY, Attribute.LABEL: prefix.hex()}
            )
            names = {bytes(key[Attribute.ID]) for key in found}
            if not names:
                raise KeyAbsentError("the token has no key of this database")
            return names

        try:
            return self._in_session_again(find)
        except KeyAbsentError:
            return set()

    def _in_session_again(self, work: Callable[[pkcs11.Session], T]) -> T:
        """What `work` returns, done once more in a new session if it failed.

        That a key is absent is believed of a new session only: in an old one, a token that was removed may
        look like an empty one.
        """
        with _process.lock:
            try:
                return self._in_session(work)
            except _RefusedError:
                raise
            except (KeyServiceError, KeyAbsentError):
                _close()
                return self._in_session(work)

    def _in_session(self, work: Callable[[pkcs11.Session], T]) -> T:
        """Raises KeyServiceError for every error of the token or its library, after closing the session."""
        with _process.lock:
            try:
                return work(self._session())
            except PKCS11Error as error:
                _close()
                raise _explained(error, self) from error

    def _session(self) -> pkcs11.Session:
        if _process.session is None or _process.of != self:
            if _process.refused == self:
                raise _RefusedError(_PIN)
            _close()
            _process.session, _process.of = self._opened(), self
        return _process.session

    def _opened(self) -> pkcs11.Session:
        try:
            library = pkcs11.lib(self.address.module)
        except PKCS11Error as error:
            raise KeyServiceError("the module that PANAPP_KEY_SERVICE names cannot be loaded") from error
        # It may be as a parent process or a failure left it.
        with suppress(PKCS11Error):
            library.finalize()
        library.initialize()
        asked = {
            "token_label": self.address.token or None,
            "token_serial": self.address.serial.encode() or None,
        }
        token = library.get_token(**asked)
        if TokenFlag.USER_PIN_LOCKED in token.flags:
            raise PinLocked
        if TokenFlag.USER_PIN_FINAL_TRY in token.flags:
            raise KeyServiceError(
                "the token allows one more attempt to sign in; do so by hand, so that PANAPP_KEY_SERVICE_PIN "
                "cannot lock it"
            )
        return token.open(rw=True, user_pin=self.pin)


class _AesKey(Protocol):
    """An object that seals and opens. The library's types do not say which objects do."""

    def encrypt(self, data: bytes, *, mechanism: Mechanism, mechanism_param: GCMParams) -> bytes: ...

    def decrypt(self, data: bytes, *, mechanism: Mechanism, mechanism_param: GCMParams) -> bytes: ...


class _Gcm:
    """AES-GCM under a key in a token, as panprivacy/encryption/sealing.py wants it."""

    def __init__(self, key: pkcs11.Object) -> None:
        self._key = cast("_AesKey", key)

    def encrypt(self, nonce: bytes, secret: bytes, associated_data: bytes) -> bytes:
        parameters = GCMParams(nonce, associated_data, TAG_BITS)
        return self._key.encrypt(secret, mechanism=Mechanism.AES_GCM, mechanism_param=parameters)

    def decrypt(self, nonce: bytes, ciphertext: bytes, associated_data: bytes) -> bytes:
        parameters = GCMParams(nonce, associated_data, TAG_BITS)
        try:
            return self._key.decrypt(ciphertext, mechanism=Mechanism.AES_GCM, mechanism_param=parameters)
        except (EncryptedDataInvalid, EncryptedDataLenRange) as error:
            raise _broken() from error
        except PKCS11Error as error:
            # Some tokens have no error of its own for a wrong tag. A key that works tells it from others.
            self._require_works()
            raise _broken() from error

    def _require_works(self) -> None:
        """PKCS11Error, unless the key opens what it sealed just before."""
        nonce = secrets.token_bytes(NONCE_BYTES)
        parameters = GCMParams(nonce, b"", TAG_BITS)
        sealed = self._key.encrypt(nonce, mechanism=Mechanism.AES_GCM, mechanism_param=parameters)
        self._key.decrypt(sealed, mechanism=Mechanism.AES_GCM, mechanism_param=parameters)


def _keys(session: pkcs11.Session, name: bytes) -> list[pkcs11.Object]:
    return list(session.get_objects({Attribute.CLASS: ObjectClass.SECRET_KEY, Attribute.ID: name}))


def _label(name: bytes) -> str:
    return name[:PREFIX_BYTES].hex()


def _broken() -> SealBrokenError:
    return SealBrokenError("the sealed secret was altered, or belongs to another erasable key or owner")


def _close() -> None:
    session, _process.session = _process.session, None
    if session is not None:
        with suppress(PKCS11Error):
            session.close()


def _explained(error: PKCS11Error, token: KeyToken) -> KeyServiceError:
    """The error for an operator: without the library's message, which may name what is in the token."""
    reason = _REASONS.get(type(error))
    if reason is None:
        return KeyServiceError(f"the token of PANAPP_KEY_SERVICE fails: {type(error).__name__}")
    if reason == _PIN:
        _process.refused = token
        return _RefusedError(reason)
    return KeyServiceError(reason)
