"""Counts in coarse steps: an exact live count would show every reader that one more device has joined.

The steps do not protect against an attacker that sends reports and watches the count. The number of its
reports up to the next step reveals the exact count, and from just below a step it sees the next device. What
that reveals, and what not, is in docs/threat-model.md ("How many have reported").
"""

from collections.abc import Mapping

STEPS = 50
"""Steps in which progress to the cohort size is shown, about."""

SMALLEST_STEP = 10


def rounding_step(cohort_size: int) -> int:
    """1, 2 or 5 times a power of ten: a fiftieth of the cohort or less, but at least 10."""
    step = SMALLEST_STEP
    factors = (2, 5, 10)
    base = SMALLEST_STEP
    while True:
        for factor in factors:
            larger = base * factor
            if larger * STEPS > cohort_size:
                return step
            step = larger
        base *= 10


def rounded_count(count: int, cohort_size: int) -> int:
    """`count` rounded down to the display's step; the cohort size from there on."""
    step = rounding_step(cohort_size)
    return cohort_size if count >= cohort_size else count // step * step


def rounded_beyond(count: int, cohort_size: int) -> int:
    """As `rounded_count`; beyond the cohort size rounded down to a band: 1, 2 or 5 times a power of ten.

    The lowest band lies a quarter above the cohort size or more, so that none is finer than the steps below.
    """
    if count < cohort_size:
        return rounded_count(count, cohort_size)
    lowest = max(-(-cohort_size * 5 // 4), cohort_size + SMALLEST_STEP)
    reached, power = cohort_size, 1
    while power <= count:
        for band in (power, 2 * power, 5 * power):
            if lowest <= band <= count:
                reached = band
        power *= 10
    return reached


def rounded_rejections(rejections: Mapping[str, int], cohort_size: int) -> dict[str, int]:
    """Rejections in the same steps; a reason below the first step is not shown, not even as rare."""
    shown = {
        reason: count // rounding_step(cohort_size) * rounding_step(cohort_size)
        for reason, count in rejections.items()
    }
    return {reason: count for reason, count in shown.items() if count}
