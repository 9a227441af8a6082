"""What a statistic makes of what was collected."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Self

FORMAT = "panapp-estimate-1"
"""Version of the serialized form."""


class EstimateFormatError(ValueError):
    """Bytes that are no estimate of this version."""


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

    def to_bytes(self) -> bytes:
        """Every attribute as JSON; `from_bytes` is the inverse. Floats come back to the last bit."""
        members = {attribute.name: getattr(self, attribute.name) for attribute in fields(self)}
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
                details=content["details"],
            )
        except (KeyError, TypeError, ValueError) as error:
            raise EstimateFormatError(f"not an estimate: {error}") from error
