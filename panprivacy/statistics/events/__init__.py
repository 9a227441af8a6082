"""Statistics of events on devices, which keep ciphertexts and report once; this is the registry.

A statistic is one file with three parts: the device's steps, the server's estimate from the sum, and the
accountant's event. A new one is one file, one line of `MECHANISMS` and one test module. `interface` has the
base class. This package does not depend on recipes, on transport, or on the servers that add reports up.
"""

from typing import Any

from panprivacy.statistics.events.count_nonzero import CountNonzero
from panprivacy.statistics.events.histogram import Histogram
from panprivacy.statistics.events.interface import Mechanism
from panprivacy.statistics.events.mean import Mean
from panprivacy.statistics.events.segmented import Segmented, SegmentedCountNonzero, SegmentedHistogram

__all__ = ["MECHANISMS", "SEGMENTED"]

MECHANISMS: dict[str, type[Mechanism[Any]]] = {
    mechanism.statistic: mechanism for mechanism in (CountNonzero, Histogram, Mean)
}

SEGMENTED: dict[str, type[Segmented]] = {
    segmented.statistic: segmented for segmented in (SegmentedCountNonzero, SegmentedHistogram)
}
"""Those that can be asked by segment, by the same names."""
