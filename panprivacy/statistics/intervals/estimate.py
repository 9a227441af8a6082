"""A statistic's results: estimates, intervals and errors."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from statistics import NormalDist
from typing import Any, Self

FORMAT = "panapp-estimate-1"
"""Version of the serialized form."""


class EstimateFormatError(ValueError):
    """Bytes that are no estimate of this version."""


LEVELS = (0.95, 0.66)
"""Of the intervals that are stated, the widest first."""


def normal_factor(failure_probability: float, values: int = 1) -> float:
    """A number of standard errors: with at most this probability, any of this number of true values lies
    further away. By the normal approximation and a union bound."""
    return NormalDist().inv_cdf(1 - failure_probability / (2 * values))


@dataclass(frozen=True)
class Interval:
    """The intervals that hold the true values of all answers together.

    Attributes:
        level: the probability, in advance of the collection, with which all true values lie in their
            intervals.
        low, high: one end per value; None if nothing bounds it on this side.
    """

    level: float
    low: tuple[float | None, ...]
    high: tuple[float | None, ...]

    @classmethod
    def around(cls, level: float, values: Sequence[float], margins: Sequence[float]) -> Self:
        """So far to both sides of each value."""
        pairs = list(zip(values, margins, strict=True))
        return cls(
            level,
            tuple(value - reach for value, reach in pairs),
            tuple(value + reach for value, reach in pairs),
        )

    @classmethod
    def from_mapping(cls, members: Mapping[str, Any]) -> Self:
        """The inverse of `dataclasses.asdict`, also after JSON."""
        return cls(members["level"], tuple(members["low"]), tuple(members["high"]))

    def at(self, positions: Iterable[int]) -> Self:
        """The intervals of some of the values alone."""
        places = list(positions)
        return replace(
            self,
            low=tuple(self.low[place] for place in places),
            high=tuple(self.high[place] for place in places),
        )

    def reaching(self, values: Sequence[float]) -> Self:
        """The same, widened if necessary: each value lies in its interval.

        Exact bounds are possible truths, and an estimate between two of them can lie just outside of both.
        """
        return replace(
            self,
            low=tuple(
                None if end is None else min(end, at) for end, at in zip(self.low, values, strict=True)
            ),
            high=tuple(
                None if end is None else max(end, at) for end, at in zip(self.high, values, strict=True)
            ),
        )

    def margins(self, values: Sequence[float]) -> list[float | None]:
        """How far it reaches from each estimate, on its longer side; None if it has no end."""
        return [
            None if low is None or high is None else max(value - low, high - value)
            for value, low, high in zip(values, self.low, self.high, strict=True)
        ]


@dataclass(frozen=True)
class Estimate:
    """A debiased estimate. Every tuple has one entry per number the statistic yields.

    Attributes:
        values: unbiased estimates; may be negative.
        standard_errors: of `values`, sampling of devices or items included. Empty if none is known: then
            there are `error_bounds`.
        standard_error_note: what the standard errors include, and whether they are bounds.
        projection: the closest valid answer (see the statistic), labelled as such when shown.
        error_bounds: with probability at least `confidence` every value lies within its bound of the truth;
            empty if standard errors suffice.
        confidence: of all `error_bounds` together, between 0 and 1; None if there are none.
        intervals: at several levels, the widest first. Empty if they follow from the other fields
            (`stated_intervals`).
        details: further results of the statistic, as plain JSON values, e.g. the verdict of a test.
    """

    values: tuple[float, ...]
    standard_errors: tuple[float, ...]
    standard_error_note: str
    projection: tuple[float, ...]
    error_bounds: tuple[float, ...] = ()
    confidence: float | None = None
    intervals: tuple[Interval, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)

    def stated_intervals(self) -> tuple[Interval, ...]:
        """`intervals`; if there are none, that of the error bounds, otherwise of the normal approximation.

        None for the statistic of a test, whose standard error holds under the hypothesis.
        """
        if self.intervals or "verdict" in self.details:
            return self.intervals
        if self.confidence is not None:
            return (Interval.around(self.confidence, self.values, self.error_bounds),)
        if not self.standard_errors:
            return ()
        factors = {level: normal_factor(1 - level, len(self.values)) for level in LEVELS}
        return tuple(
            Interval.around(level, self.values, [factor * error for error in self.standard_errors])
            for level, factor in factors.items()
        )

    def to_bytes(self) -> bytes:
        """Every attribute as JSON; `from_bytes` is the inverse. Floats come back to the last bit."""
        members = {attribute.name: getattr(self, attribute.name) for attribute in fields(self)}
        members["intervals"] = [asdict(interval) for interval in self.intervals]
        return json.dumps({"format": FORMAT, **members}).encode()

    @classmethod
    def from_bytes(cls, encoded: bytes) -> Self:
        """Read what `to_bytes` wrote.

        Raises:
            EstimateFormatError: something else.
        """
        try:
            content = json.loads(encoded)
            if content["format"] != FORMAT:
                raise EstimateFormatError(f"the format must be {FORMAT}, not {content['format']!r}")
            return cls(
                values=tuple(content["values"]),
                standard_errors=tuple(content["standard_errors"]),
                standard_error_note=content["standard_error_note"],
                projection=tuple(content["projection"]),
                error_bounds=tuple(content["error_bounds"]),
                confidence=content["confidence"],
                intervals=tuple(Interval.from_mapping(found) for found in content["intervals"]),
                details=content["details"],
            )
        except (KeyError, TypeError, ValueError) as error:
            raise EstimateFormatError(f"not an estimate: {error}") from error
