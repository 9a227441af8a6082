"""Composition: what several releases about the same devices cost together.

Each event's curve δ(ε) becomes a privacy loss distribution that lies above it, and these are convolved
(`privacy_loss`, `composed_loss`). ε's are never added up. Basic composition bounds the result too: it is
never above the sum of the largest losses that the events have with more than negligible probability, plus
δ's.

**What the number covers.** The events, that is their kinds and parameters, are fixed ahead, or at least
chosen without looking at earlier outputs. The data and the question behind an event may depend on earlier
outputs, as its curve holds for every such choice (adaptive composition with fixed privacy parameters:
Dwork, Rothblum & Vadhan 2010; for curves and the pairs that dominate them: Zhu, Dong & Wang 2022,
Theorem 10).

**What it does not cover.** Where the parameters of later events, or whether there are any, depend on
earlier outputs (full adaptivity), stopping before this number exceeds a budget is in general not a valid
privacy filter: composing curves along the path taken and stopping where they would cross the target fails
("f-Differential Privacy Filters: Validity and Approximate Solutions", arXiv:2602.06756, which also says
when it does not). Filters are proved for (ε, δ) at the rate of advanced composition (Rogers, Roth, Ullman
& Vadhan 2016; with its constants, Whitehouse, Ramdas, Rogers & Wu 2023), and for Rényi and
zero-concentrated privacy as if parameters were fixed (Feldman & Zrnic 2021; Whitehouse et al. 2023). So a
ledger that refuses recipes above a budget gives this number's guarantee only if nobody plans recipes by
the results of earlier ones.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

from panprivacy.accounting.composed_loss import ComposedLoss, composed, require_reachable
from panprivacy.accounting.interface import PrivacyEvent, require_delta, require_epsilon
from panprivacy.accounting.nested import NestedEvent
from panprivacy.accounting.privacy_loss import Decomposable, Directions, parts_of
from panprivacy.errors import FieldError
from panprivacy.parameters import described

_Counted = tuple[tuple[PrivacyEvent, int], ...]  # distinct events, and how often each occurs

LARGEST_TIMES = 1_000_000
"""Repetitions up to which the discretization costs at most 0.05 % of ε."""


def epsilon_of(events: Iterable[PrivacyEvent], delta: float) -> float:
    """The ε at which all events together are (ε, δ)-private, from above.

    Args:
        events: in any order; equal ones count as often as they occur.
        delta: from `SMALLEST_DELTA`, below 1.

    Returns:
        ε ≥ 0; 0 for no events; for a single event its own. It exceeds the ε of the events' exact curves by
        at most 0.2 %, as each curve is known at some 200 points. `delta_bound` adds to that: for sums of bits
        0.1 % at n ≤ 10⁴, 0.5 % at 10⁶.

    Raises:
        FieldError: events with different neighbouring relations; δ outside its range, or so small that no
            ε is promised.
    """
    return _epsilon_of(_counted(events), delta)


def delta_of(events: Iterable[PrivacyEvent], epsilon: float) -> float:
    """The δ at which all events together are (ε, δ)-private, from above; 0 for no events.

    Args and errors as of `epsilon_of`; ε ≥ 0.
    """
    return _delta_of(_counted(events), epsilon)


def _epsilon_of(counted: _Counted, delta: float) -> float:
    require_delta(delta)
    if not counted:
        return 0.0
    if sum(times for _, times in counted) == 1:
        return counted[0][0].epsilon(delta)
    found = max(direction.epsilon(delta) for direction in _composed(counted))
    return require_reachable(found, delta)


def _delta_of(counted: _Counted, epsilon: float) -> float:
    require_epsilon(epsilon)
    if not counted:
        return 0.0
    if sum(times for _, times in counted) == 1:
        return counted[0][0].delta(epsilon)
    return max(direction.delta(epsilon) for direction in _composed(counted))


def _counted(events: Iterable[PrivacyEvent]) -> _Counted:
    """Each distinct event and how often it occurs, in an order that does not depend on that of `events`."""
    counts = Counter(events)
    relations = sorted({event.neighbours.value for event in counts})
    if len(relations) > 1:
        raise FieldError(
            "relation", f"must be the same for all events that are composed, not {' and '.join(relations)}"
        )
    return tuple(sorted(counts.items(), key=lambda item: (item[0].kind, repr(item[0]))))


@lru_cache(maxsize=128)  # a ledger asks again and again for the same events
def _composed(counted: _Counted) -> tuple[ComposedLoss, ...]:
    return composed([(both, times * count) for event, times in counted for both, count in parts_of(event)])


@dataclass(frozen=True, kw_only=True)
class Repeated(NestedEvent, Decomposable):
    """`times` independent events with the same parameters.

    Also bounds one release with independent parts. For example, replacing a one-hot vector changes two
    coordinates: Repeated(event=Shuffled(n, ε₀), times=2). Where the event is pure ((ε₀, 0)-private), ε is at
    most times·ε₀.
    """

    kind: ClassVar[str] = "repeated"
    quick = False

    times: int = described(
        label="Times", help="Number of independent events.", minimum=1, maximum=LARGEST_TIMES
    )

    @property
    def method(self) -> str:
        return f"{self.times} times ({self.event.method}), composed by privacy loss distributions, from above"

    def over(self, n: int) -> "Repeated":
        return Repeated(event=self.event.over(n), times=self.times)

    def delta(self, epsilon: float) -> float:
        return _delta_of(((self.event, self.times),), epsilon)

    def epsilon(self, delta: float) -> float:
        return _epsilon_of(((self.event, self.times),), delta)

    def parts(self) -> tuple[tuple[Directions, int], ...]:
        return tuple((both, self.times * count) for both, count in parts_of(self.event))
