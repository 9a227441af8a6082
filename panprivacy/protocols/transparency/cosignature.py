"""What a witness signs: that at this time the log had shown it this state, and none that contradicts it
(C2SP, tlog-cosignature, Ed25519)."""

from dataclasses import dataclass

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from panprivacy.protocols.transparency.checkpoint import LARGEST_SIZE, Checkpoint
from panprivacy.protocols.transparency.signed_note import COSIGNATURE, Note, NoteError, Signature, VerifierKey

_TIME_BYTES = 8
_SIGNATURE_BYTES = 64


@dataclass(frozen=True)
class WitnessSignature:
    """A witness's signature that holds.

    Attributes:
        name: of the witness.
        time: seconds since 1970, from 1 on.
    """

    name: str
    time: int


def cosign(checkpoint: Checkpoint, name: str, private_key: Ed25519PrivateKey, *, time: int) -> Signature:
    """A witness's signature of a checkpoint.

    Args:
        name: of the witness.
        private_key: used for nothing else: what is signed does not name the witness.
        time: seconds since 1970, 1 to 2^63 - 1.

    Raises:
        NoteError: a time out of range.
    """
    key = VerifierKey(name, COSIGNATURE, private_key.public_key().public_bytes_raw())
    signature = private_key.sign(_message(checkpoint.text, time))
    return Signature(name, key.identifier, time.to_bytes(_TIME_BYTES, "big") + signature)


def cosigned(note: Note, key: VerifierKey) -> WitnessSignature | None:
    """The signature of a witness below a checkpoint, the latest if there are several; None without one.

    Args:
        key: of type `COSIGNATURE`.

    Raises:
        NoteError: one that names this key does not hold.
    """
    times = [_checked(note, key, signature) for signature in note.signatures_by(key)]
    return WitnessSignature(key.name, max(times)) if times else None


def _checked(note: Note, key: VerifierKey, signature: Signature) -> int:
    content = signature.content
    if len(content) != _TIME_BYTES + _SIGNATURE_BYTES:
        raise NoteError(f"the signature of {key.name} does not hold")
    time = int.from_bytes(content[:_TIME_BYTES], "big")
    key.verify(content[_TIME_BYTES:], _message(note.text, time))
    return time


def _message(text: str, time: int) -> bytes:
    if not 1 <= time <= LARGEST_SIZE:
        raise NoteError(f"the time of a signature must be 1 to {LARGEST_SIZE}")
    return f"cosignature/v1\ntime {time}\n{text}".encode()
