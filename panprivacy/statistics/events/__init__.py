"""Statistics of events on devices, which keep ciphertexts and report once; this is the registry.

A statistic is one file with three parts: the device's steps, the server's estimate from the sum, and the
accountant's event. A new one is one file, one line of `MECHANISMS` and one test module. `interface` has the
base class. This package does not depend on recipes, on transport, or on the servers that add reports up.
"""

from typing import TYPE_CHECKING, Any

from panprivacy.formats.registry import Registry

if TYPE_CHECKING:
    from panprivacy.statistics.events.interface import Mechanism
    from panprivacy.statistics.events.segmented import Segmented

__all__ = ["MECHANISMS", "SEGMENTED"]

MECHANISMS: Registry[type["Mechanism[Any]"]] = Registry(
    __name__,
    {
        "count_nonzero": "count_nonzero:CountNonzero",
        "histogram": "histogram:Histogram",
        "mean": "mean:Mean",
        "funnel": "questions.funnel:Funnel",
        "retention": "questions.retention:Retention",
        "time_to_first": "questions.time_to_first:TimeToFirst",
        "longest_streak": "questions.longest_streak:LongestStreak",
        "both": "questions.both:Both",
        "automaton": "questions.automaton:AutomatonQuestion",
    },
)
"""Registered name → class."""

SEGMENTED: Registry[type["Segmented"]] = Registry(
    __name__,
    {
        "count_nonzero": "segmented:SegmentedCountNonzero",
        "histogram": "segmented:SegmentedHistogram",
        "funnel": "segmented:SegmentedFunnel",
        "retention": "segmented:SegmentedRetention",
        "time_to_first": "segmented:SegmentedTimeToFirst",
        "longest_streak": "segmented:SegmentedLongestStreak",
        "both": "segmented:SegmentedBoth",
        "automaton": "segmented:SegmentedAutomaton",
    },
)
"""Those that can be asked by segment, by the same names."""
