"""Sampling from the discrete Gaussian N_Z(0, s²) with the same work whatever is drawn.

N_Z(0, s²) has Pr[x] proportional to exp(−x²/(2s²)) on the integers. Exact samplers reject (Canonne, Kamath &
Steinke 2020, Algorithm 3): their duration reveals how large the noise is, and so a part of what it hides.
This one inverts a table. A uniform number of `BITS` bits is compared with every entry of the table of Pr[|X|
≤ x], x = 0..t − 1, all bits of each. The magnitude is how many entries it reaches. There is no branch on it,
and no lookup at an index that depends on it. One more bit is the sign.

All numbers are whole, because floating point would leave holes in the distribution that reveal the noiseless
value. What is drawn is not N_Z(0, s²) itself, but that within −t..t, up to 2^−234 in
total variation: see `_table`.
"""

import random
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

BITS = 256
"""Bits of randomness that decide the magnitude."""

LARGEST_MAGNITUDE = 2**20
"""t up to which a table is made."""

_WORD = 64
_GUARD = 64  # more bits in the computation of the table
_DIGITS = 150  # decimal, more than BITS + _GUARD bits
_WORDS = BITS // _WORD


def sample(scale: Fraction, largest: int, random_source: random.Random) -> int:
    """One draw from N_Z(0, scale²), given that it lies in −largest..largest.

    Draws `BITS` and one bit from the source, always, and does the same operations.

    Args:
        scale: s > 0; `Fraction(s)` of a float s is exact.
        largest: t, from 0 to `LARGEST_MAGNITUDE`. The first draw of a scale takes a time in proportion.
        random_source: `secrets.SystemRandom()` on devices; seeded in simulations only.

    Raises:
        ValueError: `scale` is not above 0, or `largest` is out of range.
    """
    if scale <= 0:
        raise ValueError(f"scale must be above 0, not {scale}")
    if not 0 <= largest <= LARGEST_MAGNITUDE:
        raise ValueError(f"largest must lie in 0..{LARGEST_MAGNITUDE}, not {largest}")
    table = _table(scale, largest)
    drawn = _words([random_source.getrandbits(BITS)])
    negative = random_source.getrandbits(1)
    above, equal = drawn > table, drawn == table
    reached = np.ones(largest, dtype=bool)  # from the last word to the first: drawn ≥ entry
    for word in reversed(range(_WORDS)):
        reached = above[word] | (equal[word] & reached)
    return int(np.count_nonzero(reached)) * (1 - 2 * negative)


@lru_cache(maxsize=4)  # of at most 32 MB
def _table(scale: Fraction, largest: int) -> NDArray[np.uint64]:
    """⌊2^BITS·Pr[|X| ≤ x]⌋ for x = 0..t − 1, given |X| ≤ t: words from the highest to the lowest, by entries.

    In units of u = 2^−(BITS + 64), with r = e^{−1/(2s²)}: w_0 = 1, w_{x+1} = w_x·r^{2x+1}. No factor is above
    1, and each product is rounded down by less than u. So r is right to u, r² to 3u, r^{2x+1} to (4x + 1)·u,
    w_x to 2x²·u, and a sum up to t to 2(t + 1)³·u. The total is at least 1: an entry is right to 2^−BITS +
    4(t + 1)³·u, so to 2^−255 for t ≤ 2²⁰. A magnitude's probability is the difference of two entries: the
    total variation is at most (t + 1)·2^−255, below 2^−234.
    """
    one = 1 << (BITS + _GUARD)
    context = Context(prec=_DIGITS)  # its exponential is rounded correctly
    exponent = context.divide(Decimal(-(scale.denominator**2)), Decimal(2 * scale.numerator**2))
    factor = int(context.multiply(context.exp(exponent), Decimal(one)))
    square = factor * factor // one
    weight, cumulative, sums = one, one, [one]
    for _ in range(largest):
        weight = weight * factor // one
        factor = factor * square // one
        cumulative += 2 * weight
        sums.append(cumulative)
    highest = (1 << BITS) - 1  # the rest underflows there
    return _words([min(highest, (entry << BITS) // cumulative) for entry in sums[:-1]])


def _words(numbers: list[int]) -> NDArray[np.uint64]:
    """Words of `BITS`-bit numbers, from the highest to the lowest, by numbers."""
    joined = b"".join(number.to_bytes(BITS // 8, "big") for number in numbers)
    words = np.frombuffer(joined, dtype=">u8").astype(np.uint64)
    return np.ascontiguousarray(words.reshape(len(numbers), _WORDS).T)
