"""Many draws at once have exactly the probabilities stated."""

import random

import numpy as np
import pytest
from scipy.stats import binom

from panprivacy.statistics.streams import draws

FAILURE = 1e-7
DRAWS = 200_000


def require_probability(count, probability, comparisons=1):
    two_sided = 2 * min(binom.cdf(count, DRAWS, probability), binom.sf(count - 1, DRAWS, probability))
    assert two_sided > FAILURE / comparisons


def test_bits_are_compared_with_the_threshold_in_all_64_bits():
    words = [0, 2**63 - 1, 2**63, 2**64 - 1]

    class Given(random.Random):
        def randbytes(self, n):
            return b"".join(word.to_bytes(8, "little") for word in words)

    assert draws.bits(4, 2**63, Given()).tolist() == [1, 1, 0, 0]
    assert draws.bits(4, 0, Given()).tolist() == [0, 0, 0, 0]


@pytest.mark.statistical
@pytest.mark.parametrize("bound", [1, 3, 7])
def test_below_takes_every_number_equally_often(bound):
    # Fails for right draws with probability at most FAILURE (union bound).
    counts = np.bincount(draws.below(DRAWS, bound, random.Random(2)).astype(int), minlength=bound)
    assert counts.sum() == DRAWS
    for count in counts:
        require_probability(int(count), 1 / bound, bound)


def test_below_draws_again_where_low_remainders_would_come_more_often():
    # Words from 2·bound on are beyond the last full round of remainders.
    bound = 3 * 2**61
    words = iter([2**64 - 1, 5, 2 * bound, 2 * bound - 1])

    class Given(random.Random):
        def randbytes(self, n):
            return b"".join(next(words).to_bytes(8, "little") for _ in range(n // 8))

    assert draws.below(2, bound, Given()).tolist() == [bound - 1, 5]


@pytest.mark.parametrize(("count", "bound"), [(0, 5), (1, 1), (5, 5), (3, 10), (8, 10), (500, 100_000)])
def test_distinct_below_is_so_many_different_numbers_in_order(count, bound):
    chosen = draws.distinct_below(count, bound, random.Random(3))
    assert chosen.dtype == np.uint64
    assert len(set(chosen.tolist())) == count
    assert chosen.tolist() == sorted(chosen.tolist())
    assert all(number < bound for number in chosen.tolist())


@pytest.mark.statistical
@pytest.mark.parametrize("count", [2, 4])
def test_distinct_below_takes_every_set_equally_often(count):
    # 15 sets of 2 or 4 of 6 numbers. Fails for right draws with probability at most FAILURE.
    source, runs = random.Random(4), 6_000
    seen = {}
    for _ in range(runs):
        chosen = tuple(draws.distinct_below(count, 6, source).tolist())
        seen[chosen] = seen.get(chosen, 0) + 1
    assert len(seen) == 15
    for times in seen.values():
        two_sided = 2 * min(binom.cdf(times, runs, 1 / 15), binom.sf(times - 1, runs, 1 / 15))
        assert two_sided > FAILURE / 15
