"""The interface of rerandomizable public-key encryption schemes (LPP, Definition 2.8).

A scheme is one module with three classes derived from the ones below. `Ciphertext`
objects are opaque to callers: they come from `PublicKey.parse`, `encrypt`,
`rerandomize`, `add` or `scale` and leave through `bytes()`.
"""

import random
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NoReturn, Self

from panprivacy.encryption.embedding import embedded, extracted, piece_lengths

MAX_ALLOWED_WIDTH = 2**20
"""Widest range of plaintexts that `PrivateKey.decrypt` accepts."""


class InvalidCiphertextError(ValueError):
    """Bytes that are not a ciphertext under this key: wrong size, or not a group element."""


class InvalidKeyError(ValueError):
    """A serialized key that this version cannot use."""


class ValueOutOfRangeError(ValueError):
    """A ciphertext whose plaintext lies outside the range the caller allows."""


class Ciphertext(ABC):
    """One encrypted integer or piece of a byte string. Immutable; equality is equality of the encoding."""

    __slots__ = ()

    @abstractmethod
    def __bytes__(self) -> bytes:
        """The wire encoding: exactly `PublicKey.ciphertext_bytes` bytes."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ciphertext) and bytes(self) == bytes(other)

    def __hash__(self) -> int:
        return hash(bytes(self))

    @classmethod
    def own(cls, ciphertext: "Ciphertext") -> Self:
        """The ciphertext, which must be one of this scheme; TypeError if it is none."""
        if not isinstance(ciphertext, cls):
            raise TypeError(f"expected {cls.__name__}, not {type(ciphertext).__name__}")
        return ciphertext


class PublicKey(ABC):
    """Everything that needs no secret. Safe to share between threads and processes.

    A public key handed out by this package is the flavour for real devices. Operations on secrets avoid
    secret-dependent branches and table lookups as far as the underlying library can. The object remembers
    nothing about what it encrypted. `with_tables` is the opt-in to the faster flavour. Pickling yields the
    flavour for devices.
    """

    # A scheme sets these on its class; a key made of two sets them on itself.

    scheme: str
    """Registered name, e.g. `elgamal-secp256k1`. Part of every serialized key."""

    code: int
    """The name as one byte, in encoded configurations: 1 to 255, and never another scheme's."""

    ciphertext_bytes: int
    """Length of one encoded ciphertext."""

    decryption_seconds: float
    """The approximate time of one decryption on one core; work is cut into chunks by it."""

    rerandomized_is_fresh: bool
    """Whether Φ(c) is distributed exactly as a fresh encryption of the same plaintext.

    If so, the printed Φ^t(Enc(b)) may be replaced by Enc(b). If not, `encrypt(..., rerandomizations=t)`
    performs the t rerandomizations.
    """

    @abstractmethod
    def encrypt(self, message: int, random_source: random.Random, *, rerandomizations: int = 0) -> Ciphertext:
        """Φ^t(Enc(message)) with t = `rerandomizations`.

        Args:
            message: any integer (negative ones too) that the caller will be able to
                decrypt again; see the scheme for its plaintext space.
            random_source: `secrets.SystemRandom()` on devices and servers; a seeded
                `random.Random` in simulations only.
            rerandomizations: t ≥ 0; ignored if `rerandomized_is_fresh`.
        """

    @abstractmethod
    def rerandomize(self, ciphertext: Ciphertext, random_source: random.Random) -> Ciphertext:
        """Φ(ciphertext): same plaintext, unlinkable to the argument without the private key."""

    @abstractmethod
    def replace_or_rerandomize(
        self,
        replace: bool,
        message: int,
        ciphertext: Ciphertext,
        random_source: random.Random,
        *,
        rerandomizations: int,
    ) -> Ciphertext:
        """Φ^t(Enc(message)) if `replace`, otherwise Φ(ciphertext): the one operation that a secret bit
        decides.

        Both take the same path: they draw the same random bits and compute the same powers or multiples. So
        neither time nor the random source's position shows which it was. Code that calls either `encrypt` or
        `rerandomize`, depending on a secret, shows the secret to a clock.

        Args:
            replace: the secret.
            message, random_source: as in `encrypt`.
            ciphertext: already rerandomized t − 1 times.
            rerandomizations: t ≥ 1.
        """

    @abstractmethod
    def parse(self, encoded: bytes) -> Ciphertext:
        """Decode and check size and group membership.

        Raises:
            InvalidCiphertextError: otherwise.
        """

    def require_kept(self, ciphertexts: Sequence[Ciphertext]) -> None:  # noqa: B027  # most are all valid
        """Raise InvalidCiphertextError if a device's state was changed so that later ones would show whether
        it was replaced. A device asks before it goes on from what it stored."""

    @abstractmethod
    def with_tables(self) -> Self:
        """The same key with precomputed tables: same results, faster, not constant-time.

        For servers, simulators and benchmarks only: which table entries are read depends on
        the randomness, and messages may be remembered in caches. A scheme without tables
        returns itself.
        """


REPORT_NONCE_BYTES = 16
"""Length of a report's nonce (docs/protocol.md)."""


class NonceBoundKey(PublicKey):
    """A key whose ciphertexts belong to one report, so that a device draws its nonce first."""

    @abstractmethod
    def bound_to(self, nonce: bytes) -> Self:
        """The key to encrypt with in the report with this nonce (16 bytes)."""


def key_of_report(public_key: PublicKey, nonce: bytes) -> PublicKey:
    """The key to encrypt with in the report with this nonce (16 bytes): itself unless it is bound to one."""
    return public_key.bound_to(nonce) if isinstance(public_key, NonceBoundKey) else public_key


class SchemeKey(PublicKey):
    """The public key of one scheme: it encrypts byte strings too, adds and scales, and has a serialized
    form."""

    bytes_per_ciphertext: int
    """Most bytes of a byte string that one ciphertext takes."""

    # Byte strings ---------------------------------------------------------------

    @classmethod
    def byte_ciphertexts(cls, length: int) -> int:
        """How many ciphertexts a byte string of `length` ≥ 1 bytes takes."""
        return len(piece_lengths(length, cls.bytes_per_ciphertext))

    def encrypt_bytes(
        self, message: bytes, random_source: random.Random, *, rerandomizations: int = 0
    ) -> tuple[Ciphertext, ...]:
        """Φ^t(Enc(message)): `byte_ciphertexts(len(message))` ciphertexts, to be kept in this order.

        `PrivateKey.decrypt_bytes` reads them. How long this takes may depend on the bits of the message:
        see `replace_bytes_or_rerandomize` for the messages that it is made for.

        Args:
            message: at least 1 byte. Its length is public.
            random_source, rerandomizations: as in `encrypt`.
        """
        return tuple(
            self._encrypt_embedded(value, random_source, rerandomizations=rerandomizations)
            for value in embedded(message, self.bytes_per_ciphertext)
        )

    def replace_bytes_or_rerandomize(
        self,
        replace: bool,
        message: bytes,
        ciphertexts: Sequence[Ciphertext],
        random_source: random.Random,
        *,
        rerandomizations: int,
    ) -> tuple[Ciphertext, ...]:
        """Φ^t(Enc(message)) if `replace`, otherwise Φ of each ciphertext.

        Both take the same path, as in `replace_or_rerandomize`: the message is embedded whether or not it is
        then used. The time for that may depend on its bits (ElGamal tries until it finds a point), never on
        `replace`. So let the message be one party's share, freshly drawn for this call. Then it is uniformly
        random whatever the secret is, and a clock learns some bits of the share and none of the secret.

        Args:
            replace: the secret.
            message, random_source: as in `encrypt_bytes`.
            ciphertexts: of as many bytes as `message` has, each already rerandomized t − 1 times.
            rerandomizations: t ≥ 1.

        Raises:
            ValueError: the number of ciphertexts is not that of the message.
        """
        values = embedded(message, self.bytes_per_ciphertext)
        if len(values) != len(ciphertexts):
            raise ValueError(f"{len(message)} bytes take {len(values)} ciphertexts, not {len(ciphertexts)}")
        return tuple(
            self._replace_or_rerandomize_embedded(
                replace, value, ciphertext, random_source, rerandomizations=rerandomizations
            )
            for value, ciphertext in zip(values, ciphertexts, strict=True)
        )

    # A scheme whose plaintexts are not integers of that size, to be read back whole, overrides these two.

    def _encrypt_embedded(
        self, value: int, random_source: random.Random, *, rerandomizations: int
    ) -> Ciphertext:
        """`encrypt` for an integer that encodes a piece of a byte string (`embedding.embedded`)."""
        return self.encrypt(value, random_source, rerandomizations=rerandomizations)

    def _replace_or_rerandomize_embedded(
        self,
        replace: bool,
        value: int,
        ciphertext: Ciphertext,
        random_source: random.Random,
        *,
        rerandomizations: int,
    ) -> Ciphertext:
        """`replace_or_rerandomize` for such an integer."""
        return self.replace_or_rerandomize(
            replace, value, ciphertext, random_source, rerandomizations=rerandomizations
        )

    # Arithmetic -----------------------------------------------------------------

    @abstractmethod
    def add(self, ciphertexts: Sequence[Ciphertext]) -> Ciphertext:
        """An encryption of the sum of the plaintexts (one or more). Not rerandomized."""

    @abstractmethod
    def scale(self, ciphertext: Ciphertext, factor: int) -> Ciphertext:
        """An encryption of `factor` (non-zero, may be negative) times the plaintext. Not rerandomized."""

    @abstractmethod
    def to_json(self) -> dict[str, str]:
        """Serialized form: `scheme` and the scheme's own fields, all strings."""

    @classmethod
    @abstractmethod
    def from_json(cls, members: Mapping[str, str]) -> Self:
        """Inverse of `to_json`. Raises InvalidKeyError for anything malformed or unknown."""

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_json, (self.to_json(),)


class PrivateKey(ABC):
    """The secret half. `repr` never shows it, and it does not pickle."""

    public_key_class: ClassVar[type[SchemeKey]]

    @property
    @abstractmethod
    def public_key(self) -> SchemeKey: ...

    @abstractmethod
    def decrypt(self, ciphertext: Ciphertext, allowed: range) -> int:
        """The plaintext.

        Args:
            ciphertext: as parsed by this key's public key.
            allowed: the plaintexts to accept, step 1, not empty, at most 2**20 wide.

        Raises:
            ValueOutOfRangeError: the plaintext is not in `allowed`.
            ValueError: `allowed` is not such a range.
        """

    def decrypt_bytes(self, ciphertexts: Sequence[Ciphertext], length: int) -> bytes:
        """The byte string of `length` bytes that `SchemeKey.encrypt_bytes` encrypted.

        Args:
            ciphertexts: as parsed by this key's public key, `byte_ciphertexts(length)` of them.

        Raises:
            ValueOutOfRangeError: a plaintext does not encode a piece of such a byte string, but e.g. an
                integer, or a piece of a longer or shorter one.
            ValueError: the number of ciphertexts is wrong.
        """
        lengths = piece_lengths(length, self.public_key.bytes_per_ciphertext)
        if len(lengths) != len(ciphertexts):
            raise ValueError(f"{length} bytes take {len(lengths)} ciphertexts, not {len(ciphertexts)}")
        pieces = []
        for ciphertext, piece_length in zip(ciphertexts, lengths, strict=True):
            piece = extracted(self._decrypt_embedded(ciphertext), piece_length)
            if piece is None:
                raise ValueOutOfRangeError(f"the plaintext is not a piece of {piece_length} bytes")
            pieces.append(piece)
        return b"".join(pieces)

    @abstractmethod
    def _decrypt_embedded(self, ciphertext: Ciphertext) -> int:
        """The integer that encodes a piece; from any other plaintext one that encodes none.

        Raises ValueOutOfRangeError if there is no such integer.
        """

    @abstractmethod
    def to_bytes(self) -> bytes:
        """Serialized secret; store it only encrypted (see `panprivacy.encryption.sealing`)."""

    @classmethod
    @abstractmethod
    def from_bytes(cls, encoded: bytes) -> Self:
        """Inverse of `to_bytes`. Raises InvalidKeyError."""

    @classmethod
    @abstractmethod
    def generate(cls, random_source: random.Random) -> Self:
        """A fresh key pair."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} (secret)>"

    def __reduce__(self) -> NoReturn:
        # A pickle is an unencrypted copy of the key in whatever queue or cache it lands.
        raise TypeError("private keys do not pickle; seal `to_bytes()` instead")


def require_decryptable(allowed: range) -> None:
    """Raise ValueError unless `allowed` is a range that `PrivateKey.decrypt` accepts."""
    if allowed.step != 1 or not 0 < len(allowed) <= MAX_ALLOWED_WIDTH:
        raise ValueError(f"allowed must have step 1 and 1 to {MAX_ALLOWED_WIDTH} values, not {allowed!r}")


def require_rerandomizations(rerandomizations: int, maximum: int | None = None) -> None:
    """Raise ValueError unless 0 ≤ `rerandomizations` (≤ `maximum`)."""
    if rerandomizations < 0 or (maximum is not None and rerandomizations > maximum):
        bound = "" if maximum is None else f" and at most {maximum}"
        raise ValueError(f"rerandomizations must be at least 0{bound}, not {rerandomizations}")


def require_members(members: Mapping[str, str], scheme: str, names: Sequence[str]) -> None:
    """Raise InvalidKeyError unless `members` is a serialized key of `scheme` with exactly these strings."""
    if members.get("scheme") != scheme:
        raise InvalidKeyError(f"this is a key of scheme {members.get('scheme')!r}, not {scheme!r}")
    expected = {"scheme", *names}
    if set(members) != expected:
        raise InvalidKeyError(f"a {scheme} key has the fields {sorted(expected)}, not {sorted(members)}")
    for name in names:
        if not isinstance(members[name], str):
            raise InvalidKeyError(f"field {name!r} must be a string")


def hexadecimal(members: Mapping[str, str], name: str, length: int) -> bytes:
    """Decode a field of exactly `length` bytes in lower-case hexadecimal: one spelling per key.

    Raises:
        InvalidKeyError: the field is spelled otherwise.
    """
    text = members[name]
    if len(text) != 2 * length or not set(text) <= set("0123456789abcdef"):
        raise InvalidKeyError(f"field {name!r} must be {2 * length} lower-case hexadecimal digits")
    return bytes.fromhex(text)
