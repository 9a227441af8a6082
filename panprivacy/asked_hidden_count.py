"""Whether a recipe hides how many devices take part: what its file and its document say of it.

Devices that do not take part then send dummies with a rate that is computed from the recipe. Both members are
absent where the number of reports is public as it is.
"""

from collections.abc import Mapping
from typing import Any

from panprivacy.errors import FieldError
from panprivacy.mechanisms.dummies import Dummies
from panprivacy.parameters import PublicParameters, as_typed
from panprivacy.statistic import Statistic

FIELD = "hidden_count"
"""Member of recipe files and documents that may be absent."""

_ASKED = ("epsilon", "delta")
_STATED = (*_ASKED, "population_size", "dummy_rate")


def allowed(statistic: type[Statistic[Any]]) -> bool:
    """Whether the statistic can be asked with dummies: a report of nothing must not move its answer, and what
    is promised must be computed for it."""
    return bool(getattr(statistic, "takes_dummies", False))


def asked_of(value: object) -> tuple[float, float] | None:
    """ε and δ of a recipe file's member; None where it is absent or null.

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
    """The dummies that a recipe file asks for, with their rate computed; None where it asks for none.

    Raises:
        FieldError: names what stands against it.
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
    """Those of a document; strict. Whether they keep what they state, devices check (`require_promise`)."""
    if FIELD not in members:
        return None
    _require_possible(statistic, parameters, segments=segments)
    stated = _members(members[FIELD], _STATED)
    return Dummies(**stated)


def file_members(asked: tuple[float, float] | None) -> dict[str, Any]:
    """The member of a recipe file, where it says anything."""
    return {} if asked is None else {FIELD: dict(zip(_ASKED, asked, strict=True))}


def document_members(dummies: Dummies | None) -> dict[str, Any]:
    """The member of a document, where it says anything."""
    return {} if dummies is None else {FIELD: {name: getattr(dummies, name) for name in _STATED}}


def _require_possible(
    statistic: type[Statistic[Any]], parameters: PublicParameters, *, segments: bool
) -> None:
    if not allowed(statistic):
        raise FieldError(FIELD, f"must be left out of {statistic.statistic}: {statistic.no_dummies}")
    if segments:
        raise FieldError(FIELD, "must be left out where a recipe asks by segment")
    if parameters.sampling_rate >= 1:
        raise FieldError(FIELD, "must be left out where every device takes part: nobody could send a dummy")


def _members(value: object, names: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(value, Mapping) or set(value) != set(names):
        raise FieldError(FIELD, f"must have exactly the members {', '.join(names)}, not {as_typed(value)}")
    return dict(value)
