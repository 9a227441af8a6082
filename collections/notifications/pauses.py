"""When a delivery that failed is tried again, and when no more."""

import random
from datetime import timedelta

FIRST = timedelta(seconds=5)
GROWTH = 4.0
LARGEST = timedelta(hours=6)
JITTER = 0.2
"""By which part a pause is shorter or longer, so that what failed together does not come back together."""

LONGEST = timedelta(hours=24)
"""After which a delivery that never arrived has failed."""


def pause_after(attempts: int, source: random.Random) -> timedelta:
    """The pause after this many failed attempts, from 1: 5 s, 20 s, 80 s, … up to 6 hours, each ± 20%."""
    steps = min(attempts - 1, 20)
    seconds = min(FIRST.total_seconds() * GROWTH**steps, LARGEST.total_seconds())
    return timedelta(seconds=seconds * source.uniform(1 - JITTER, 1 + JITTER))
