"""Which devices of its population a recipe asks (SAA, 5.5); absent if it asks all of them.

A file names, for each attribute, the value that a device must
have and the recipe whose result shows how many devices have it. Publishing adds the result's hash.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import TIMES_COHORT, Description, PublicParameters, as_typed
from panprivacy.recipe.parts.admission import ADMISSION
from panprivacy.recipe.parts.interface import Part, PartField, PartialRecipe, Subject
from panprivacy.recipe.parts.relay import RELAY
from panprivacy.recipe.parts.round import require_hash
from panprivacy.recipe.targeting.citation import Citation
from panprivacy.recipe.targeting.sizes import smallest_target
from panprivacy.recipe.targeting.target import ALL_DEVICES, FIELD, MOST_CONDITIONS, Target

SMALLEST = "smallest_target"
MOST_DEVICES = 10_000_000_000

SMALLEST_DESCRIPTION = Description(
    label="Smallest target",
    help=f"Fewest devices that must surely be in the target. By default {TIMES_COHORT} times the cohort "
    "size, or the cohort size by the sampling rate if that is more.",
    minimum=1,
    maximum=MOST_DEVICES,
)

REASON = "without it, an observer of an arriving report learns that this device is in the target"


@dataclass(frozen=True, kw_only=True)
class TargetRequest:
    """The target of a recipe file.

    Attributes:
        target: with at least one condition.
        recipes: by the attribute's name, identifier of the recipe whose result counts its values.
        smallest: least guaranteed number of devices in it; None for the default.
    """

    target: Target
    recipes: Mapping[str, str]
    smallest: int | None = None

    @classmethod
    def from_fields(cls, fields: Mapping[str, object]) -> Self:
        """Read the fields of a recipe file; `target` must be among them.

        Raises:
            FieldError: named `target`, `target.NAME…` or `smallest_target`.
        """
        smallest = fields.get(SMALLEST)
        values, cited = _conditions(fields[FIELD], ("recipe",))
        recipes = {name: require_hash(f"{FIELD}.{name}.recipe", of["recipe"]) for name, of in cited.items()}
        checked = None if smallest is None else SMALLEST_DESCRIPTION.check(SMALLEST, int, smallest)
        return cls(target=values, recipes=recipes, smallest=checked)

    def floor(self, parameters: PublicParameters) -> int:
        """The least guaranteed number of devices in it; FieldError if fewer are asked than must receive the
        recipe."""
        return smallest_target(self.smallest, *_sampled(parameters))

    def cited(self, results: Mapping[str, str], parameters: PublicParameters) -> "CitedTarget":
        """The target for the document.

        Args:
            results: by the attribute's name, hash of the signed result of each of `recipes`.
            parameters: of the recipe.
        """
        citations = {
            name: Citation(recipe=recipe, result=results[name]) for name, recipe in self.recipes.items()
        }
        return CitedTarget(target=self.target, citations=citations, smallest=self.floor(parameters))

    def as_dict(self) -> dict[str, Any]:
        """The fields of a recipe file, as plain JSON values."""
        conditions = {
            name: {"value": value, "recipe": self.recipes[name]} for name, value in self.target.where.items()
        }
        return {FIELD: conditions} | ({} if self.smallest is None else {SMALLEST: self.smallest})


@dataclass(frozen=True, kw_only=True)
class CitedTarget:
    """The target of a document.

    Attributes:
        target: with at least one condition.
        citations: by the attribute's name, the result that shows how many devices have its values.
        smallest: the number of devices that are in it for certain, by these results.
    """

    target: Target
    citations: Mapping[str, Citation]
    smallest: int

    @classmethod
    def from_fields(cls, fields: Mapping[str, object]) -> Self:
        """Read the two fields of a document, strictly: each has one spelling. FieldError as for a file."""
        target, cited = _conditions(fields[FIELD], ("recipe", "result"))
        citations = {name: Citation.from_members(f"{FIELD}.{name}", of) for name, of in cited.items()}
        smallest: int = SMALLEST_DESCRIPTION.check(SMALLEST, int, fields.get(SMALLEST))
        return cls(target=target, citations=citations, smallest=smallest)

    def as_dict(self) -> dict[str, Any]:
        """The fields of a document, as plain JSON values."""
        conditions = {
            name: {"value": value, **self.citations[name].members()}
            for name, value in self.target.where.items()
        }
        return {FIELD: conditions, SMALLEST: self.smallest}


def target_of(request: TargetRequest | CitedTarget | None) -> Target:
    """Which devices a recipe asks, as a condition; all devices if it has no target."""
    return ALL_DEVICES if request is None else request.target


class TargetPart(Part[TargetRequest, CitedTarget]):
    """Conditions on attributes that devices know of themselves, and the least number of devices that meet
    them."""

    name = FIELD
    fields = (
        PartField(
            name=FIELD,
            label="Only devices with",
            help=f"A part of the population, by at most {MOST_CONDITIONS} attributes together. Offered is "
            "what a released result counts. It needs tokens, a relay and a sampling rate below 1. Leave "
            "empty to ask all devices.",
            meaning="Which devices of the population it asks, with the results that show how many they are.",
        ),
        PartField(
            name=SMALLEST,
            label=SMALLEST_DESCRIPTION.label,
            help=SMALLEST_DESCRIPTION.help,
            meaning="The fewest devices that are surely in the target.",
            number=(1, MOST_DEVICES),
        ),
    )
    made_when_published = True
    has_section = True

    def fields_of(self, subject: Subject) -> tuple[str, ...]:
        sampled = "sampling_rate" in subject.statistic.parameters_class.names()
        return self.field_names if sampled else ()

    def read_file(self, fields: Mapping[str, object]) -> TargetRequest:
        _require_target(fields)
        return TargetRequest.from_fields(fields)

    def file_fields(self, value: TargetRequest) -> dict[str, Any]:
        return value.as_dict()

    def read_document(self, fields: Mapping[str, object]) -> CitedTarget:
        _require_target(fields)
        return CitedTarget.from_fields(fields)

    def document_fields(self, value: CitedTarget) -> dict[str, Any]:
        return value.as_dict()

    def published(self, value: TargetRequest | None, made: CitedTarget | None) -> CitedTarget | None:
        if target_of(made) != target_of(value):
            raise ValueError("the target must be the draft's")
        return super().published(value, made)

    def check(self, recipe: PartialRecipe) -> None:
        target: TargetRequest | CitedTarget | None = recipe.parts.get(FIELD)
        if target is None:
            return
        if ADMISSION not in recipe.parts:
            raise FieldError(ADMISSION, f"must be token in a recipe with a target: {REASON}")
        if RELAY not in recipe.parts:
            raise FieldError(RELAY, f"must be there in a recipe with a target: {REASON}")
        if recipe.parameters.sampling_rate >= 1:
            raise FieldError(
                "sampling_rate",
                "must be below 1 in a recipe with a target: otherwise a device that sends nothing is "
                "certainly outside the target",
            )
        if "hidden_count" in recipe.parts:
            raise FieldError(
                FIELD, "must be left out if the number of reports is hidden: dummies would be few"
            )
        if "segments" in recipe.parts:
            raise FieldError(
                FIELD, "must be left out if the recipe asks by segment: both would leave few devices"
            )
        smallest_target(target.smallest, *_sampled(recipe.parameters))

    def without_names(self, value: TargetRequest) -> None:
        """A guarantee holds for each device, in the target or not."""


PART = TargetPart()


def _require_target(fields: Mapping[str, object]) -> None:
    if FIELD not in fields:
        raise FieldError(SMALLEST, "must be left out: the recipe has no target")


def _sampled(parameters: PublicParameters) -> tuple[int, float]:
    """Cohort size and sampling rate, which every statistic that samples its devices has."""
    members = parameters.as_dict()
    return int(members["cohort_size"]), float(members["sampling_rate"])


def _conditions(value: object, cites: tuple[str, ...]) -> tuple[Target, dict[str, Mapping[str, object]]]:
    """The target, and by the attribute's name the values next to its value."""
    names = ("value", *cites)
    if not isinstance(value, Mapping):
        raise FieldError(FIELD, f"must be an object of attributes, not {as_typed(value)}")
    for name, of in value.items():
        if not isinstance(of, Mapping) or set(of) != set(names):
            listed = f"{', '.join(names[:-1])} and {names[-1]}"
            raise FieldError(f"{FIELD}.{name}", f"must have the fields {listed}, not {as_typed(of)}")
    target = Target.from_members({name: of["value"] for name, of in value.items()})
    return target, {name: {cite: value[name][cite] for cite in cites} for name in target.where}
