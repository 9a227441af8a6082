"""Evidence that an entry is in a log, to be checked offline (C2SP, tlog-proof)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from panprivacy.formats import base64_text
from panprivacy.formats.base64_text import Base64Error
from panprivacy.protocols.transparency.checkpoint import Checkpoint, parse_number
from panprivacy.protocols.transparency.hash_lines import read_hashes, write_hashes
from panprivacy.protocols.transparency.merkle import MOST_PROOF_HASHES, leaf_hash, verify_inclusion
from panprivacy.protocols.transparency.policy import Policy, WitnessedCheckpoint
from panprivacy.protocols.transparency.signed_note import LONGEST_NOTE, Note, NoteError

FIRST_LINE = "c2sp.org/tlog-proof@v1"
MEDIA_TYPE = "text/plain; charset=utf-8"


@dataclass(frozen=True)
class Proof:
    """The place of an entry in a log, and the proof.

    Attributes:
        index: of the entry, from 0.
        path: hashes from the leaf's sibling to the root's child.
        note: the checkpoint with its signatures, in wire form.
        extra: anything; nothing vouches for it.
    """

    index: int
    path: Sequence[bytes]
    note: bytes
    extra: bytes = b""

    def encode(self) -> bytes:
        """The document."""
        extra = f"extra {base64_text.encode(self.extra)}\n" if self.extra else ""
        head = f"{FIRST_LINE}\n{extra}index {self.index}\n{write_hashes(self.path)}\n"
        return head.encode() + self.note

    @classmethod
    def decode(cls, document: bytes) -> Self:
        """Inverse of `encode`; NoteError for anything else. The checkpoint is not parsed."""
        if len(document) > LONGEST_NOTE:
            raise NoteError(f"a proof must have at most {LONGEST_NOTE} bytes")
        head, blank, note = document.partition(b"\n\n")
        try:
            first, *lines = head.decode("ascii").split("\n")
        except UnicodeDecodeError:
            raise NoteError("a proof must be ASCII down to its checkpoint") from None
        if not blank or first != FIRST_LINE:
            raise NoteError(f"a proof must begin with {FIRST_LINE}")
        extra = _extra(lines.pop(0)[6:]) if lines and lines[0].startswith("extra ") else b""
        if not lines or not lines[0].startswith("index "):
            raise NoteError("a proof must have a line: index NUMBER")
        index = parse_number("a proof's index", lines.pop(0)[6:])
        if len(lines) > MOST_PROOF_HASHES:
            raise NoteError(f"a proof has at most {MOST_PROOF_HASHES} lines")
        return cls(index, read_hashes(lines), note, extra)

    @property
    def checkpoint(self) -> Checkpoint:
        """The content of the note; no signature is checked. NoteError if it is malformed."""
        return Checkpoint.parse(Note.decode(self.note).text)

    def verify(self, entry: bytes, policy: Policy, *, latest: int | None = None) -> WitnessedCheckpoint:
        """Check that `entry` is in a log that the policy accepts.

        Args:
            latest: as in `Policy.accepted`.

        Returns:
            The checkpoint that proves it, and its witnesses.

        Raises:
            NoteError: the checkpoint does not meet the policy (`policy.QuorumError`: too few witnesses).
            merkle.ProofError: the entry does not stand there.
        """
        accepted = policy.accepted(self.note, latest=latest)
        self.verify_path(entry)
        return accepted

    def verify_path(self, entry: bytes) -> None:
        """Check that `entry` is in the tree of the checkpoint, without its signatures.

        Raises:
            NoteError: the checkpoint is malformed.
            merkle.ProofError: the entry does not stand there.
        """
        checkpoint = self.checkpoint
        verify_inclusion(
            leaf=leaf_hash(entry),
            index=self.index,
            size=checkpoint.size,
            proof=self.path,
            root_hash=checkpoint.root,
        )


def _extra(encoded: str) -> bytes:
    try:
        extra = base64_text.decode(encoded)
    except Base64Error as error:
        raise NoteError(f"extra data {error}") from None
    if not extra or base64_text.encode(extra) != encoded:
        raise NoteError("extra data must be base64 as it is written, and not empty")
    return extra
