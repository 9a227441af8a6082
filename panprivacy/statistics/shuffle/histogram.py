"""How many users have each of k values (Balcer & Cheu 2020; RSP Section 5, Appendix A.4)."""

import random
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from panprivacy.intervals.estimate import Estimate
from panprivacy.statistics.events.histogram import closest_histogram
from panprivacy.statistics.shuffle.bit_sum import ShuffledBitSum
from panprivacy.statistics.shuffle.interface import CONFIDENCE, ShuffleStatistic
from panprivacy.statistics.shuffle.parameters import ShuffleParameters
from panprivacy.statistics.simulation import simulation_generator


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
            "Messages by which places exceed the protocol's two per user. Above 0, someone did not "
            "follow the protocol, and none of the errors stated here holds.",
        ),
    }
    source = "RSP Claim A.5, twice: replacing a value changes two sums, whose noise is independent."

    def __init__(self, parameters: ShuffleParameters) -> None:
        super().__init__(parameters)
        self._sum = ShuffledBitSum(parameters.cohort_size, parameters.epsilon, parameters.delta)

    def randomize(self, value: int, random_source: random.Random) -> list[int]:
        self.require_value(value)
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
