"""Whether a recipe hides how many devices take part.

Devices that do not take part then send dummies with a rate that is computed from the recipe. The field is
absent if the exact number of reports is public.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import PublicParameters, as_typed
from panprivacy.recipe.parts.interface import Part, PartField, PartialRecipe, Subject
from panprivacy.statistics.interface import Statistic

if TYPE_CHECKING:
    # Loaded when they are used, because recipes without dummies do not need them.
    from panprivacy.statistics.events.dummies import Dummies

FIELD = "hidden_count"

_TARGET = ("epsilon", "delta")
_STATED = (*_TARGET, "population_size", "dummy_rate")


def allowed(statistic: type[Statistic[Any]]) -> bool:
    """Whether the statistic can be asked with dummies: an empty report must not move its answer, and the
    promised guarantee must be computed with dummies."""
    return not statistic.dummy_obstacle


class HiddenCountPart(Part[tuple[float, float], "Dummies"]):
    """In a file: ε and δ at which dummies hide the number of reports. In a document: the dummies, with their
    rate."""

    name = FIELD
    fields = (
        PartField(
            name=FIELD,
            label="Hide how many take part, at ε",
            help="Some devices that do not take part then send a report of nothing. One report more or less "
            "is hidden at this ε and δ = 1e-06; for another δ, write both: 0.5, 1e-8. Leave empty to "
            "publish the number of reports as it is.",
            meaning="How dummies hide the number of reports.",
        ),
    )
    has_section = True

    def fields_of(self, subject: Subject) -> tuple[str, ...]:
        return self.field_names if allowed(subject.statistic) else ()

    def read_file(self, fields: Mapping[str, object]) -> tuple[float, float]:
        from panprivacy.statistics.events.dummies import Dummies

        target = _exactly(fields[FIELD], _TARGET)
        Dummies.require_target(target["epsilon"], target["delta"])
        return float(target["epsilon"]), float(target["delta"])

    def file_fields(self, value: tuple[float, float]) -> dict[str, Any]:
        return {FIELD: dict(zip(_TARGET, value, strict=True))}

    def read_document(self, fields: Mapping[str, object]) -> "Dummies":
        """Devices check that the dummies keep what they state (`require_promise`)."""
        from panprivacy.statistics.events.dummies import Dummies

        return Dummies(**_exactly(fields[FIELD], _STATED))

    def document_fields(self, value: "Dummies") -> dict[str, Any]:
        return {FIELD: {name: getattr(value, name) for name in _STATED}}

    def check(self, recipe: PartialRecipe) -> None:
        if FIELD not in recipe.parts:
            return
        if "segments" in recipe.parts:
            raise FieldError(FIELD, "must be left out if a recipe asks by segment")
        if recipe.parameters.sampling_rate >= 1:
            raise FieldError(FIELD, "must be left out if every device takes part: none could send a dummy")


PART = HiddenCountPart()


def dummies_calibrated(
    target: tuple[float, float], parameters: PublicParameters, population_size: int | None
) -> "Dummies":
    """The dummies that keep a target (ε, δ).

    Args:
        population_size: devices that surely receive the recipe; None if the file states no number.

    Raises:
        FieldError: the number is missing, or no rate keeps the target.
    """
    from panprivacy.statistics.events.dummies import Dummies

    epsilon, delta = target
    return Dummies.calibrated(
        epsilon=epsilon,
        delta=delta,
        population_size=required_size(population_size),
        sampling_rate=parameters.sampling_rate,
    )


def required_size(population_size: int | None) -> int:
    """The number of devices that surely receive the recipe; FieldError if the file states none."""
    if population_size is None:
        raise FieldError(
            "population_size",
            f"is missing: {FIELD} needs the number of devices that certainly receive the recipe",
        )
    return population_size


def _exactly(value: object, names: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(value, Mapping) or set(value) != set(names):
        raise FieldError(FIELD, f"must have exactly the fields {', '.join(names)}, not {as_typed(value)}")
    return dict(value)
