"""A statistic of values behind a shuffler, as a programmer adds one: this file, and a line of
`SHUFFLE_STATISTICS`."""

import random
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from panprivacy.statistics.events.randomized_response import RandomizedResponse
from panprivacy.statistics.intervals.estimate import Estimate
from panprivacy.statistics.shuffle.interface import ShuffleStatistic
from panprivacy.statistics.shuffle.parameters import ShuffleParameters


class ToyValue(ShuffleStatistic[ShuffleParameters]):
    """How many users have the value 0: one message each, that bit through randomized response."""

    statistic = "toy_value"
    title = "Toys of the first kind"
    description = "Estimates how many toys are of the first kind."
    unit = "toys"
    counts_devices = True
    parameters_class = ShuffleParameters
    source = "Randomized response of a toy."
    contribution_length = 2
    most_messages = 1
    labels = ("toys of the first kind",)

    def __init__(self, parameters: ShuffleParameters) -> None:
        super().__init__(parameters)
        self.response = RandomizedResponse(parameters.epsilon)

    def randomize(self, value: int, random_source: random.Random) -> list[int]:
        self.require_value(value)
        return [self.response.respond(int(value == 0), random_source)]

    def randomize_all(self, values: NDArray[np.int64], random_source: random.Random) -> NDArray[np.int64]:
        messages = [message for value in values for message in self.randomize(int(value), random_source)]
        return np.bincount(messages, minlength=2)

    def estimate(self, total: Sequence[int], reports: int) -> Estimate:
        value = self.response.debiased(total[1], reports)
        return Estimate(
            values=(value,),
            standard_errors=(self.expected_standard_error(),),
            standard_error_note="Includes the coins of toys.",
            projection=(min(max(value, 0.0), float(reports)),),
        )

    def truth(self, users_by_value: Mapping[int, int]) -> tuple[float, ...]:
        return (float(users_by_value.get(0, 0)),)

    def expected_standard_error(self) -> float:
        return float((self.cohort_size * self.response.variance) ** 0.5)

    def privacy_of(self, honest_users: int) -> tuple[float, float, float]:
        return self.parameters.epsilon, 0.0, self.parameters.epsilon
