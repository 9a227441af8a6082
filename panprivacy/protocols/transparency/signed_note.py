"""Texts with signatures below (C2SP, signed-note): what logs and witnesses sign.

A text without a known signer proves nothing: read it with `opened`, which checks first.
"""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from panprivacy.formats import base64_text
from panprivacy.formats.base64_text import Base64Error
from panprivacy.protocols.ed25519 import KeyRefusedError, public_key_of, require_signature

ED25519 = 0x01
COSIGNATURE = 0x04
"""Types of signatures: by a log, and by a witness with a time."""

LONGEST_NOTE = 1024 * 1024
"""Bytes; longer ones are refused unread."""

MOST_SIGNATURES = 100
_KEY_BYTES = 32
_ID_BYTES = 4
_DASH = "\N{EM DASH} "  # as the format has it
_CONTROL = re.compile("[\x00-\x09\x0b-\x1f]")
_SIGNATURE_LINE = re.compile(rf"{_DASH}([^ ]+) ([^ ]+)")


class NoteError(ValueError):
    """A note that is malformed, or is not signed as it must be."""


class NotSignedError(NoteError):
    """A note without a signature by a known key, or with one that does not hold."""


@dataclass(frozen=True)
class VerifierKey:
    """A public key with the name of its holder.

    Attributes:
        name: not empty, without spaces and plus signs.
        kind: type of signature, `ED25519` or `COSIGNATURE`.
        key: Ed25519, 32 bytes.
    """

    name: str
    kind: int
    key: bytes

    def __post_init__(self) -> None:
        if not is_name(self.name):
            raise NoteError("a key's name must not be empty or have spaces, plus signs or control characters")
        if self.kind not in (ED25519, COSIGNATURE) or len(self.key) != _KEY_BYTES:
            raise NoteError("a verifier key must be an Ed25519 key of a log (1) or a witness (4)")
        try:
            public_key_of(self.key)
        except KeyRefusedError as error:
            raise NoteError(f"the verifier key of {self.name} {error}") from None

    @property
    def identifier(self) -> bytes:
        """Four bytes that name the key, together with its holder's name."""
        hashed = self.name.encode() + b"\n" + bytes((self.kind,)) + self.key
        return hashlib.sha256(hashed).digest()[:_ID_BYTES]

    @property
    def text(self) -> str:
        """The key as one line: `name+identifier+base64`."""
        material = base64_text.encode(bytes((self.kind,)) + self.key)
        return f"{self.name}+{self.identifier.hex()}+{material}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Inverse of `text`; NoteError if it is of another form, or name and key do not fit."""
        name, _, rest = text.partition("+")
        identifier, _, encoded = rest.partition("+")
        try:
            material = base64_text.decode(encoded)
        except Base64Error:
            material = b""
        if not material:
            raise NoteError("a verifier key must look like name+identifier+base64")
        key = cls(name, material[0], material[1:])
        if key.text != text:
            raise NoteError(f"the verifier key is not that of {name}: its identifier is {identifier}")
        return key

    def verify(self, signature: bytes, message: bytes) -> None:
        """Raise NotSignedError unless the 64 bytes are this key's signature of the message."""
        try:
            require_signature(public_key_of(self.key), signature, message)
        except (InvalidSignature, ValueError):
            raise NotSignedError(f"the signature of {self.name} does not hold") from None


@dataclass(frozen=True)
class Signature:
    """A line below a note.

    Attributes:
        name: of the signer.
        identifier: of the key, 4 bytes.
        content: what follows it; of the key's type.
    """

    name: str
    identifier: bytes
    content: bytes

    @property
    def line(self) -> str:
        """Its line in a note, with the end of the line."""
        return f"{_DASH}{self.name} {base64_text.encode(self.identifier + self.content)}\n"

    def is_by(self, key: VerifierKey) -> bool:
        """Whether it claims to be this key's."""
        return self.name == key.name and self.identifier == key.identifier


@dataclass(frozen=True)
class Note:
    """A text and its signatures, none of them checked.

    Attributes:
        text: ends with a newline.
    """

    text: str
    signatures: tuple[Signature, ...]

    def encode(self) -> bytes:
        """The note as it travels. Raises NoteError for a text that no note can have."""
        _require_text(self.text)
        return (self.text + "\n" + "".join(signature.line for signature in self.signatures)).encode()

    @classmethod
    def decode(cls, encoded: bytes) -> Self:
        """Inverse of `encode`; NoteError for anything that is no note."""
        if len(encoded) > LONGEST_NOTE:
            raise NoteError(f"a note must have at most {LONGEST_NOTE} bytes")
        try:
            content = encoded.decode()
        except UnicodeDecodeError:
            raise NoteError("a note must be UTF-8") from None
        # The last empty line divides text and signatures.
        text, blank, below = content.rpartition("\n\n")
        if not blank or not below:
            raise NoteError("a note must have signatures below an empty line")
        _require_text(text + "\n")
        return cls(text + "\n", parse_signatures(below))

    def signatures_by(self, key: VerifierKey) -> list[Signature]:
        """Those that claim to be this key's, unchecked."""
        return [signature for signature in self.signatures if signature.is_by(key)]


def parse_signatures(lines: str) -> tuple[Signature, ...]:
    """Lines of signatures, each with its end; NoteError if one is malformed or there are too many."""
    if not lines.endswith("\n"):
        raise NoteError("the last line of a note must end")
    parts = lines[:-1].split("\n")
    if len(parts) > MOST_SIGNATURES:
        raise NoteError(f"a note may have at most {MOST_SIGNATURES} signatures")
    return tuple(map(_signature, parts))


def sign(text: str, name: str, private_key: Ed25519PrivateKey) -> Signature:
    """A log's signature of a text (Ed25519)."""
    key = VerifierKey(name, ED25519, private_key.public_key().public_bytes_raw())
    _require_text(text)
    return Signature(name, key.identifier, private_key.sign(text.encode()))


def opened(encoded: bytes, keys: Iterable[VerifierKey]) -> Note:
    """A note that at least one of these keys (of type `ED25519`) has signed.

    Signatures by other keys are ignored. One that claims to be by one of these keys must hold.

    Raises:
        NoteError: malformed, signed by none of them, or a signature of theirs does not hold.
    """
    note = Note.decode(encoded)
    require_signed(note, keys)
    return note


def require_signed(note: Note, keys: Iterable[VerifierKey]) -> None:
    """NotSignedError unless one of these keys (of type `ED25519`) has signed, and all of their signatures
    hold."""
    checked = 0
    for key in keys:
        for signature in note.signatures_by(key):
            key.verify(signature.content, note.text.encode())
            checked += 1
    if not checked:
        raise NotSignedError("no key that is known has signed the note")


def is_name(name: str) -> bool:
    """Whether a key may have this name."""
    return bool(name) and not any(
        character.isspace() or character == "+" or character < " " for character in name
    )


def _signature(line: str) -> Signature:
    match = _SIGNATURE_LINE.fullmatch(line)
    if match is None or not is_name(match[1]):
        raise NoteError("a line below a note must be — name base64")
    try:
        content = base64_text.decode(match[2])
    except Base64Error:
        content = b""
    # One spelling for a signature, and something behind the key's identifier.
    if len(content) <= _ID_BYTES or base64_text.encode(content) != match[2]:
        raise NoteError("a line below a note must be — name base64")
    return Signature(match[1], content[:_ID_BYTES], content[_ID_BYTES:])


def _require_text(text: str) -> None:
    if not text.endswith("\n"):
        raise NoteError("the text of a note must end with a newline")
    if _CONTROL.search(text):
        raise NoteError("a note must not have control characters")
