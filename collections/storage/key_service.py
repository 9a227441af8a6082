"""Where erasable keys are: a service that seals under keys which never leave it, and erases them.

`key_files` keeps them in files of one host, `key_token` in a PKCS#11 token that many hosts share. An adapter
to a cloud's key management must provide what `KeyService` promises. Above all, erasing one key must take
effect at once and for ever. Most clouds only schedule it, days or weeks ahead, and can undo it until then:
such keys are not erased. Nor may the service keep backups of keys, or answer from a cache.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import ClassVar, NamedTuple

NAME_BYTES = 32
"""Of the name of a key: its database's identifier and its own, 16 bytes each. No secret."""

PREFIX_BYTES = 16
"""Of a name: the identifier of the database."""


class KeyServiceError(RuntimeError):
    """The service does not answer, or fails. Nothing is known about any key: none counts as erased.

    The message names the setting to check, and holds no secret and no message of a driver.
    """


class KeyAbsentError(RuntimeError):
    """The service answers, and has no key of this name: it was erased, or never was here."""


class TokenAddress(NamedTuple):
    """A PKCS#11 token, as `PANAPP_KEY_SERVICE` names it.

    Attributes:
        module: path of the library through which it is reached.
        token: its label; empty for any.
        serial: its serial number; empty for any.
    """

    module: str
    token: str
    serial: str


class KeyService(ABC):
    """Keys of 256 bits, each for one secret. All methods may be called by many threads and processes at once.

    Sealing is AES-256-GCM, in the format of panprivacy/encryption/sealing.py, whatever the service.
    Names have `NAME_BYTES` bytes.
    """

    kind: ClassVar[str]
    """Of the service, as the database has it. A secret is opened and erased by the kind that sealed it."""

    @property
    @abstractmethod
    def place(self) -> str:
        """Where the keys are, for an operator."""

    @abstractmethod
    def seal(self, name: bytes, secret: bytes, associated_data: bytes) -> bytes:
        """Make a fresh random key and seal `secret` under it.

        When this returns, the key survives a crash of any machine, and all processes can use it.

        Args:
            name: of the key; never used before.
            secret: what to seal.
            associated_data: authenticated, not stored.

        Raises:
            KeyServiceError: it failed. A key of this name may be left.
        """

    @abstractmethod
    def unseal(self, name: bytes, sealed: bytes, associated_data: bytes) -> bytes:
        """Inverse of `seal`.

        Raises:
            KeyAbsentError: there is no key of this name.
            SealFormatError, SealBrokenError: there is one, and it does not open this.
            KeyServiceError: it failed.
        """

    @abstractmethod
    def erase(self, name: bytes) -> None:
        """Erase the key for ever: from when this returns, no process and no attacker opens what it sealed.

        Nothing is done if there is no such key.

        Raises:
            KeyServiceError: it failed. The key may be there still.
        """

    @abstractmethod
    def names(self, prefix: bytes) -> Iterable[bytes]:
        """Of all keys whose names begin with these `PREFIX_BYTES` bytes, those made by crashed processes too.

        Raises:
            KeyServiceError: it failed.
        """
