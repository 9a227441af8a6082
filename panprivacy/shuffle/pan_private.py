"""Any shuffle protocol as a pan-private algorithm for a stream (RSP Algorithms 3 and 6, Lemmas 3.7 and 4.9).

The state is all messages so far, shuffled. Before the stream it holds the messages of n/3 invented users, and
after the stream as many are added. So at every look an element is hidden twice: in the state, and in what is
still to come, each time among the messages of n/3 users. A protocol that is robust at γ = 1/3 needs no more.
"""

import random
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from panprivacy.accounting.guarantees import Guarantee, Model, Relation
from panprivacy.estimate import Estimate
from panprivacy.shuffle.coins import coin
from panprivacy.shuffle.interface import EXACTLY, ShuffleStatistic
from panprivacy.streams.state import StreamState
from panprivacy.trust_models.curator import Curator

COUNTS, PROCESSED, REAL = "counts", "processed", "real"

REAL_SHARE = 2 / 9
"""How large a part of the n users Algorithm 6 lets stand for elements of the stream, on average."""


class PanPrivate(ABC):
    """A shuffle protocol for n users, run over a stream by one curator.

    The state holds how often each message came. These counts tell as much as the shuffled messages do, since
    every order is equally likely. The number of elements so far is public: streams that differ in one element
    are equally long.
    """

    def __init__(self, protocol: ShuffleStatistic[Any]) -> None:
        self.protocol = protocol

    @property
    def invented_users(self) -> int:
        """n/3, rounded up: so many before the stream and so many after it."""
        return -(-self.protocol.cohort_size // 3)

    @property
    def stream_length(self) -> int:
        """How many elements the stream may have."""
        return max(0, self.protocol.cohort_size - 2 * self.invented_users)

    @abstractmethod
    def _invented_value(self, random_source: random.Random) -> int:
        """The value of an invented user."""

    def _real_elements(self, random_source: random.Random) -> int:  # noqa: ARG002  # those of Algorithm 3
        """How many elements are taken in; the others are replaced by invented users."""
        return self.stream_length

    def start(self, random_source: random.Random) -> StreamState:
        """The state before the first element."""
        counts = np.zeros(self.protocol.message_values, dtype=np.int64)
        state = StreamState(
            self.protocol.statistic,
            arrays={
                COUNTS: counts,
                PROCESSED: np.zeros(1, dtype=np.int64),
                REAL: np.array([self._real_elements(random_source)], dtype=np.int64),
            },
        )
        self._invent(counts, random_source)
        return state

    def process(self, state: StreamState, value: int, random_source: random.Random) -> None:
        """Take in one element, 0..k − 1.

        Raises:
            ValueError: not such a value, or the stream is as long as it may be.
        """
        self.protocol.require_value(value)
        processed = int(state.arrays[PROCESSED][0])
        if processed >= self.stream_length:
            raise ValueError(f"the stream has {self.stream_length} elements already")
        taken = value if processed < state.arrays[REAL][0] else self._invented_value(random_source)
        _count(state.arrays[COUNTS], self.protocol.randomize(taken, random_source))
        state.arrays[PROCESSED][0] += 1

    def estimate(self, state: StreamState, random_source: random.Random) -> Estimate:
        """The released result, over the elements and all invented users; `state` stays as it is.

        To be computed once: each time, the messages of new invented users are added.
        """
        counts = state.arrays[COUNTS].copy()
        self._invent(counts, random_source)
        users = int(state.arrays[PROCESSED][0]) + 2 * self.invented_users
        return self.protocol.estimate(counts.tolist(), users)

    def guarantee(self) -> Guarantee:
        """That of the protocol at γ = 1/3, for one look at the state at any time, and the result."""
        honest = self.invented_users
        _, delta, epsilon = self.protocol.privacy_of(honest)
        return replace(
            self.protocol.guarantee(0.0),
            model=Model.PAN,
            relation=Relation.RECORD,
            epsilon=epsilon,
            delta=delta,
            trust=Curator.trust,
            intrusions=1,
            source=f"{self.protocol.source} {EXACTLY} At γ = 1/3, by RSP Lemmas 3.7 and 4.9.",
            assumption="the curator following the algorithm, with randomness that nobody can predict",
        )

    def _invent(self, counts: "np.ndarray[Any, np.dtype[np.int64]]", random_source: random.Random) -> None:
        for _ in range(self.invented_users):
            value = self._invented_value(random_source)
            _count(counts, self.protocol.randomize(value, random_source))


class FixedDummies(PanPrivate):
    """Algorithm 3: all invented users have one value.

    It adds at most 1 to a number of different values; a histogram's count of that value includes them.
    """

    def __init__(self, protocol: ShuffleStatistic[Any], value: int = 0) -> None:
        super().__init__(protocol)
        protocol.require_value(value)
        self.value = value

    def _invented_value(self, random_source: random.Random) -> int:  # noqa: ARG002  # it is fixed
        return self.value


class UniformDummies(PanPrivate):
    """Algorithm 6: invented users have uniformly random values, and only the first n′ elements are taken in.

    n′ ~ Bin(n, 2/9) is cut at the length of the stream, n − 2⌈n/3⌉, which is n/3 where 3 divides n. So the
    users are as if drawn from 2/9 of the stream's distribution and 7/9 uniform, up to a distance of
    Pr[n′ > n − 2⌈n/3⌉] ≤ exp(−2n/81): what is α from uniform is 2α/9 from it.
    """

    def _invented_value(self, random_source: random.Random) -> int:
        return random_source.randrange(self.protocol.parameters.k)

    def _real_elements(self, random_source: random.Random) -> int:
        drawn = sum(coin(REAL_SHARE, random_source) for _ in range(self.protocol.cohort_size))
        return min(drawn, self.stream_length)


def _count(counts: "np.ndarray[Any, np.dtype[np.int64]]", messages: Sequence[int]) -> None:
    counts += np.bincount(np.asarray(messages, dtype=np.int64), minlength=len(counts))
