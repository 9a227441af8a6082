"""What an analyst expects of a collection, written down in the unpublished recipe file.

It is stored with the recipe, for comparison with the outcome. The signed document does not contain it: no
device and no number depends on it.
"""

import math
from dataclasses import dataclass
from typing import Any

from panprivacy.formats.parameters import CohortParameters, Description
from panprivacy.statistics.interface import Statistic

POPULATION_SIZE = Description(
    label="Population size",
    help="Number of devices that will hear of the recipe.",
    minimum=1,
    usual_minimum=100,
    maximum=10_000_000_000,
)
MARGIN = Description(
    label="Wanted margin",
    help="How far the 95% interval may reach from the estimate: in percentage points of the population if "
    "devices are counted, else in the statistic's unit. Of several values for all together.",
    minimum=1e-6,
    usual_minimum=0.01,
    maximum=1_000,
)

PLAN_FIELDS = ("population_size", "target_margin")
"""Fields of recipe files of devices that report by themselves; no document has them."""

_DESCRIPTIONS: dict[str, tuple[Description, type]] = {
    "population_size": (POPULATION_SIZE, int),
    "target_margin": (MARGIN, float),
}


@dataclass(frozen=True, kw_only=True)
class RecipePlan:
    """The stated plan; None for what was not stated.

    Attributes:
        population_size: devices that will receive the recipe.
        target_margin: how far the 95% interval may reach from the estimate: in percentage points of these
            devices if devices are counted, otherwise in the statistic's unit.
    """

    population_size: int | None = None
    target_margin: float | None = None

    @classmethod
    def from_members(cls, members: dict[str, object]) -> "RecipePlan":
        """Take the fields `PLAN_FIELDS` out of a recipe file; null means not stated.

        Raises:
            FieldError: names the value that is out of range.
        """
        fields = {name: members.pop(name) for name in PLAN_FIELDS if name in members}
        checked: dict[str, Any] = {
            name: description.check(name, kind, fields[name])
            for name, (description, kind) in _DESCRIPTIONS.items()
            if fields.get(name) is not None
        }
        return cls(**checked)

    def devices(self, parameters: CohortParameters) -> int:
        """As many devices as are stated; otherwise those of a cohort that is just full."""
        return self.population_size or math.ceil(parameters.cohort_size / parameters.sampling_rate)

    def members(self) -> dict[str, Any]:
        """Those that are stated."""
        stated = {"population_size": self.population_size, "target_margin": self.target_margin}
        return {name: value for name, value in stated.items() if value is not None}


NO_PLAN = RecipePlan()


def plan_fields(statistic: type[Statistic[Any]]) -> tuple[str, ...]:
    """`PLAN_FIELDS` if the number of devices that receive a recipe affects its error; otherwise none."""
    return () if statistic.planning_obstacle else PLAN_FIELDS
