"""What a statistic makes of what was collected."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Estimate:
    """A debiased estimate. Every tuple has one entry per number the statistic yields.

    Attributes:
        values: unbiased estimates; may be negative.
        standard_errors: of `values`, sampling of devices or items included. Empty where none is known: then
            there are `error_bounds`.
        standard_error_note: what the standard errors include, and whether they are bounds.
        projection: the closest valid answer (see the statistic), labelled as such wherever shown.
        error_bounds: with probability at least `confidence` every value lies within its bound of the truth;
            empty where standard errors say all.
        confidence: of all `error_bounds` together, between 0 and 1; None where there are none.
        details: what else the statistic says, as plain JSON values, e.g. the verdict of a test.
    """

    values: tuple[float, ...]
    standard_errors: tuple[float, ...]
    standard_error_note: str
    projection: tuple[float, ...]
    error_bounds: tuple[float, ...] = ()
    confidence: float | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
