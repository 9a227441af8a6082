"""A shuffle protocol: what one user sends, and what an analyzer makes of all messages in random order.

A message is a whole number below `message_values`. It is encrypted to the analyzer by itself, so that the
shuffler can mix messages that it cannot read; the analyzer needs only how often each number came.
"""

import random
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar, TypeVar

from panprivacy.accounting.guarantees import Guarantee
from panprivacy.shuffle.parameters import ShuffleParameters
from panprivacy.statistic import ReportStatistic
from panprivacy.trust import Trust

P = TypeVar("P", bound=ShuffleParameters)


class ShuffleStatistic(ReportStatistic[P]):
    """One robust shuffle protocol with its parameters. A report, here, is one message."""

    trusts: ClassVar[tuple[Trust, ...]] = (Trust.SHUFFLER,)

    @property
    def cohort_size(self) -> int:
        """n: exactly so many users take part."""
        return self.parameters.cohort_size

    # The user's face -----------------------------------------------------------

    @abstractmethod
    def value_of(self, text: str) -> int:
        """The user's value as the protocol takes it, 0..k − 1; FieldError naming `value` otherwise."""

    @abstractmethod
    def randomize(self, value: int, random_source: random.Random) -> list[int]:
        """The messages of one user, in any order; how many there are does not depend on `value`, 0..k − 1."""

    @property
    @abstractmethod
    def most_messages(self) -> int:
        """Most messages of one user, but for a negligible probability that the docstring states."""

    # The analyzer's face -------------------------------------------------------

    @property
    def message_values(self) -> int:
        """Number of different messages."""
        return self.contribution_length

    @property
    def report_ciphertexts(self) -> int:
        return 1

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

    # `estimate(total, reports)`: `total` counts the messages of each kind, `reports` is the number of users.

    @abstractmethod
    def truth(self, users_by_value: Mapping[int, int]) -> tuple[float, ...]:
        """The exact answer, for simulations: value → how many users have it."""

    # The accountant's face -----------------------------------------------------

    @abstractmethod
    def guarantee(self, dishonest_fraction: float) -> Guarantee:
        """What holds for whoever reads all messages in random order, if only
        γ = 1 − `dishonest_fraction` of the users follow the protocol (RSP Definition 2.9)."""

    def local_guarantees(self) -> tuple[Guarantee, ...]:
        """None: one user's messages by themselves are not protected."""
        return ()
