"""How error and ε change with one parameter, the others fixed."""

import math
from dataclasses import dataclass
from typing import Any

from panprivacy.formats.errors import FieldError
from panprivacy.planning.epsilons import Epsilons, epsilons_of
from panprivacy.planning.expectation import shown_margin
from panprivacy.planning.inversion import CURVE_TOLERANCE
from panprivacy.planning.proposal import Proposal
from panprivacy.statistics.events.cohort import CohortStatistic

AXES = ("cohort_size", "sampling_rate", "epsilon")
"""The parameters that curves run over."""

POINTS = 25
"""Values per line of the error by ε, evenly on a logarithmic axis; the proposal's own comes on top."""

AXIS_POINTS = 13
"""The same for the other curves: each value of ε can take seconds, and error and ε are shown side by side."""

LARGEST_COHORT_SHOWN = 1_000_000

EPSILON_FACTORS = (0.5, 1.0, 2.0, 4.0)
"""Lines of the error against the cohort size: ε times each of these."""


@dataclass(frozen=True)
class ErrorCurve:
    """The 95% margin along one axis; None if no mechanism exists.

    In percentage points if the statistic counts devices, otherwise in its unit. Along the cohort size it is
    the margin of the least precise result that would be released: exactly a cohort reports.
    """

    epsilon: float | None
    values: tuple[float, ...]
    margins: tuple[float | None, ...]


@dataclass(frozen=True)
class PrivacyCurve:
    """ε under replacement along one axis, each as in `Epsilons`; None if it is not known."""

    values: tuple[float, ...]
    local: tuple[float | None, ...]
    aggregator: tuple[float | None, ...]
    sampled: tuple[float | None, ...]


def axis_values(proposal: Proposal, axis: str, points: int) -> tuple[float, ...]:
    """The points at which curves along `axis` are computed: `points` values (≥ 2) and the proposal's own,
    ascending."""
    description, kind = proposal.description(axis)
    own = proposal.value(axis)
    low = description.usual_minimum or description.minimum or own
    high = description.maximum or own
    if kind is int:
        high = min(high, max(LARGEST_COHORT_SHOWN, own))
    low, high = min(low, own), max(high, own)
    ratio = (high / low) ** (1 / (points - 1))
    spread = [min(high, float(f"{low * ratio**step:.3g}")) for step in range(points)]
    if kind is int:
        spread = [round(value) for value in spread]
    return tuple(sorted({*spread, own}))


def error_curve(proposal: Proposal, axis: str) -> ErrorCurve:
    """The margin along one axis."""
    values = axis_values(proposal, axis, AXIS_POINTS)
    return ErrorCurve(None, values, tuple(_margin(proposal, axis, value) for value in values))


def error_curves_by_epsilon(proposal: Proposal) -> tuple[ErrorCurve, ...]:
    """The margin along the cohort size, a line for each of a few ε around the proposal's."""
    description, _ = proposal.description("epsilon")
    own = proposal.value("epsilon")
    values = axis_values(proposal, "cohort_size", POINTS)
    curves = []
    for factor in EPSILON_FACTORS:
        epsilon = float(f"{own * factor:.3g}") if factor != 1 else own
        if not (description.minimum or 0) <= epsilon <= (description.maximum or math.inf):
            continue
        line = proposal.having("epsilon", epsilon)
        margins = tuple(_margin(line, "cohort_size", value) for value in values)
        curves.append(ErrorCurve(epsilon, values, margins))
    return tuple(curves)


def privacy_curve(proposal: Proposal, axis: str, *, sampled_too: bool = True) -> PrivacyCurve:
    """The ε along one axis; `sampled_too` as in `epsilons_of`."""
    values = axis_values(proposal, axis, AXIS_POINTS)
    mechanisms = [_mechanism(proposal.having(axis, value)) for value in values]
    points = []
    near = None  # each search begins at the last value
    for mechanism in mechanisms:
        point = Epsilons()
        if mechanism is not None:
            point = epsilons_of(mechanism, CURVE_TOLERANCE, sampled_too=sampled_too, near=near)
            near = point.aggregator
        points.append(point)
    return PrivacyCurve(
        values=values,
        local=tuple(point.local for point in points),
        aggregator=tuple(point.aggregator for point in points),
        sampled=tuple(point.sampled for point in points),
    )


def _mechanism(proposal: Proposal) -> CohortStatistic[Any] | None:
    try:
        return proposal.mechanism()
    except FieldError:
        return None


def _margin(proposal: Proposal, axis: str, value: float) -> float | None:
    at = proposal.having(axis, value)
    mechanism = _mechanism(at)
    if mechanism is None:
        return None
    population = at.population_size
    if axis == "cohort_size":
        population = math.ceil(value / at.parameters.sampling_rate)
    return shown_margin(mechanism, population)
