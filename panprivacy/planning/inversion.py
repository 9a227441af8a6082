"""ε of an event at δ, in few evaluations: precise enough for a figure."""

import math
from functools import lru_cache

# SciPy loads its parts when they are first used.
import scipy

from panprivacy.accounting.interface import PrivacyEvent

TOLERANCE = 1e-5
"""How far (relatively) a result may lie above the smallest ε: below what four digits show."""

CURVE_TOLERANCE = 1e-3
"""The same for curves: below the thickness of a line."""

_FIRST = 0.3
_NOTHING = 1e-300
_SMALLEST = 1e-7  # a smaller ε is reported as this: an observer learns nothing


def shown_epsilon(
    event: PrivacyEvent,
    delta: float,
    tolerance: float = TOLERANCE,
    near: float | None = None,
) -> float:
    """An ε at which the event is (ε, δ)-private: the smallest, or at most `tolerance` (relative) above it.

    `PrivacyEvent.epsilon` is finer, and evaluates several times as often `PrivacyEvent.delta`.

    Args:
        near: a guess above 0, evaluated first: the better it is, the fewer evaluations.
    """

    def excess(log_epsilon: float) -> float:
        found = math.log(max(delta_bound(event, math.exp(log_epsilon)), _NOTHING)) - math.log(delta)
        # For a stated guarantee, which is just met from some ε on, δ has a step there and no root: any other
        # number below zero lets the search go on to the step.
        return found or -1.0

    stride = math.log(2.0)
    low = high = math.log(max(near or _FIRST, _SMALLEST))
    at_low = at_high = excess(high)
    while at_high > 0:
        low, at_low = high, at_high
        high += stride
        at_high = excess(high)
        stride *= 2
    while at_low <= 0:
        high, at_high = low, at_low
        if low <= math.log(_SMALLEST):
            return _SMALLEST
        low = max(low - stride, math.log(_SMALLEST))
        at_low = excess(low)
        stride *= 2
    root = float(scipy.optimize.brentq(excess, low, high, xtol=tolerance / 4, rtol=1e-12))
    step = tolerance / 2
    while root < high and excess(root) > 0:
        root = min(high, root + step)
        step *= 2
    return math.exp(root)


# searches and curves over parameters that the event does not depend on repeat the same question
@lru_cache(maxsize=4096)
def delta_bound(event: PrivacyEvent, epsilon: float) -> float:
    """`PrivacyEvent.delta_bound`, remembered."""
    return event.delta_bound(epsilon)
