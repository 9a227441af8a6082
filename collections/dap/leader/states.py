"""The leader's verification states of one aggregation job, as one byte string."""

from collections.abc import Iterable

_LENGTH_BYTES = 4


def states_join(states: Iterable[bytes]) -> bytes:
    """Each is preceded by its length (4 bytes, big-endian)."""
    return b"".join(len(state).to_bytes(_LENGTH_BYTES, "big") + state for state in states)


def states_split(joined: bytes) -> list[bytes]:
    """Inverse of `states_join`."""
    states = []
    position = 0
    while position < len(joined):
        start = position + _LENGTH_BYTES
        position = start + int.from_bytes(joined[position:start], "big")
        states.append(joined[start:position])
    return states
