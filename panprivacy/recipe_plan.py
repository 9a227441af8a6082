"""What an analyst expects of a collection, written down in the recipe file before it is published.

It is kept beside the recipe, to be compared with the outcome. The signed document does not have it: no
device and no number depends on it.
"""

from dataclasses import dataclass
from typing import Any

from panprivacy.parameters import Description
from panprivacy.statistic import Statistic
from panprivacy.trust_models.interface import Servers

POPULATION_SIZE = Description(
    label="Population size",
    help="Number of devices that will hear of the recipe.",
    minimum=1,
    usual_minimum=100,
    maximum=10_000_000_000,
)
MARGIN = Description(
    label="Wanted margin",
    help="How far the 95% interval may reach from the estimate: in percentage points of the population where "
    "devices are counted, else in the statistic's unit. Of several values for all together.",
    minimum=1e-6,
    usual_minimum=0.01,
    maximum=1_000,
)

PLAN_FIELDS = ("population_size", "target_margin")
"""Members of recipe files of devices that report by themselves; no document has them."""

_DESCRIPTIONS: dict[str, tuple[Description, type]] = {
    "population_size": (POPULATION_SIZE, int),
    "target_margin": (MARGIN, float),
}


@dataclass(frozen=True, kw_only=True)
class RecipePlan:
    """The stated plan; None is what was not stated.

    Attributes:
        population_size: devices that will hear of the recipe.
        target_margin: how far the 95% interval may reach from the estimate: in percentage points of these
            devices where devices are counted, else in the statistic's unit.
    """

    population_size: int | None = None
    target_margin: float | None = None

    @classmethod
    def from_members(cls, members: dict[str, object]) -> "RecipePlan":
        """Take the members of `PLAN_FIELDS` out of a recipe file's; null is not stated.

        Raises:
            FieldError: names the one that is out of range.
        """
        given = {name: members.pop(name) for name in PLAN_FIELDS if name in members}
        checked: dict[str, Any] = {
            name: description.check(name, kind, given[name])
            for name, (description, kind) in _DESCRIPTIONS.items()
            if given.get(name) is not None
        }
        return cls(**checked)

    def members(self) -> dict[str, Any]:
        """Those that are stated."""
        stated = {"population_size": self.population_size, "target_margin": self.target_margin}
        return {name: value for name, value in stated.items() if value is not None}


REACHED = 0.95
"""Least probability with which there must be a result: without a full cohort nothing is released."""

_HARDLY = 0.0005
"""What is less likely is said not to happen."""

NOTHING_PLANNED = RecipePlan()


def plan_fields(statistic: type[Statistic[Any]]) -> tuple[str, ...]:
    """`PLAN_FIELDS` where the number of devices that hear of a recipe decides about its error; else none."""
    return () if statistic.unplanned else PLAN_FIELDS


def unlikely_sentence(statistic: Statistic[Any], servers: type[Servers], population_size: int) -> str:
    """What is said, wherever a recipe is drafted or published, if a result is less likely than `REACHED`;
    empty if it is not."""
    if statistic.unplanned:
        return ""
    size, rate = statistic.cohort_size, statistic.reporting_rate
    chance, surely = servers.release_probability(size, population_size, rate), ""
    if chance >= REACHED:
        return ""
    result = f"A result comes in only {100 * chance:.2g}% of cases"
    if chance < _HARDLY:
        result = "Nothing would be released"
    if (most := servers.surely_enough(size)) > size:
        surely = f", beyond which a result takes up to {most:,} valid reports"
    return (
        f"{result}: about {round(population_size * rate):,} devices would report, and the cohort size is "
        f"{size:,}{surely}."
    )
