"""A statistic of items at a curator, as a programmer adds one: this file, and a line of
`STREAM_STATISTICS`."""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panprivacy.accounting.epsilon_delta import EpsilonDelta
from panprivacy.accounting.guarantees import Guarantee, Model, Relation
from panprivacy.accounting.interface import PrivacyEvent
from panprivacy.formats.parameters import DELTA, described
from panprivacy.statistics.intervals.estimate import Estimate
from panprivacy.statistics.streams.interface import (
    CONFIDENCE,
    INTRUSION_ORDER,
    StreamStatistic,
    count_announcement,
)
from panprivacy.statistics.streams.pan_histogram import BinaryNoise
from panprivacy.statistics.streams.parameters import StreamParameters
from panprivacy.statistics.streams.state import StreamState
from panprivacy.statistics.trust_models.curator import Curator


@dataclass(frozen=True, kw_only=True)
class ToyItemsParameters(StreamParameters):
    delta: float = described(**DELTA)

    @property
    def noise(self) -> BinaryNoise:
        return BinaryNoise(epsilon=self.epsilon, delta=self.delta)


class ToyItems(StreamStatistic[ToyItemsParameters]):
    """How many items came that have a place in the table: one counter with noise."""

    statistic = "toy_items"
    title = "Toys that came"
    description = "Estimates how many toys came."
    unit = "toys"
    labels = ("all toys",)
    state_description = "One counter, which starts at a random number."
    parameters_class = ToyItemsParameters
    budget_condition = "each device contributes one toy"

    def start(self, random_source: random.Random) -> StreamState:
        counter = self.parameters.noise.draw(1, random_source)
        return StreamState(self.statistic, arrays={"counter": counter})

    def count_item(self, state: StreamState, cell: int) -> tuple[()]:
        state.arrays["counter"] += 1
        return ()

    def count_batch(self, state: StreamState, cells: NDArray[np.int64]) -> tuple[()]:
        state.arrays["counter"] += len(cells)
        return ()

    def announce_intrusion(self, state: StreamState, random_source: random.Random) -> None:
        count_announcement(state, self.parameters.announced_intrusions)
        state.arrays["counter"] += self.parameters.noise.draw(1, random_source)

    def noisy_counts(self, state: StreamState, random_source: random.Random) -> NDArray[np.int64]:
        counter: NDArray[np.int64] = state.arrays["counter"]
        return counter + self.parameters.noise.draw(1, random_source)

    def estimate(
        self, state: StreamState, random_source: random.Random, confidence: float = CONFIDENCE
    ) -> Estimate:
        noise, announced = self.parameters.noise, state.announced_intrusions
        value = float(self.noisy_counts(state, random_source)[0] - noise.mean(announced))
        return Estimate(
            values=(value,),
            standard_errors=(noise.standard_error(announced),),
            standard_error_note="Includes the noise of toys.",
            projection=(max(value, 0.0),),
            error_bounds=(self.expected_error_bound(confidence, announced),),
            confidence=confidence,
        )

    def truth(self, counts: Mapping[Any, int]) -> tuple[float, ...]:
        return (float(sum(counts.values())),)

    def guarantee(self, announced_intrusions: int) -> Guarantee:
        return Guarantee(
            model=Model.PAN,
            relation=Relation.RECORD,
            epsilon=self.parameters.epsilon,
            delta=self.parameters.delta,
            source="The noise of toys.",
            assumption=INTRUSION_ORDER,
            trust=Curator.trust,
            intrusions=1,
            announced_intrusions=announced_intrusions,
        )

    def guarantees(self) -> tuple[Guarantee, ...]:
        return (self.guarantee(self.parameters.announced_intrusions),)

    def aggregator_event(self) -> PrivacyEvent:
        return EpsilonDelta(
            epsilon_given=self.parameters.epsilon,
            delta_given=self.parameters.delta,
            relation=Relation.REPLACE.value,
        )

    def require_promise(self) -> None:
        """Nothing: the noise follows from ε and δ."""

    def expected_error_bound(self, confidence: float = CONFIDENCE, announced_intrusions: int = 0) -> float:
        return self.parameters.noise.error_bound(announced_intrusions, 1 - confidence)
