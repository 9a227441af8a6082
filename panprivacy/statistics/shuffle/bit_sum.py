"""How many users have a 1 (Balcer & Cheu 2020; RSP Appendix A.4, Claim A.5)."""

import math
import random
from dataclasses import dataclass

from panprivacy.accounting import binomial
from panprivacy.accounting.binomial_noise import binomial_epsilon, least_noise
from panprivacy.formats.display import plain
from panprivacy.formats.errors import FieldError
from panprivacy.statistics.shuffle.coins import coin


@dataclass(frozen=True)
class ShuffledBitSum:
    """Every one of n users sends its bit and one bit that is 1 with probability p.

    Attributes:
        users: n, at least `least_users(epsilon, delta)`; FieldError naming `cohort_size` otherwise.
        epsilon, delta: of one sum if all users follow the protocol.
    """

    users: int
    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        least = least_users(self.epsilon, self.delta)
        if self.users < least:
            raise FieldError(
                "cohort_size",
                f"must be at least {least:,} for ε = {self.epsilon:g} and δ = {plain(self.delta)}, "
                f"not {self.users:,}",
            )

    @property
    def zero_probability(self) -> float:
        """1 − p = (10/n)·((e^ε+1)/(e^ε−1))²·ln(2/δ), at most 1/2."""
        return min(0.5, least_noise(self.epsilon, self.delta) / self.users)

    @property
    def one_probability(self) -> float:
        """p."""
        return 1 - self.zero_probability

    def randomize(self, bit: int, random_source: random.Random) -> tuple[int, int]:
        """The two bits that a user sends."""
        return bit, 1 - coin(self.zero_probability, random_source)

    def debiased(self, ones: int, reports: int) -> float:
        """The unbiased estimate from the number of ones of this number of users."""
        return ones - reports + reports * self.zero_probability

    def standard_error(self, reports: int) -> float:
        """Of `debiased`."""
        return math.sqrt(reports * self.zero_probability * self.one_probability)

    def error_bound(self, reports: int, failure: float) -> float:
        """A bound that the error of `debiased` exceeds with at most this probability, from exact tails."""
        zero, one = self.zero_probability, self.one_probability
        low, high = binomial.window(reports, zero, one, failure / 2)
        mean = reports * zero
        return max(mean - low, high - mean)

    def privacy_of(self, honest_users: int) -> tuple[float, float]:
        """ε, and δ(γ) = 2(δ/2)^γ for γ·n honest users (Claim A.5)."""
        return self.epsilon, min(1.0, 2 * (self.delta / 2) ** (honest_users / self.users))

    def exact_epsilon(self, honest_users: int, delta: float) -> float:
        """The smallest ε with which Bin(γ·n, p) hides one bit at this δ, at most the theorem's."""
        one, zero = self.one_probability, self.zero_probability
        return binomial_epsilon(honest_users, one, zero, delta, self.epsilon)


def least_users(epsilon: float, delta: float) -> int:
    """The smallest n for which p is at least 1/2, which Claim A.5 needs.

    Args:
        epsilon: ε > 0.
        delta: δ above 0 and below 1.

    Returns:
        ⌈2·`least_noise`(ε, δ)⌉ users.
    """
    return math.ceil(2 * least_noise(epsilon, delta))
