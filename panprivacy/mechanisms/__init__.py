"""Statistics of events on devices, which keep ciphertexts and report once; this is the registry.

A statistic is one file with three faces: what a device does, what the server makes of the sum, and what the
accountant is told. A new one is one file, one line of `MECHANISMS` and one test module. `interface` has the
base class. This room knows nothing of recipes, nor of how reports travel and who adds them up.
"""

from typing import Any

from panprivacy.mechanisms.count_nonzero import CountNonzero
from panprivacy.mechanisms.histogram import Histogram
from panprivacy.mechanisms.interface import Mechanism
from panprivacy.mechanisms.mean import Mean
from panprivacy.mechanisms.segmented import Segmented, SegmentedCountNonzero, SegmentedHistogram

__all__ = ["MECHANISMS", "SEGMENTED"]

MECHANISMS: dict[str, type[Mechanism[Any]]] = {
    mechanism.statistic: mechanism for mechanism in (CountNonzero, Histogram, Mean)
}

SEGMENTED: dict[str, type[Segmented]] = {
    segmented.statistic: segmented for segmented in (SegmentedCountNonzero, SegmentedHistogram)
}
"""Those that can be asked by segment, by the same names."""
