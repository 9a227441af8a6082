"""Whether a recipe hides how many devices take part: its fields in files and documents.

Devices that do not take part then send dummies with a rate that is computed from the recipe. Both fields are
absent if the exact number of reports is public.
"""

from collections.abc import Mapping
from typing import Any

from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import PublicParameters, as_typed
from panprivacy.statistics.events.dummies import Dummies
from panprivacy.statistics.interface import Statistic

FIELD = "hidden_count"
"""Field of recipe files and documents that may be absent."""

_ASKED = ("epsilon", "delta")
_STATED = (*_ASKED, "population_size", "dummy_rate")


def allowed(statistic: type[Statistic[Any]]) -> bool:
    """Whether the statistic can be asked with dummies: an empty report must not move its answer, and the
    promised guarantee must be computed with dummies."""
    return not statistic.dummy_obstacle


def asked_of(value: object) -> tuple[float, float] | None:
    """ε and δ in a recipe file's field; None if it is absent or null.

    Raises:
        FieldError: it does not have exactly these two, or one is out of range.
    """
    if value is None:
        return None
    members = _members(value, _ASKED)
    Dummies.require_target(members["epsilon"], members["delta"])
    return float(members["epsilon"]), float(members["delta"])


def dummies_asked(
    asked: tuple[float, float] | None,
    statistic: type[Statistic[Any]],
    parameters: PublicParameters,
    *,
    segments: bool,
    population_size: int | None,
) -> Dummies | None:
    """The dummies that a recipe file asks for, with their rate computed; None if it asks for none.

    Raises:
        FieldError: names the obstacle.
    """
    if asked is None:
        return None
    _require_possible(statistic, parameters, segments=segments)
    if population_size is None:
        raise FieldError(
            "population_size",
            f"is missing: {FIELD} needs a number that surely as many devices hear of the recipe",
        )
    epsilon, delta = asked
    return Dummies.calibrated(
        epsilon=epsilon,
        delta=delta,
        population_size=population_size,
        sampling_rate=parameters.sampling_rate,
    )


def dummies_stated(
    members: dict[str, object],
    statistic: type[Statistic[Any]],
    parameters: PublicParameters,
    *,
    segments: bool,
) -> Dummies | None:
    """The dummies of a document; strict. Devices check whether they keep what they state
    (`require_promise`)."""
    if FIELD not in members:
        return None
    _require_possible(statistic, parameters, segments=segments)
    stated = _members(members[FIELD], _STATED)
    return Dummies(**stated)


def file_members(asked: tuple[float, float] | None) -> dict[str, Any]:
    """The field of a recipe file, if it is set."""
    return {} if asked is None else {FIELD: dict(zip(_ASKED, asked, strict=True))}


def document_members(dummies: Dummies | None) -> dict[str, Any]:
    """The field of a document, if it is set."""
    return {} if dummies is None else {FIELD: {name: getattr(dummies, name) for name in _STATED}}


def _require_possible(
    statistic: type[Statistic[Any]], parameters: PublicParameters, *, segments: bool
) -> None:
    if not allowed(statistic):
        raise FieldError(FIELD, f"must be left out of {statistic.statistic}: {statistic.dummy_obstacle}")
    if segments:
        raise FieldError(FIELD, "must be left out if a recipe asks by segment")
    if parameters.sampling_rate >= 1:
        raise FieldError(FIELD, "must be left out if every device takes part: none could send a dummy")


def _members(value: object, names: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(value, Mapping) or set(value) != set(names):
        raise FieldError(FIELD, f"must have exactly the fields {', '.join(names)}, not {as_typed(value)}")
    return dict(value)
