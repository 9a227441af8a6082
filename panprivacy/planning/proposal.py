"""A collection under consideration: a statistic, its parameters, and how many devices hear of it."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any, Self, cast

from panprivacy import asked_segments
from panprivacy.catalogue import STATISTICS, statistic_class, statistic_of
from panprivacy.encryption import DEFAULT_SCHEME, require_scheme
from panprivacy.errors import FieldError
from panprivacy.mechanisms.cohort import CohortStatistic
from panprivacy.parameters import CohortParameters, Description, description_of, kind_of
from panprivacy.recipe_members import trust_of
from panprivacy.recipe_plan import POPULATION_SIZE
from panprivacy.trust import Trust
from panprivacy.trust_models import TRUST_MODELS, Servers, trusts_of

_MEMBERS = (
    "statistic",
    "parameters",
    "population_size",
    "encryption",
    "trust",
    asked_segments.FIELD,
)


def planned_names() -> list[str]:
    """Registered names of the statistics that can be planned."""
    return [name for name in STATISTICS if not STATISTICS[name].unplanned]


def planned_class(statistic: object) -> type[CohortStatistic[Any]]:
    """The class behind a statistic's name.

    Raises:
        FieldError: it is not registered, or cannot be planned; says why.
    """
    known = statistic_class(statistic)
    if known.unplanned:
        raise FieldError(
            "statistic",
            f"cannot be {known.statistic}: {known.unplanned}. The form of a new recipe shows what to expect",
        )
    # Only statistics of cohorts leave something to plan.
    return cast(type[CohortStatistic[Any]], known)


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """Everything that a plan depends on.

    Attributes:
        statistic: registered name.
        parameters: of that statistic, derived ones not yet computed.
        population_size: number of devices that hear of it.
        encryption: registered name of the scheme.
        segments: labels by which it asks; empty where by none.
        trust: who collects; None for the statistic's default.
    """

    statistic: str
    parameters: CohortParameters
    population_size: int
    encryption: str = DEFAULT_SCHEME
    segments: tuple[str, ...] = ()
    trust: Trust | None = None

    @classmethod
    def from_mapping(cls, members: Mapping[str, object]) -> Self:
        """Read `statistic`, `parameters` (as in a recipe file), `population_size`, and perhaps `encryption`,
        `segments` and `trust`.

        Raises:
            FieldError: names the first field that is unknown, missing or out of range.
        """
        for name in members:
            if name not in _MEMBERS:
                raise FieldError(name, "is not a field of a plan")
        for name in ("statistic", "parameters", "population_size"):
            if name not in members:
                raise FieldError(name, "is missing")
        statistic = planned_class(members["statistic"])
        given = members["parameters"]
        if not isinstance(given, Mapping):
            raise FieldError("parameters", "must be an object")
        for name in statistic.parameters_class.derived_names():
            if name in given:
                raise FieldError(name, "is computed; leave it out")
        if given.get("aggregator_epsilon") is not None:
            # As a parameter it would refuse what does not meet it, instead of telling what would.
            raise FieldError("aggregator_epsilon", "belongs to the targets of a plan, not to its parameters")
        return cls(
            statistic=statistic.statistic,
            parameters=statistic.parameters_class.from_mapping(given),
            population_size=POPULATION_SIZE.check("population_size", int, members["population_size"]),
            encryption=require_scheme(members.get("encryption", DEFAULT_SCHEME)),
            segments=asked_segments.segments_of(dict(members), statistic, null_is_absent=True),
            trust=trust_of(members.get("trust", trusts_of(statistic)[0].value), statistic),
        )

    def as_dict(self) -> dict[str, Any]:
        """The members that `from_mapping` reads."""
        return {
            "statistic": self.statistic,
            "parameters": self.parameters.as_dict(),
            "population_size": self.population_size,
            "encryption": self.encryption,
            "trust": self.servers.trust.value,
            **asked_segments.members(self.segments),
        }

    def value(self, name: str) -> float:
        """The value of a numeric parameter, or of `population_size`."""
        value: float = self.population_size if name == "population_size" else getattr(self.parameters, name)
        return value

    def having(self, name: str, value: float) -> "Proposal":
        """The same with another value of one parameter, or of `population_size`.

        Raises:
            FieldError: the value is out of range.
        """
        if name == "population_size":
            return replace(self, population_size=POPULATION_SIZE.check(name, int, value))
        changed: Any = {name: value}  # checked by the parameters themselves
        return replace(self, parameters=replace(self.parameters, **changed))

    def description(self, name: str) -> tuple[Description, type]:
        """Description and plain type of a parameter, or of `population_size`."""
        if name == "population_size":
            return POPULATION_SIZE, int
        (field,) = (field for field in fields(self.parameters) if field.name == name)
        return description_of(field), kind_of(field)

    @property
    def servers(self) -> type[Servers]:
        """The trust model that it is planned under."""
        return TRUST_MODELS[self.trust or trusts_of(planned_class(self.statistic))[0]]

    def mechanism(self) -> CohortStatistic[Any]:
        """The statistic with its derived parameters computed.

        Raises:
            FieldError: they cannot be computed, or reports could not be decrypted.
        """
        return calibrated_mechanism(self.statistic, self.parameters, self.servers.trust, self.segments)


@lru_cache(maxsize=4096)  # a search and a curve ask for the same few again and again
def calibrated_mechanism(
    statistic: str, parameters: CohortParameters, trust: Trust, segments: tuple[str, ...] = ()
) -> CohortStatistic[Any]:
    """The mechanism of a statistic with its derived parameters computed; FieldError where that fails."""
    # `planned_class` lets no others pass.
    found = cast(CohortStatistic[Any], statistic_of(statistic, parameters.calibrated(), segments))
    return TRUST_MODELS[trust].asked(found)
