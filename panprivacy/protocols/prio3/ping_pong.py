"""Messages between two aggregators of a VDAF of one round (VDAF draft 20, section 5.7.1).

The leader sends `initialize`; the helper answers `finish`; `continue` (1) is for VDAFs of more rounds.
`ReferenceVerifier` has the transitions.
"""

from panprivacy.protocols.prio3.interface import InvalidShareError

_INITIALIZE = 0
_FINISH = 2
_HEADER_BYTES = 5


def encode_initialize(verifier_share: bytes) -> bytes:
    """The leader's message: its verifier share."""
    return _encode(_INITIALIZE, verifier_share)


def initialize_header(size: int) -> bytes:
    """The header of the leader's message; a verifier share of `size` bytes follows."""
    return _header(_INITIALIZE, size)


def finish_header(size: int) -> bytes:
    """The header of the helper's answer; a verifier message of `size` bytes follows."""
    return _header(_FINISH, size)


def encode_finish(verifier_message: bytes) -> bytes:
    """The helper's answer: the verifier message."""
    return _encode(_FINISH, verifier_message)


def decode_initialize(message: bytes) -> bytes:
    """The verifier share in the leader's message. InvalidShareError for anything else."""
    return _decode(_INITIALIZE, message)


def decode_finish(message: bytes) -> bytes:
    """The verifier message in the helper's answer. InvalidShareError for anything else."""
    return _decode(_FINISH, message)


def _header(kind: int, size: int) -> bytes:
    # struct { MessageType type; opaque verifier_share<0..2^32 − 1> or verifier_message<…>; } Message;
    return bytes([kind]) + size.to_bytes(4, "big")


def _encode(kind: int, content: bytes) -> bytes:
    return _header(kind, len(content)) + content


def _decode(kind: int, message: bytes) -> bytes:
    # `decode`: the type must be the expected one, and the length that of the rest.
    if len(message) < _HEADER_BYTES or message[0] != kind:
        raise InvalidShareError(f"ping-pong message: must be of type {kind} with its length")
    if int.from_bytes(message[1:_HEADER_BYTES], "big") != len(message) - _HEADER_BYTES:
        raise InvalidShareError("ping-pong message: its length must be that of the bytes that follow")
    return message[_HEADER_BYTES:]
