"""Many exact random draws at once, from the bytes of a `random.Random`.

`secrets.SystemRandom()` in real use, so that no seed is kept from which past draws could be computed again.
"""

import random
from collections.abc import Iterable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from panprivacy.accounting import discrete_laplace

WORD = 2**64
"""A probability is a whole number out of this."""


def bits(count: int, threshold: int, random_source: random.Random) -> NDArray[np.uint8]:
    """`count` independent bits, each 1 with probability exactly `threshold`/2^64.

    Args:
        threshold: at least 0, below 2^64.
    """
    return (_words(count, random_source) < np.uint64(threshold)).view(np.uint8)


def below(count: int, bound: int, random_source: random.Random) -> NDArray[np.uint64]:
    """`count` independent whole numbers, each of 0..bound − 1 with exactly the same probability.

    Args:
        bound: at least 1, at most 2^63.
    """
    largest = np.uint64(WORD // bound * bound - 1)  # above it, low remainders would come more often
    words = _words(count, random_source)
    while (beyond := np.flatnonzero(words > largest)).size:
        words[beyond] = _words(beyond.size, random_source)
    return words % np.uint64(bound)


def distinct_below(count: int, bound: int, random_source: random.Random) -> NDArray[np.uint64]:
    """A uniformly random set of `count` whole numbers of 0..bound − 1, in ascending order.

    Args:
        count: at most `bound`.
    """
    if count > bound // 2:  # few are left out: draw those
        left_out = distinct_below(bound - count, bound, random_source)
        return np.delete(np.arange(bound, dtype=np.uint64), left_out)
    chosen = np.empty(0, dtype=np.uint64)
    while chosen.size < count:
        drawn = np.concatenate([chosen, below(count + 16, bound, random_source)])
        chosen = drawn[np.sort(np.unique(drawn, return_index=True)[1])]  # first draws, in their order
    return np.sort(chosen[:count])


def with_laplace_noise(
    counts: Iterable[int], scale: Fraction, random_source: random.Random
) -> NDArray[np.int64]:
    """Each of the counts with discrete Laplace noise of its own: ε-private, if one item can move all of them
    together by at most ε·`scale`.

    It is the papers' Lap(scale/m) for the fraction of m cells, without its floating point. A result takes it
    ahead of any other computation.
    """
    noisy = [int(count) + discrete_laplace.sample(scale, random_source) for count in counts]
    return np.array(noisy, dtype=np.int64)


def _words(count: int, random_source: random.Random) -> NDArray[np.uint64]:
    return np.frombuffer(random_source.randbytes(8 * count), dtype="<u8").astype(np.uint64)
