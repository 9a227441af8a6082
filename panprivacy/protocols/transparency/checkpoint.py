"""What a log signs: how many entries it has, and the root over them (C2SP, tlog-checkpoint)."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from panprivacy.formats import base64_text
from panprivacy.formats.base64_text import Base64Error
from panprivacy.protocols.transparency.merkle import EMPTY_ROOT, HASH_BYTES
from panprivacy.protocols.transparency.signed_note import Note, NoteError, VerifierKey, require_signed

LARGEST_SIZE = 2**63 - 1

_NUMBER = re.compile(r"0|[1-9][0-9]{0,18}")


@dataclass(frozen=True)
class Checkpoint:
    """A state of a log.

    Attributes:
        origin: name of the log, not empty; the name of its key, too.
        size: number of entries, 0 to 2^63 - 1.
        root: 32 bytes; of an empty log the hash of nothing.
        extensions: further lines, not empty; we write none.
    """

    origin: str
    size: int
    root: bytes
    extensions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        lines = (self.origin, *self.extensions)
        if any(not line or "\n" in line for line in lines):
            raise NoteError("the lines of a checkpoint must not be empty")
        if not 0 <= self.size <= LARGEST_SIZE:
            raise NoteError(f"a checkpoint's size must be 0 to {LARGEST_SIZE}")
        if len(self.root) != HASH_BYTES:
            raise NoteError(f"a checkpoint's root must have {HASH_BYTES} bytes")
        if self.size == 0 and self.root != EMPTY_ROOT:
            raise NoteError("an empty log must have the hash of nothing as its root")

    @property
    def text(self) -> str:
        """What is signed."""
        lines = (self.origin, str(self.size), base64_text.encode(self.root), *self.extensions)
        return "".join(f"{line}\n" for line in lines)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Inverse of `text`; NoteError for anything else."""
        lines = text.split("\n")
        if len(lines) < 4 or lines.pop():
            raise NoteError("a checkpoint must have a line each for origin, size and root")
        origin, size, encoded, *extensions = lines
        try:
            found = base64_text.decode(encoded, HASH_BYTES)
        except Base64Error as error:
            raise NoteError(f"a checkpoint's root {error}") from None
        checkpoint = cls(origin, parse_number("a checkpoint's size", size), found, tuple(extensions))
        if checkpoint.text != text:
            raise NoteError("a checkpoint's root must be written as base64 writes it")
        return checkpoint


def opened(encoded: bytes, keys: Iterable[VerifierKey]) -> tuple[Checkpoint, Note]:
    """A checkpoint that the log of one of these keys has signed, and the note that contains it.

    A key speaks for the log of its name only.

    Raises:
        NoteError: malformed, or not signed by the log that it names.
    """
    note = Note.decode(encoded)
    checkpoint = Checkpoint.parse(note.text)
    require_signed(note, [key for key in keys if key.name == checkpoint.origin])
    return checkpoint, note


def parse_number(what: str, text: str) -> int:
    """A number of at most 63 bits in its one spelling; NoteError that begins with `what` otherwise."""
    if not _NUMBER.fullmatch(text) or int(text) > LARGEST_SIZE:
        raise NoteError(f"{what} must be a number from 0 to {LARGEST_SIZE} without leading zeros")
    return int(text)
