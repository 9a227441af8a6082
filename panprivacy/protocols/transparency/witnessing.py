"""What a log asks of a witness, and what the witness checks (C2SP, tlog-witness, `add-checkpoint`)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from panprivacy.protocols.transparency.checkpoint import Checkpoint, parse_number
from panprivacy.protocols.transparency.hash_lines import read_hashes, write_hashes
from panprivacy.protocols.transparency.merkle import MOST_PROOF_HASHES, ProofError, verify_consistency
from panprivacy.protocols.transparency.signed_note import NoteError

SIZE_MEDIA_TYPE = "text/x.tlog.size"
"""Of the answer with the size that the witness knows."""


class OtherSizeError(ValueError):
    """The log believes the witness to know another size.

    Attributes:
        size: what the witness knows.
    """

    def __init__(self, size: int) -> None:
        super().__init__(f"the witness knows size {size}")
        self.size = size


class ForkedLogError(ProofError):
    """The log signed two states of one size: it shows different things to different people."""


@dataclass(frozen=True)
class AddCheckpoint:
    """A request for a signature.

    Attributes:
        old: size that the log believes the witness to know.
        proof: at most 63 hashes, from `old` to the checkpoint's size.
        note: the checkpoint with the log's signature, in wire form.
    """

    old: int
    proof: Sequence[bytes]
    note: bytes

    def encode(self) -> bytes:
        """The body of the request."""
        return f"old {self.old}\n{write_hashes(self.proof)}\n".encode() + self.note

    @classmethod
    def decode(cls, body: bytes) -> Self:
        """Inverse of `encode`; NoteError for anything else. The note is not parsed."""
        head, blank, note = body.partition(b"\n\n")
        try:
            first, *lines = head.decode("ascii").split("\n")
        except UnicodeDecodeError:
            raise NoteError("old size and proof must be ASCII") from None
        if not blank or not first.startswith("old "):
            raise NoteError("the body must be: old SIZE, lines of the proof, an empty line, the checkpoint")
        if len(lines) > MOST_PROOF_HASHES:
            raise NoteError(f"a proof has at most {MOST_PROOF_HASHES} lines")
        return cls(parse_number("the old size", first[4:]), read_hashes(lines), note)


def require_continues(request: AddCheckpoint, checkpoint: Checkpoint, known: Checkpoint | None) -> None:
    """Check that a log only grew since the state that the witness knows.

    Args:
        known: of the same log; None for one that the witness never saw.

    Raises:
        ForkedLogError: two states of one size, both signed by the log: evidence against it.
        OtherSizeError: the log believes the witness to know another size.
        NoteError: the log asks to go from a larger size to a smaller one.
        merkle.ProofError: the checkpoint does not continue what the witness knows.
    """
    size = 0 if known is None else known.size
    if known is not None and checkpoint.size == size and checkpoint.root != known.root:
        raise ForkedLogError(f"the log has two states of {size} entries")
    if request.old > checkpoint.size:
        raise NoteError(f"the old size must be at most the checkpoint's, {checkpoint.size}")
    if request.old != size:
        raise OtherSizeError(size)
    verify_consistency(
        old=size,
        new=checkpoint.size,
        old_root=b"" if known is None else known.root,
        new_root=checkpoint.root,
        proof=request.proof,
    )
