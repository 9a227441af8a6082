"""How many primes incidence draws, and from how large a pool: what its table affords (PPS Figure 4)."""

import math
from functools import lru_cache

from panprivacy.statistics.streams.interface import CONFIDENCE
from panprivacy.statistics.streams.primes import LARGEST_POOL, MOST_DRAWN, PrimePool


@lru_cache(maxsize=1_000)
def chosen_pool(epsilon: float, table_size: int, largest_difference: int) -> tuple[PrimePool, int]:
    """The pool of primes, and how many are drawn from it: those with the smallest expected error.

    The printed pool has the smallest (4 log N)/α primes. O(log(1/β)) of them are drawn, for an error α that
    the table must be made large enough for. Here the table is given. More and larger primes keep numbers of
    appearances apart better, and cost precision: of ℓ counters each has only ε/ℓ. A single prime above every
    difference keeps all of them apart, and is often best. Minimized is `PrimePool.excess` plus the noise's
    error for the largest prime of the pool, both at 95% confidence; if that is 1 or more whatever is chosen,
    both at 50%.
    """
    sizes = sorted({math.ceil(1.15**step) for step in range(60)})
    pools = [PrimePool(size, largest_difference) for size in sizes if size <= LARGEST_POOL]
    undeceivable = PrimePool.undeceivable(largest_difference)
    if undeceivable is not None:
        pools.append(undeceivable)
    candidates = [(pool, drawn) for pool in pools for drawn in range(1, min(pool.size, MOST_DRAWN) + 1)]

    def error(candidate: tuple[PrimePool, int], failure_probability: float) -> float:
        pool, drawn = candidate
        prime = pool.primes[-1]
        step = epsilon / drawn / (prime - 1)
        # Two values of a counter count; an item shows either with the likeliest noise's probability at most.
        variance = (1 + math.exp(-2 * step)) / (math.expm1(-step) * math.expm1(-step * prime)) / table_size
        quantile = math.sqrt(2 * math.log(2 * drawn / failure_probability))
        return pool.excess(drawn, failure_probability) + quantile * math.sqrt(variance)

    careful = min(candidates, key=lambda candidate: error(candidate, (1 - CONFIDENCE) / 2))
    if error(careful, (1 - CONFIDENCE) / 2) < 1:
        return careful
    return min(candidates, key=lambda candidate: error(candidate, 0.5))
