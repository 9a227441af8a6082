"""Composition: the joint privacy loss of several releases about the same devices.

Each event's curve δ(ε) becomes a privacy loss distribution that lies above it, and these are convolved
(`privacy_loss`, `composed_loss`). ε's are not added up, unless that gives less. Basic composition bounds the
result too: it is never above the sum of the largest losses that the events have with more than negligible
probability, plus δ's.

**What the number covers.** The events, i.e. their types and parameters, are fixed ahead, or at least chosen
without knowledge of previous outputs. The data and the question behind an event may depend on previous
outputs, because its curve holds for every such choice. This is adaptive composition with fixed privacy
parameters (Dwork, Rothblum & Vadhan 2010). For curves and the pairs that dominate them it is Theorem 10 of
Zhu, Dong & Wang 2022.

Replacement is symmetric: a device may have the event in one release and not in the next, and vice versa, even
depending on results. So each event under replacement is composed with the worse of both directions on either
side. That is up to 3% in ε above composing one and the same pair of inputs (7% for Example 5 of SAA, which is
sampled at 0.02). Composing directions apart would not be a proof. A sum of bits whose inputs are exchanged is
that of unchanged inputs with the other devices' bits exchanged. The worst case covers all bits of other
devices, in each release anew. Adding and removing fix the direction for all rounds and have one worst pair,
so the sampled Gaussian's rounds are composed in each direction apart.

**What it does not cover.** Parameters, or the number of later events, may depend on previous outputs (full
adaptivity). Then stopping before this number exceeds a budget is in general not a valid privacy filter.
Composing curves along the path taken and stopping when they would cross the target fails. A paper shows when
it does and when it does not ("f-Differential Privacy Filters: Validity and Approximate Solutions",
arXiv:2602.06756). For (ε, δ), filters are proved at the rate of advanced composition (Rogers, Roth, Ullman &
Vadhan 2016), and with its constants (Whitehouse, Ramdas, Rogers & Wu 2023). For Rényi and zero-concentrated
privacy they are proved as if parameters were fixed (Feldman & Zrnic 2021; Whitehouse et al. 2023). So a
budget with the rule `composed` holds only if analysts do not plan recipes by the results of previous ones;
`privacy_filter` is the rule that needs no such condition.
"""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

from panprivacy.accounting.composed_loss import ComposedLoss, composed, require_reachable
from panprivacy.accounting.interface import (
    LARGEST_EPSILON,
    SMALLEST_DELTA,
    NestedEvent,
    PrivacyEvent,
    require_delta,
    require_epsilon,
)
from panprivacy.accounting.loss_sum import LossSum
from panprivacy.accounting.number_cache import parts_of
from panprivacy.accounting.privacy_loss import Decomposable, Directions
from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import described

_Counted = tuple[tuple[PrivacyEvent, int], ...]  # distinct events, and how often each occurs

LARGEST_TIMES = 1_000_000
"""Repetitions up to which the discretization costs at most 0.05% of ε."""

_DOTS_APART = 1 / 4
"""Of curves for quick bounds."""


def epsilon_of(events: Iterable[PrivacyEvent], delta: float) -> float:
    """The ε at which all events together are (ε, δ)-private, from above.

    Args:
        events: in any order; equal ones count as often as they occur.
        delta: from `SMALLEST_DELTA`, below 1.

    Returns:
        ε ≥ 0; 0 for no events; for a single event its own. It is a bound if every event is `proved`. The
        curve of another event is a lower end: for a bound, compose `question.proved_bound(event)`.
        It exceeds that of the events' curves of `delta_bound` by at most 0.2%, because each is known at some
        200 points (0.4% at some 60 points, see `dots_apart`). It never exceeds the ε's of the events at equal
        shares of δ, added up.

    Raises:
        FieldError: events with different neighbouring relations; δ outside its range, or so small that no
            ε is promised.
    """
    return _epsilon_of(_counted(events), delta)


def delta_of(events: Iterable[PrivacyEvent], epsilon: float) -> float:
    """The δ at which all events together are (ε, δ)-private, from above; 0 for no events.

    Args and errors as in `epsilon_of`; ε ≥ 0.
    """
    return _delta_of(_counted(events), epsilon)


def _epsilon_of(counted: _Counted, delta: float) -> float:
    require_delta(delta)
    if not counted:
        return 0.0
    if sum(times for _, times in counted) == 1:
        return counted[0][0].epsilon(delta)
    # The worse direction of the composed losses (Zhu, Dong & Wang 2022, Theorem 10), or basic composition.
    found = max(direction.epsilon(delta) for direction in _composed(counted))
    return require_reachable(min(found, _added_up(counted, delta, found)), delta)


def _added_up(counted: _Counted, delta: float, composed_epsilon: float) -> float:
    """The ε's added up at equal shares of δ, which is a bound as well; infinity if it is clearly larger.

    It is smaller by the last digits at most, if composing gains nothing.
    """
    # Basic composition: ε's and δ's of all events add up (Dwork, Rothblum & Vadhan 2010).
    count = sum(times for _, times in counted)
    # the share of δ that each needs at any ε
    certain = [event.delta(LARGEST_EPSILON) for event, _ in counted]
    needed = sum(times * least for (_, times), least in zip(counted, certain, strict=True))
    share = (delta - needed) / count * (1 - 1e-12)
    if share < SMALLEST_DELTA or composed_epsilon == math.inf:
        return math.inf
    # By the losses, which costs little: exact ε's are only asked for if this is close.
    roughly = sum(
        times * part_count * max(loss.epsilon(least + share) for loss in both)
        for (event, times), least in zip(counted, certain, strict=True)
        for both, part_count in parts_of(event)
    )
    if composed_epsilon < 0.99 * roughly:
        return math.inf
    return sum(
        times * event.epsilon(least + share) for (event, times), least in zip(counted, certain, strict=True)
    )


def _delta_of(counted: _Counted, epsilon: float) -> float:
    require_epsilon(epsilon)
    if not counted:
        return 0.0
    if sum(times for _, times in counted) == 1:
        return counted[0][0].delta(epsilon)
    found = max(direction.delta(epsilon) for direction in _composed(counted))
    if not SMALLEST_DELTA < found < 1 or _added_up(counted, found, epsilon) >= epsilon:
        return found
    # The inverse of the curve that `_epsilon_of` then uses; the sum of ε's exceeds it by more than these
    # digits.
    low, high = math.log(SMALLEST_DELTA), math.log(found)
    while high - low > 1e-12:
        middle = (low + high) / 2
        low, high = (
            (middle, high) if _added_up(counted, math.exp(middle), epsilon) > epsilon else (low, middle)
        )
    return math.exp(low)


def _counted(events: Iterable[PrivacyEvent]) -> _Counted:
    """Each distinct event and how often it occurs, in an order that does not depend on that of `events`."""
    counts = Counter(events)
    relations = sorted({event.neighbours.value for event in counts})
    if len(relations) > 1:
        raise FieldError(
            "relation", f"must be the same for all events that are composed, not {' and '.join(relations)}"
        )
    # Names of classes are part of `repr`. If they sort in another order, last digits may change.
    return tuple(sorted(counts.items(), key=lambda item: (item[0].kind, repr(item[0]))))


@lru_cache(maxsize=16)  # of a ledger's most recent questions
def _composed(counted: _Counted) -> tuple[ComposedLoss | LossSum, ...]:
    # Every part as a loss (`privacy_loss`), and these convolved (`composed_loss`).
    return composed([(both, times * count) for event, times in counted for both, count in parts_of(event)])


@lru_cache(maxsize=64)
def _roughly_composed(event: PrivacyEvent, times: int) -> tuple[ComposedLoss | LossSum, ...]:
    return composed([(both, times * count) for both, count in parts_of(event, _DOTS_APART)])


@dataclass(frozen=True, kw_only=True)
class Repetition(NestedEvent, Decomposable):
    """`times` independent events with the same parameters.

    Also bounds one release with independent parts. For example, replacing a one-hot vector changes two
    coordinates: Repetition(event=RandomizedResponseSum(n, ε₀), times=2). If the event is pure
    ((ε₀, 0)-private), ε is at most times·ε₀.
    """

    kind: ClassVar[str] = "repeated"
    quick = False

    times: int = described(
        label="Times", help="Number of independent events.", minimum=1, maximum=LARGEST_TIMES
    )

    @property
    def largest_loss(self) -> float:
        return self.times * self.event.largest_loss

    @property
    def method(self) -> str:
        return f"{self.times} times ({self.event.method}), composed by privacy loss distributions, from above"

    def over(self, n: int) -> "Repetition":
        return Repetition(event=self.event.over(n), times=self.times)

    def delta(self, epsilon: float) -> float:
        return _delta_of(((self.event, self.times),), epsilon)

    def delta_roughly(self, epsilon: float) -> float:
        """`delta` to within what moves ε by 0.3%: the event's curve is known at some 60 points."""
        require_epsilon(epsilon)
        if epsilon >= self.largest_loss:
            return 0.0
        return max(direction.delta(epsilon) for direction in _roughly_composed(self.event, self.times))

    def epsilon(self, delta: float) -> float:
        return min(_epsilon_of(((self.event, self.times),), delta), self.largest_loss)

    def parts(self) -> tuple[tuple[Directions, int], ...]:
        return tuple((both, self.times * count) for both, count in parts_of(self.event))
