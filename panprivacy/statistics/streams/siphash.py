"""SipHash-2-4 with 64 bits, a keyed hash for short strings (Aumasson & Bernstein 2012).

Computed of many strings at once. Without the key no party can distinguish the hashes from random ones, or
choose items that collide.
"""

import numpy as np
from numpy.typing import NDArray

from panprivacy.statistics.streams.item_bytes import ItemBytes

KEY_BYTES = 16
WORD_BYTES = 8
COMPRESSION_ROUNDS = 2
FINALIZATION_ROUNDS = 4
INITIAL = (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)
"""v0..v3 without the key: "somepseudorandomlygeneratedbytes"."""

BLOCK = 16_384
"""Items that are hashed together, so that what is worked on stays in the processor's cache."""

Words = NDArray[np.uint64]


def siphash_items(key: bytes, items: ItemBytes) -> Words:
    """The hash of every item by itself, in their order (section 2 of the paper).

    Raises:
        ValueError: the key does not have 16 bytes.
    """
    halves = _key_halves(key)
    padded = items.joined + bytes(WORD_BYTES)  # a word may be read beyond the end, and is masked then
    # Words that begin at every byte.
    readable = np.ndarray((len(items.joined) + 1,), dtype="<u8", buffer=padded, strides=(1,))
    starts = np.cumsum(items.lengths) - items.lengths
    hashes = np.empty(len(items.lengths), dtype=np.uint64)
    for first in range(0, len(hashes), BLOCK):
        block = slice(first, first + BLOCK)
        hashes[block] = _hash_block(halves, readable, starts[block], items.lengths[block])
    return hashes


def _hash_block(
    halves: tuple[int, int], readable: Words, starts: NDArray[np.int64], lengths: NDArray[np.int64]
) -> Words:
    """Hash few items at once: longest first, so that those with a word left to hash come first."""
    words = lengths // WORD_BYTES + 1
    order = np.argsort(-words, kind="stable")
    starts, lengths, words = starts[order], lengths[order], words[order]
    v = [
        np.full(len(starts), constant ^ half, dtype=np.uint64)
        for constant, half in zip(INITIAL, halves * 2, strict=True)
    ]
    spare = np.empty(len(starts), dtype=np.uint64)
    # with_word[i]: how many items have a word of number i.
    with_word = len(starts) - np.cumsum(np.bincount(words))
    for number in range(len(with_word) - 1):
        count, next_count = int(with_word[number]), int(with_word[number + 1])
        word = readable[starts[:count] + number * WORD_BYTES]
        last = slice(next_count, count)
        used_bits = (8 * (lengths[last] % WORD_BYTES)).astype(np.uint64)
        word[last] &= (np.uint64(1) << used_bits) - np.uint64(1)
        word[last] |= (lengths[last] % 256).astype(np.uint64) << np.uint64(56)
        active = [part[:count] for part in v]
        active[3] ^= word
        _rounds(active, spare[:count], COMPRESSION_ROUNDS)
        active[0] ^= word
    v[2] ^= np.uint64(0xFF)
    _rounds(v, spare, FINALIZATION_ROUNDS)
    hashes = np.empty(len(starts), dtype=np.uint64)
    hashes[order] = v[0] ^ v[1] ^ v[2] ^ v[3]
    return hashes


def _rounds(v: list[Words], spare: Words, rounds: int) -> None:
    """Some SipRounds on every entry, in place."""
    for _ in range(rounds):
        v[0] += v[1]
        _rotate(v[1], 13, spare)
        v[1] ^= v[0]
        _rotate(v[0], 32, spare)
        v[2] += v[3]
        _rotate(v[3], 16, spare)
        v[3] ^= v[2]
        v[0] += v[3]
        _rotate(v[3], 21, spare)
        v[3] ^= v[0]
        v[2] += v[1]
        _rotate(v[1], 17, spare)
        v[1] ^= v[2]
        _rotate(v[2], 32, spare)


def _rotate(words: Words, left: int, spare: Words) -> None:
    np.left_shift(words, np.uint64(left), out=spare)
    np.right_shift(words, np.uint64(64 - left), out=words)
    np.bitwise_or(words, spare, out=words)


def _key_halves(key: bytes) -> tuple[int, int]:
    if len(key) != KEY_BYTES:
        raise ValueError(f"the key must have {KEY_BYTES} bytes, not {len(key)}")
    return int.from_bytes(key[:8], "little"), int.from_bytes(key[8:], "little")
