"""An auditor of pan-privacy, who sees what an intruder sees and the result, for two adjacent streams.

It counts how often an event fixed beforehand happens in independent runs with either stream. Clopper &
Pearson's intervals for both probabilities, each with failure probability FAILURE on its one side, give a
lower bound on ε that is wrong with probability at most 2·FAILURE = 1e-7. So a right claim is rejected with
probability 1e-7 at most. That a wrong one is rejected is no luck either: `probability_of_acceptance` bounds
the probability that it is not, from the exact probabilities of the event.

State and result are the product's own: `start`, `process_batch`, `announce_intrusion` and `noisy_counts`.
"""

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import beta, binom

from panprivacy.statistics.streams.state import StreamState

FAILURE = 5e-8


def epsilon_shown(likely: int, unlikely: int, runs: int) -> float:
    """A lower bound on ε, where δ is 0.

    Args:
        likely, unlikely: how often the event happened with the one and the other stream.
    """
    lower = beta.ppf(FAILURE, likely, runs - likely + 1) if likely else 0.0
    upper = beta.isf(FAILURE, unlikely + 1, runs - unlikely) if unlikely < runs else 1.0
    return math.log(lower / upper) if lower > 0 else -math.inf


def probability_of_acceptance(likely: float, unlikely: float, runs: int, epsilon: float) -> float:
    """A bound on the probability that `epsilon_shown` does not exceed `epsilon`.

    It grows with the one count and falls with the other; each stays on its side of a quantile but with
    probability 2.5e-7, and at both quantiles the claim is rejected. Else 1.

    Args:
        likely, unlikely: the event's exact probabilities.
    """
    low = int(binom.ppf(2.5e-7, runs, likely))
    high = int(binom.isf(2.5e-7, runs, unlikely))
    return 5e-7 if epsilon_shown(low, high, runs) > epsilon else 1.0


@dataclass(frozen=True)
class Event:
    """What the auditor waits for, and how often the item appears in the two streams.

    Attributes:
        likely, unlikely: appearances before each intrusion, and after the last, in the stream with which the
            event is likelier and in the other. All intrusions but the last one are announced.
        observed: from the arrays of the state at each intrusion, whose last axis is that of the runs, to
            truth values.
        released: the same from the arrays at each intrusion and the noisy counts, one row for each run. None
            if the auditor does not wait for the result.
    """

    likely: Sequence[int]
    unlikely: Sequence[int]
    observed: Callable[[list[dict[str, Any]]], Any]
    released: Callable[[list[dict[str, Any]], Any], Any] | None = None

    def happened(self, statistic: Any, appearances: Sequence[int], source: random.Random) -> int:
        """In how many of as many runs as the table has cells: each cell is a table of its own.

        The result of a run is what the statistic releases of a state with this one cell, so that nothing
        else blurs it: the audit is as strict as can be.
        """
        runs = statistic.parameters.table_size
        state = statistic.start(source)
        intrusions = []
        for intrusion, count in enumerate(appearances[:-1]):
            statistic.process_batch(state, np.tile(np.arange(runs), count), source)
            intrusions.append({name: array.copy() for name, array in state.arrays.items()})
            if intrusion < len(appearances) - 2:
                statistic.announce_intrusion(state, source)
        statistic.process_batch(state, np.tile(np.arange(runs), appearances[-1]), source)
        seen = np.flatnonzero(self.observed(intrusions))
        if self.released is None or not seen.size:
            return int(seen.size)
        noisy = [
            statistic.noisy_counts(
                StreamState(state.statistic, state.announced_intrusions, of_runs(state.arrays, [run], runs)),
                source,
            )
            for run in seen
        ]
        return int(
            self.released([of_runs(intrusion, seen, runs) for intrusion in intrusions], np.array(noisy)).sum()
        )


def of_runs(arrays: dict[str, Any], chosen: Any, runs: int) -> dict[str, Any]:
    """The cells of these runs; of what is not by cell, everything."""
    return {name: array[..., chosen] if array.shape[-1] == runs else array for name, array in arrays.items()}


def require_private(statistic: Any, event: Event, probabilities: tuple[float, float], share: float) -> None:
    """The audit accepts the guarantee, and rejects the claim of this share of it, which is untrue.

    Args:
        probabilities: of the event with either stream, exactly.
    """
    claimed, runs = statistic.guarantee(len(event.likely) - 2).epsilon, statistic.parameters.table_size
    assert math.log(probabilities[0] / probabilities[1]) <= claimed * (1 + 1e-9)
    source = random.Random(f"{type(statistic).__name__} {event.likely} {event.unlikely}")
    likely = event.happened(statistic, event.likely, source)
    shown = epsilon_shown(likely, event.happened(statistic, event.unlikely, source), runs)
    assert shown <= claimed
    assert probability_of_acceptance(*probabilities, runs, share * claimed) <= 1e-6
    assert shown > share * claimed
