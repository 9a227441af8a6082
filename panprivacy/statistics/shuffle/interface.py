"""A shuffle protocol: the messages of one user, and the analyzer's result from all messages in random order.

A message is a whole number below `message_values`: twice a place of the protocol, plus a bit. It is encrypted
to the analyzer by itself, so that the shuffler can mix messages that it cannot read; the analyzer needs
only how often each number came.
"""

import random
from abc import abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from panprivacy.accounting.epsilon_delta import EpsilonDelta
from panprivacy.accounting.guarantees import Guarantee, Model, Relation
from panprivacy.formats.value_labels import value_of
from panprivacy.statistics.device_input import DeviceInput
from panprivacy.statistics.events.combined_result import DISHONEST_FRACTIONS, honest_devices
from panprivacy.statistics.interface import NamedValues, ReportStatistic
from panprivacy.statistics.intervals.estimate import normal_factor
from panprivacy.statistics.shuffle.parameters import ShuffleParameters
from panprivacy.statistics.trust_models.shuffler import ShufflerAndAnalyzer

P = TypeVar("P", bound=ShuffleParameters)

EXACTLY = "ε is computed from the exact divergence of the noise, if that is below the theorem's."
"""The text that every guarantee adds to its theorem."""

CONFIDENCE = 0.95
"""Of all error bounds of an estimate together."""


class ShuffleStatistic(NamedValues, ReportStatistic[P]):
    """One robust shuffle protocol with its parameters. A report, here, is one message."""

    device_input = DeviceInput.VALUE
    planning_obstacle = "the number of users is fixed, and each of them takes part"

    source: ClassVar[str]
    """The theorem behind every guarantee, as a sentence."""

    report_ciphertexts = 1

    @property
    def cohort_size(self) -> int:
        """n: the exact number of users that take part."""
        return self.parameters.cohort_size

    # For the user --------------------------------------------------------------

    def value_of(self, text: str) -> int:
        """The user's value as the protocol takes it, 0..k − 1; FieldError naming `value` otherwise."""
        return value_of(text, self.parameters.k, self._numbers)

    def require_value(self, value: int) -> None:
        """ValueError unless `value` is one of 0..k − 1."""
        if not 0 <= value < self.parameters.k:
            raise ValueError(f"value must lie in 0..{self.parameters.k - 1}, not {value}")

    @abstractmethod
    def randomize(self, value: int, random_source: random.Random) -> list[int]:
        """The messages of one user, in any order; how many there are does not depend on `value`, 0..k − 1."""

    @abstractmethod
    def randomize_all(self, values: NDArray[np.int64], random_source: random.Random) -> NDArray[np.int64]:
        """How often each message comes from users with these values, for simulations.

        Distributed like the counts of the messages of `randomize` for each value, up to the rounding of
        NumPy's generator. `random_source` seeds that generator.
        """

    @property
    def most_ciphertexts(self) -> int:
        return self.most_messages

    @property
    @abstractmethod
    def most_messages(self) -> int:
        """Most messages of one user, except for a negligible probability that the docstring states."""

    @property
    def fewest_messages(self) -> int:
        """Fewest messages of one user; the same as `most_messages` unless how many there are is random."""
        return self.most_messages

    # For the analyzer ----------------------------------------------------------

    @property
    def message_values(self) -> int:
        """Number of different messages."""
        return self.contribution_length

    @property
    def contribution_length(self) -> int:
        return 2 * self.parameters.k

    @property
    def allowed_values(self) -> range:
        return range(self.contribution_length)

    def contribution(self, values: Sequence[int]) -> tuple[int, ...]:
        self.require_values(values)
        (message,) = values
        return tuple(int(number == message) for number in range(self.contribution_length))

    def add(self, total: list[int], values: Sequence[int]) -> None:
        self.require_values(values)
        (message,) = values
        total[message] += 1

    # `estimate(total, reports)`: `total` counts the messages of each value, `reports` is the number of users,
    # n unless some sent nothing.

    @abstractmethod
    def truth(self, users_by_value: Mapping[int, int]) -> tuple[float, ...]:
        """The exact answer, for simulations: value → how many users have it."""

    def truth_of(self, users_by_text: Mapping[str, int]) -> tuple[float, ...]:
        """The same from values as texts, which `value_of` takes."""
        users_by_value: Counter[int] = Counter()
        for text, users in users_by_text.items():
            users_by_value[self.value_of(text)] += users
        return self.truth(users_by_value)

    # For the accountant --------------------------------------------------------

    @abstractmethod
    def expected_standard_error(self) -> float:
        """The largest expected standard error if all n users follow the protocol, for planning."""

    def expected_margin(self, failure_probability: float) -> float:
        """About how far the stated interval will reach from the estimate, of all values together; as of
        `expected_standard_error`. By the normal approximation, unless the statistic knows better."""
        values = 1 if self.scalar else len(self.labels)
        return normal_factor(failure_probability, values) * self.expected_standard_error()

    def guarantee(self, dishonest_fraction: float) -> Guarantee:
        """The guarantee against readers of all messages in random order, if only
        γ = 1 − `dishonest_fraction` of the users follow the protocol (RSP Definition 2.9)."""
        honest = honest_devices(self.cohort_size, dishonest_fraction)
        _, delta, epsilon = self.privacy_of(honest)
        return Guarantee(
            model=Model.SHUFFLE,
            relation=Relation.REPLACE,
            epsilon=epsilon,
            delta=delta,
            dishonest_fraction=dishonest_fraction,
            trust=ShufflerAndAnalyzer.trust,
            source=f"{self.source} {EXACTLY}",
            assumption=(
                f"at least {honest:,} users that follow the protocol, with unpredictable randomness, "
                "and on the shuffler mixing the messages and not revealing their senders"
            ),
        )

    @abstractmethod
    def privacy_of(self, honest_users: int) -> tuple[float, float, float]:
        """ε and δ by the theorem, under replacement, and the ε at this δ that its noise has, proved as well.

        The third number is at most the first: the exact divergence of the noise, rounded up.

        Args:
            honest_users: γ·n of n, from 1 to n.
        """

    def require_promise(self) -> None:
        """Does nothing: no guarantee relies on a derived parameter."""

    def aggregator_event(self, dishonest_fraction: float = 0.0) -> EpsilonDelta:
        """The guarantee for all messages: the result reveals no more than they do."""
        _, delta, epsilon = self.privacy_of(honest_devices(self.cohort_size, dishonest_fraction))
        return EpsilonDelta(epsilon_given=epsilon, delta_given=delta, relation=Relation.REPLACE.value)

    def local_guarantees(self) -> tuple[Guarantee, ...]:
        """None: one user's messages alone are not protected."""
        return ()

    def guarantees(self) -> tuple[Guarantee, ...]:
        return tuple(self.guarantee(fraction) for fraction in DISHONEST_FRACTIONS)
