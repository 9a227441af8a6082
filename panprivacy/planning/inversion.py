"""ε of an event at δ, in few looks: as fine as a figure shows, and interruptible."""

import math

# SciPy loads its parts when they are first used.
import scipy

from panprivacy.accounting.interface import PrivacyEvent
from panprivacy.planning.checkpoint import Checkpoint

TOLERANCE = 1e-5
"""How far (relatively) a result may lie above the smallest ε: below what four digits show."""

CURVE_TOLERANCE = 1e-3
"""The same for curves: below the thickness of a line."""

_NOTHING = 1e-300
_SMALLEST = 1e-7  # below it, an ε is told as this: nobody learns anything


def shown_epsilon(
    event: PrivacyEvent,
    delta: float,
    checkpoint: Checkpoint = lambda: None,
    tolerance: float = TOLERANCE,
) -> float:
    """An ε at which the event is (ε, δ)-private: the smallest, or at most `tolerance` (relative) above it.

    `PrivacyEvent.epsilon` is finer, and takes several times as many looks, at `PrivacyEvent.delta`.

    Args:
        checkpoint: called before every look.
    """

    def excess(log_epsilon: float) -> float:
        checkpoint()
        return math.log(max(event.delta_bound(math.exp(log_epsilon)), _NOTHING)) - math.log(delta)

    low, high = math.log(0.1), math.log(1.0)
    at_low, at_high = excess(low), excess(high)
    while at_high > 0:
        low, at_low = high, at_high
        high += math.log(4.0)
        at_high = excess(high)
    while at_low <= 0:
        high, at_high = low, at_low
        if low <= math.log(_SMALLEST):
            return _SMALLEST
        low = max(low - math.log(10.0), math.log(_SMALLEST))
        at_low = excess(low)
    root = high
    if at_high < 0:
        root = float(scipy.optimize.brentq(excess, low, high, xtol=tolerance / 4, rtol=1e-12))
        step = tolerance / 2
        while root < high and excess(root) > 0:
            root = min(high, root + step)
            step *= 2
    return math.exp(root)
