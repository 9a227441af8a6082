"""How many users have each of k values: a binary sum for each (Balcer & Cheu 2020; RSP section 5, Appendix
A.4)."""

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from panprivacy.accounting import binomial
from panprivacy.accounting.binomial_noise import binomial_epsilon, least_noise
from panprivacy.formats.display import plain
from panprivacy.formats.errors import FieldError
from panprivacy.statistics.events.one_hot import closest_histogram
from panprivacy.statistics.intervals.estimate import Estimate
from panprivacy.statistics.shuffle.coins import coin
from panprivacy.statistics.shuffle.interface import CONFIDENCE, ShuffleStatistic
from panprivacy.statistics.shuffle.parameters import ShuffleParameters
from panprivacy.statistics.simulation import simulation_generator


@dataclass(frozen=True)
class ShuffledBitSum:
    """How many users have a 1: every one of n users sends its bit, and one that is 1 with probability p.

    It is P^zsum of Balcer & Cheu (2020), robust by RSP Claim A.5.

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
        # b, and Ber(p).
        return bit, 1 - coin(self.zero_probability, random_source)

    def debiased(self, ones: int, reports: int) -> float:
        """The unbiased estimate from the number of ones of this number of users."""
        # The ones less the mean n·p of the noise.
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


class ShuffleHistogram(ShuffleStatistic[ShuffleParameters]):
    """One binary sum for every value: two messages each, whatever value a user has.

    The error of a count depends neither on k nor on n. The projection of the estimate is the closest point
    (Euclidean) with no negative count and the number of users as its sum.

    Messages carry no sender, so one user could put all 2k into one place. But each place must get exactly two
    messages per user. `stray_messages` in `details` counts the messages beyond that. If there are any,
    a user did not follow the protocol, and the stated errors do not hold. A user that sends any two messages
    to every place is not noticed; each such user moves a count by 2 at most.

    Raises FieldError on `cohort_size` if n is too small for ε and δ.
    """

    statistic = "shuffle_histogram"
    title = "Histogram of the users' values"
    description = (
        "Estimates how many users have each of k values. The error of a count grows neither with k nor "
        "with the number of users."
    )
    unit = "users"
    counts_devices = True
    scalar = False
    parameters_class = ShuffleParameters
    detail_labels: ClassVar = {
        "stray_messages": (
            "Stray messages",
            "Messages by which places exceed the protocol's two per user. Above 0, a user did not "
            "follow the protocol, and none of the errors stated here holds.",
        ),
    }
    source = "RSP Claim A.5, twice: replacing a value changes two sums, whose noise is independent."

    def __init__(self, parameters: ShuffleParameters) -> None:
        super().__init__(parameters)
        self._sum = ShuffledBitSum(parameters.cohort_size, parameters.epsilon, parameters.delta)

    def randomize(self, value: int, random_source: random.Random) -> list[int]:
        self.require_value(value)
        # Section 5: one binary sum for each value, in which a user has a 1 if the value is its own.
        return [
            2 * place + bit
            for place in range(self.parameters.k)
            for bit in self._sum.randomize(int(place == value), random_source)
        ]

    def randomize_all(self, values: NDArray[np.int64], random_source: random.Random) -> NDArray[np.int64]:
        generator = simulation_generator(random_source)
        k, users = self.parameters.k, len(values)
        noise = users - generator.binomial(users, self._sum.zero_probability, size=k)
        total = np.empty(2 * k, dtype=np.int64)
        total[1::2] = np.bincount(values, minlength=k) + noise
        total[::2] = 2 * users - total[1::2]
        return total

    @property
    def most_messages(self) -> int:
        """Always exactly this number."""
        return 2 * self.parameters.k

    def estimate(self, total: Sequence[int], reports: int) -> Estimate:
        self.require_total(total, reports)
        k = self.parameters.k
        # The analyzer: each sum by itself.
        values = tuple(self._sum.debiased(ones, reports) for ones in total[1::2])
        bound = self._sum.error_bound(reports, (1 - CONFIDENCE) / k)
        surplus = [zeros + ones - 2 * reports for zeros, ones in zip(total[::2], total[1::2], strict=True)]
        return Estimate(
            values=values,
            standard_errors=(self._sum.standard_error(reports),) * k,
            standard_error_note="Includes the randomization by the users.",
            projection=closest_histogram(values, reports),
            error_bounds=(bound,) * k,
            confidence=CONFIDENCE,
            details={"stray_messages": sum(max(0, too_many) for too_many in surplus)},
        )

    @property
    def largest(self) -> float:
        return float(self.cohort_size)

    def expected_standard_error(self) -> float:
        return self._sum.standard_error(self.cohort_size)

    def expected_margin(self, failure_probability: float) -> float:
        """The error bound, from exact tails."""
        return self._sum.error_bound(self.cohort_size, failure_probability / self.parameters.k)

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(self.label(value) for value in range(self.parameters.k))

    def label(self, position: int) -> str:
        return f"value {position}"

    def truth(self, users_by_value: Mapping[int, int]) -> tuple[float, ...]:
        return tuple(float(users_by_value.get(value, 0)) for value in range(self.parameters.k))

    def privacy_of(self, honest_users: int) -> tuple[float, float, float]:
        epsilon, delta = self._sum.privacy_of(honest_users)
        both = min(1.0, 2 * delta)
        return 2 * epsilon, both, 2 * self._sum.exact_epsilon(honest_users, both / 2)
