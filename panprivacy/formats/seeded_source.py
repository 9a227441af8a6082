"""Randomness that is drawn once and gives the same values at every attempt."""

import hashlib
import random


class SeededSource(random.Random):
    """Random bits that a secret seed determines: SHAKE-256 of the seed and a counter.

    Two attempts at one chunk must come to the same sum. A database keeps what a failed attempt wrote, and two
    different sums would reveal that something in the chunk was replaced.
    """

    def __init__(self, seed: bytes) -> None:
        """`seed` is secret, and never used for anything else."""
        super().__init__()
        self._seed = seed
        self._drawn = 0

    def getrandbits(self, k: int, /) -> int:
        self._drawn += 1
        stream = hashlib.shake_256(self._seed + self._drawn.to_bytes(8)).digest((k + 7) // 8)
        return int.from_bytes(stream) >> (-k % 8)
