"""Proofs as text: a line of base64 for each hash."""

from collections.abc import Iterable, Sequence

from panprivacy.formats import base64_text
from panprivacy.formats.base64_text import Base64Error
from panprivacy.protocols.transparency.merkle import HASH_BYTES
from panprivacy.protocols.transparency.signed_note import NoteError


def write_hashes(hashes: Iterable[bytes]) -> str:
    """A line for each hash, each with its end."""
    return "".join(f"{base64_text.encode(found)}\n" for found in hashes)


def read_hashes(lines: Sequence[str]) -> tuple[bytes, ...]:
    """The hashes of lines without their ends; NoteError if one is none."""
    try:
        hashes = tuple(base64_text.decode(line, HASH_BYTES) for line in lines)
    except Base64Error as error:
        raise NoteError(f"a line of a proof {error}") from None
    if write_hashes(hashes) != "".join(f"{line}\n" for line in lines):
        raise NoteError("a line of a proof must be written as base64 writes it")
    return hashes
