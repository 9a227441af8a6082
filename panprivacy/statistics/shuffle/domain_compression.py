"""Testing uniformity over fewer, coarser values (RSP Lemma 4.7, Theorem 4.8)."""

import math


def compressed_size(k: int, epsilon: float, alpha: float) -> int:
    """k̂: into how many groups of one size to cut k values at random.

    The rule of RSP Theorem 4.8, k^{2/3}·(ε/α)^{4/3} between 2 and k, brought to the largest divisor of k that
    is no larger (the smallest from 2 on if there is none): with groups of two sizes, uniform values
    would not be uniform over groups.
    """
    wanted = k ** (2 / 3) * (epsilon / alpha) ** (4 / 3) * (1 + 1e-12)  # 1000^{2/3} is 99.99999999999997
    divisors = _divisors_from_two(k)
    return max((size for size in divisors if size <= wanted), default=divisors[0])


def compressed_distance(k: int, groups: int, alpha: float) -> float:
    """α̂: how far from uniform the groups are if the values are α or more away.

    With probability at least 1/954 over the partition (RSP Lemma 4.7); always if each group is a value.
    """
    if groups == k:
        return alpha
    return alpha * math.sqrt(groups) / (477 * math.sqrt(10 * k))


def _divisors_from_two(k: int) -> list[int]:
    """All divisors of k ≥ 2 but 1, in order."""
    small = [size for size in range(1, math.isqrt(k) + 1) if k % size == 0]
    return sorted({*small, *(k // size for size in small)} - {1})
