"""How often items appear on average, each counted up to t times: the t-cropped mean estimator (PPS Figure 2,
Theorem 3.3)."""

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panprivacy.formats.parameters import described
from panprivacy.statistics.intervals.estimate import Estimate, Interval
from panprivacy.statistics.streams import draws
from panprivacy.statistics.streams.density import BitTable
from panprivacy.statistics.streams.deviation import table_sampling
from panprivacy.statistics.streams.interface import CONFIDENCE, require_confidence
from panprivacy.statistics.streams.item_bits import TouchedBits
from panprivacy.statistics.streams.parameters import CounterParameters
from panprivacy.statistics.streams.state import StreamState

_PARTS = 64
"""Steps of the share for one item of the table, in exact tests."""


@dataclass(frozen=True, kw_only=True)
class CroppedMeanParameters(CounterParameters):
    """A table of bits and counters modulo t."""

    t: int = described(
        label="Cropped at (t)",
        help="Appearances of an item count up to t times. A larger t makes the result less precise.",
        minimum=1,
        maximum=1_000_000,
    )


class CroppedMean(BitTable[CroppedMeanParameters]):
    """A counter modulo t for each cell that starts anywhere, and a bit that is touched when it wraps around.

    An item that appears n times makes its counter wrap with probability min(n, t)/t, so the share of touched
    bits times t is the mean in expectation. The counters alone are uniformly random, whatever happens.

    After an announced intrusion the counters start anywhere again, or two intrusions would show how often
    each item came between. That loses wraps: an item whose t appearances are spread evenly over J phases
    stays untouched with probability (1 − 1/J)^J. So the estimate then is low by up to t times that, which the
    error bound includes, and no standard error is stated.

    State: `bits` and `counters`, one each per cell.
    The projection is the closest value between 0 and t.
    """

    statistic = "cropped_mean"
    title = "Appearances per item, up to t"
    description = (
        "Estimates how often items appear on average, over all possible items. No item counts more than t "
        "times."
    )
    unit = "appearances per item"
    state_description = (
        "A counter and a random bit for each item that has a place. The counter starts at a random number "
        "and turns over at t, so its value reveals nothing. Whenever it turns over, the bit is tossed "
        "again with a slightly biased coin."
    )
    parameters_class = CroppedMeanParameters
    theorem = "PPS Theorem 3.3"

    @property
    def labels(self) -> tuple[str, ...]:
        return (f"mean of at most {self.parameters.t:,} appearances per item",)

    def start(self, random_source: random.Random) -> StreamState:
        # Figure 2, Init: b_x from D₀, and c_x uniform in 0..t − 1.
        state = super().start(random_source)
        state.arrays["counters"] = self._fresh_counters(random_source)
        return state

    def count_item(self, state: StreamState, cell: int) -> tuple[TouchedBits, ...]:
        # Figure 2, Processing: c_x ← c_x + 1 mod t; if it is 0, b_x from D₁.
        counters = state.arrays["counters"]
        counters[cell] = (int(counters[cell]) + 1) % self.parameters.t
        return () if counters[cell] else (self._touched(state, np.array([cell])),)

    def count_batch(self, state: StreamState, cells: NDArray[np.int64]) -> tuple[TouchedBits, ...]:
        counters = state.arrays["counters"]
        np.add.at(counters, cells, np.uint32(1))
        wrapped = cells[counters[cells] >= self.parameters.t]
        counters[cells] %= np.uint32(self.parameters.t)  # a cell that comes twice is set twice, to the same
        # Of a cell that wrapped more than once the last draw stays, the same as of its items one by one.
        return (self._touched(state, wrapped),)

    def _touched(self, state: StreamState, cells: NDArray[np.int64]) -> TouchedBits:
        return TouchedBits(state.arrays["bits"], cells, self.distributions(state.announced_intrusions))

    def announce_intrusion(self, state: StreamState, random_source: random.Random) -> None:
        super().announce_intrusion(state, random_source)
        state.arrays["counters"][:] = self._fresh_counters(random_source)

    def _fresh_counters(self, random_source: random.Random) -> NDArray[np.uint32]:
        """As after a shift of every counter by a uniformly random number, modulo t."""
        return draws.below(self.parameters.table_size, self.parameters.t, random_source).astype(np.uint32)

    def estimate(
        self, state: StreamState, random_source: random.Random, confidence: float = CONFIDENCE
    ) -> Estimate:
        require_confidence(confidence)
        t, intrusions = self.parameters.t, state.announced_intrusions
        # Figure 2, Output: f′ = 4t·(θ − 1/2)/ε. The noise step, + Lap(t/(εm)), comes first, in
        # `noisy_counts`: scale 1/ε on the number of ones (errata).
        (share,) = self.noisy_shares(state, random_source)
        within = min(max(share, 0.0), 1.0)
        return Estimate(
            values=(t * share,),
            standard_errors=() if intrusions else (t * math.sqrt(self._variance(within)),),
            standard_error_note=(
                "None is stated: after an announced intrusion the estimate is low by an unknown part of the "
                "error bound."
                if intrusions
                else "An upper bound: includes the randomized bits, the noise of the result, and the random "
                "choice of the table's items."
            ),
            projection=(t * within,),
            error_bounds=(self._error_bound(intrusions, confidence),),
            confidence=confidence,
            intervals=() if intrusions else self._intervals(share),
        )

    def _variance(self, share: float) -> float:
        """The largest variance of the share over all possible distributions of the appearances.

        If all items appear equally often, the bits vary most; if all appear never or t times, the choice of
        the items does. Together they are never more than if the table were drawn with replacement.
        """
        return self.share_variance(share, 0) + share * (1 - share) / self.parameters.table_size

    def _intervals(self, share: float) -> tuple[Interval, ...]:
        """With the largest variance, as in the standard error."""
        size = self.parameters.table_size
        return self.share_intervals(share, 0, size, _PARTS * size, self.parameters.t)

    def _error_bound(self, announced_intrusions: int, confidence: float) -> float:
        phases = announced_intrusions + 1
        lost = (1 - 1 / phases) ** phases
        sampling = table_sampling(self.parameters.table_size, self.parameters.universe_size)
        return self.parameters.t * (self.share_bound(sampling, announced_intrusions, 1 - confidence) + lost)

    def truth(self, counts: Mapping[Any, int]) -> tuple[float, ...]:
        total = sum(min(count, self.parameters.t) for count in counts.values())
        return (total / self.parameters.universe_size,)

    @property
    def largest(self) -> float:
        return float(self.parameters.t)

    def expected_error_bound(self, confidence: float = CONFIDENCE, announced_intrusions: int = 0) -> float:
        require_confidence(confidence)
        return self._error_bound(announced_intrusions, confidence)
