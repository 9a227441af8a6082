"""SipHash-2-4 with 64 bits of one message, step by step (Aumasson & Bernstein 2012)."""

from panprivacy.statistics.streams.siphash import COMPRESSION_ROUNDS, FINALIZATION_ROUNDS, INITIAL, WORD_BYTES


def siphash(key: bytes, message: bytes) -> int:
    """The hash of one message under a key of 16 bytes (section 2 of the paper)."""
    halves = [int.from_bytes(key[:8], "little"), int.from_bytes(key[8:], "little")]
    state = [constant ^ half for constant, half in zip(INITIAL, halves * 2, strict=True)]
    padded = message + bytes(-(len(message) + 1) % WORD_BYTES) + bytes([len(message) % 256])
    for start in range(0, len(padded), WORD_BYTES):
        word = int.from_bytes(padded[start : start + WORD_BYTES], "little")
        state[3] ^= word
        for _ in range(COMPRESSION_ROUNDS):
            _round(state)
        state[0] ^= word
    state[2] ^= 0xFF
    for _ in range(FINALIZATION_ROUNDS):
        _round(state)
    return state[0] ^ state[1] ^ state[2] ^ state[3]


def _round(v: list[int]) -> None:
    v[0] = (v[0] + v[1]) % 2**64
    v[1] = _rotated(v[1], 13) ^ v[0]
    v[0] = _rotated(v[0], 32)
    v[2] = (v[2] + v[3]) % 2**64
    v[3] = _rotated(v[3], 16) ^ v[2]
    v[0] = (v[0] + v[3]) % 2**64
    v[3] = _rotated(v[3], 21) ^ v[0]
    v[2] = (v[2] + v[1]) % 2**64
    v[1] = _rotated(v[1], 17) ^ v[2]
    v[2] = _rotated(v[2], 32)


def _rotated(word: int, left: int) -> int:
    return (word << left) % 2**64 | word >> (64 - left)
