"""The ε of a mechanism under replacement: the numbers of its guarantees, one by one."""

from dataclasses import dataclass
from typing import Any

from panprivacy.accounting.guarantees import Relation
from panprivacy.planning.inversion import TOLERANCE, shown_epsilon
from panprivacy.statistics.events.cohort import CohortStatistic


@dataclass(frozen=True)
class Epsilons:
    """ε under replacement, at the mechanism's own δ and cohort size, without collusion.

    Each is a little above what `Statistic.guarantees` states: see `epsilons_of`. None is unknown.

    Attributes:
        local: against readers of one report.
        aggregator: against readers of a cohort's result, proved.
        sampled: against readers of the result that do not know which devices took part, proved; None if all
            take part.
    """

    local: float | None = None
    aggregator: float | None = None
    sampled: float | None = None


def local_epsilon(mechanism: CohortStatistic[Any]) -> float | None:
    """ε against readers of one report: quick."""
    for guarantee in mechanism.local_guarantees():
        if guarantee.relation == Relation.REPLACE:
            return guarantee.epsilon
    return None


def aggregator_epsilon(mechanism: CohortStatistic[Any]) -> float:
    """ε against readers of the sum of a cohort, proved."""
    return shown_epsilon(mechanism.aggregator_event(), mechanism.parameters.delta)


def epsilons_of(
    mechanism: CohortStatistic[Any],
    tolerance: float = TOLERANCE,
    *,
    sampled_too: bool = True,
    near: float | None = None,
) -> Epsilons:
    """All of them, each at most `tolerance` (relative) above what is stated: slow.

    Args:
        sampled_too: whether to include the one that needs participation to be secret, the slowest.
        near: a guess of `aggregator`, to find it sooner.
    """
    sampling = mechanism.sampling if sampled_too else None
    delta = mechanism.parameters.delta
    return Epsilons(
        local=local_epsilon(mechanism),
        aggregator=shown_epsilon(mechanism.aggregator_event(), delta, tolerance, near),
        sampled=None if sampling is None else shown_epsilon(sampling.event(), delta, tolerance),
    )
