"""Which devices of its population a recipe asks: its fields in files and documents (SAA, 5.5).

Both fields are absent if it asks all devices. A file names, for each attribute, the value that a device must
have and the recipe whose result shows how many devices have it. Publishing adds the result's hash.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import Description, PublicParameters, as_typed
from panprivacy.planning.limits import TIMES_COHORT
from panprivacy.recipe.parts.admission import ADMISSION, RELAY
from panprivacy.recipe.parts.round import require_hash
from panprivacy.recipe.targeting.citation import Citation
from panprivacy.recipe.targeting.sizes import smallest_target
from panprivacy.recipe.targeting.target import EVERYBODY, FIELD, Target

SMALLEST = "smallest_target"
FIELDS = (FIELD, SMALLEST)
"""Fields of recipe files and documents that may be absent."""

SMALLEST_DESCRIPTION = Description(
    label="Smallest target",
    help=f"Fewest devices that must surely be in the target. By default {TIMES_COHORT} times the cohort "
    "size, or the cohort size by the sampling rate if that is more.",
    minimum=1,
    maximum=10_000_000_000,
)

REASON = "without it, someone who sees a report arrive learns that this device is in the target"


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
    def from_members(cls, members: Mapping[str, object]) -> Self | None:
        """Read the two fields of a recipe file; null is absent. None if it asks all devices.

        Raises:
            FieldError: named `target`, `target.NAME…` or `smallest_target`.
        """
        smallest = members.get(SMALLEST)
        if members.get(FIELD) is None:
            if smallest is not None:
                raise FieldError(SMALLEST, "must be left out: the recipe has no target")
            return None
        values, cited = _conditions(members[FIELD], ("recipe",))
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

    def members(self) -> dict[str, Any]:
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
    def from_members(cls, members: Mapping[str, object], parameters: PublicParameters) -> Self | None:
        """Read the two fields of a document, strictly: each has one spelling. FieldError as for a file."""
        if FIELD not in members:
            if SMALLEST in members:
                raise FieldError(SMALLEST, "must be left out: the recipe has no target")
            return None
        target, cited = _conditions(members[FIELD], ("recipe", "result"))
        citations = {name: Citation.from_members(f"{FIELD}.{name}", of) for name, of in cited.items()}
        smallest: int = SMALLEST_DESCRIPTION.check(SMALLEST, int, members.get(SMALLEST))
        smallest_target(smallest, *_sampled(parameters))
        return cls(target=target, citations=citations, smallest=smallest)

    def members(self) -> dict[str, Any]:
        """The fields of a document, as plain JSON values."""
        conditions = {
            name: {"value": value, **self.citations[name].members()}
            for name, value in self.target.where.items()
        }
        return {FIELD: conditions, SMALLEST: self.smallest}


def target_of(asked: TargetRequest | CitedTarget | None) -> Target:
    """Which devices a recipe asks, as a condition; all devices if it has no target."""
    return EVERYBODY if asked is None else asked.target


def require_protected(
    *, token: bool, relay: bool, sampling_rate: float, hidden_count: bool, segments: bool
) -> None:
    """FieldError if a recipe with a target lacks what hides which devices are in it."""
    if not token:
        raise FieldError(ADMISSION, f"must be token in a recipe with a target: {REASON}")
    if not relay:
        raise FieldError(RELAY, f"must be there in a recipe with a target: {REASON}")
    if sampling_rate >= 1:
        raise FieldError(
            "sampling_rate",
            "must be below 1 in a recipe with a target: else who sends nothing is surely not in it",
        )
    if hidden_count:
        raise FieldError(FIELD, "must be left out if the number of reports is hidden: dummies would be few")
    if segments:
        raise FieldError(
            FIELD, "must be left out if the recipe asks by segment: both would leave few devices"
        )


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
