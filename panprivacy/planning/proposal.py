"""A collection under consideration: a statistic, its parameters, and how many devices receive it."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any, Self, cast

from panprivacy.accounting.trust import Trust
from panprivacy.encryption import DEFAULT_SCHEME, require_fresh, require_scheme
from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import CohortParameters, Description, description_of, kind_of
from panprivacy.planning.recipe_plan import POPULATION_SIZE
from panprivacy.statistics.catalogue import STATISTICS, statistic_class, statistic_of
from panprivacy.statistics.events.cohort import CohortStatistic
from panprivacy.statistics.segments import FIELD, segments_field, segments_of
from panprivacy.statistics.trust_models import (
    TRUST_MODELS,
    Servers,
    statistic_under_trust,
    trust_of,
    trusts_of,
)

_MEMBERS = (
    "statistic",
    "parameters",
    "population_size",
    "encryption",
    "trust",
    FIELD,
)


def planned_names() -> list[str]:
    """Registered names of the statistics that can be planned."""
    return [name for name in STATISTICS if not STATISTICS[name].planning_obstacle]


def planned_class(statistic: object) -> type[CohortStatistic[Any]]:
    """The class behind a statistic's name.

    Raises:
        FieldError: it is not registered, or cannot be planned; the message has the reason.
    """
    known = statistic_class(statistic)
    if known.planning_obstacle:
        raise FieldError(
            "statistic",
            f"cannot be {known.statistic}: {known.planning_obstacle}. The form of a new recipe shows what to "
            "expect",
        )
    # Only statistics of cohorts leave something to plan.
    return cast(type[CohortStatistic[Any]], known)


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """Everything that a plan depends on.

    Attributes:
        statistic: registered name.
        parameters: of that statistic, derived ones not yet computed.
        population_size: number of devices that receive it.
        encryption: registered name of the scheme.
        segments: labels of the segments; empty if there are none.
        trust: the trust model; None for the statistic's default.
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
            FieldError: names the first field that is unknown, missing or out of range; one of the
                parameters as `parameters.epsilon`.
        """
        for name in members:
            if name not in _MEMBERS:
                raise FieldError(name, _unknown(name, members.get("statistic")))
        for name in ("statistic", "parameters", "population_size"):
            if name not in members:
                raise FieldError(name, "is missing")
        statistic = planned_class(members["statistic"])
        values = members["parameters"]
        if not isinstance(values, Mapping):
            raise FieldError("parameters", "must be an object")
        try:
            parameters = _parameters_of(statistic, values)
        except FieldError as error:
            raise error.within("parameters") from None
        encryption = require_scheme(members.get("encryption", DEFAULT_SCHEME))
        if statistic.fresh_ciphertexts:
            require_fresh(encryption)
        return cls(
            statistic=statistic.statistic,
            parameters=parameters,
            population_size=POPULATION_SIZE.check("population_size", int, members["population_size"]),
            encryption=encryption,
            segments=segments_of(members.get(FIELD), statistic),
            trust=trust_of(members.get("trust", trusts_of(statistic)[0].value), statistic),
        )

    def as_dict(self) -> dict[str, Any]:
        """The fields that `from_mapping` reads."""
        return {
            "statistic": self.statistic,
            "parameters": self.parameters.as_dict(),
            "population_size": self.population_size,
            "encryption": self.encryption,
            "trust": self.servers.trust.value,
            **segments_field(self.segments),
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


def _parameters_of(statistic: type[CohortStatistic[Any]], values: Mapping[str, object]) -> CohortParameters:
    for name in statistic.parameters_class.derived_names():
        if name in values:
            raise FieldError(name, "is computed; leave it out")
    if values.get("aggregator_epsilon") is not None:
        # As a parameter it would refuse what misses it, instead of finding what meets it.
        raise FieldError("aggregator_epsilon", "belongs in targets, not in parameters")
    found: CohortParameters = statistic.parameters_class.from_mapping(values)
    return found


def _unknown(name: str, statistic: object) -> str:
    known = planned_class(statistic) if isinstance(statistic, str) and statistic in planned_names() else None
    if known is not None and name in known.parameters_class.names():
        return "belongs in parameters"
    return "is not a field of a plan"


@lru_cache(maxsize=4096)  # a search and a curve ask for the same few again and again
def calibrated_mechanism(
    statistic: str, parameters: CohortParameters, trust: Trust, segments: tuple[str, ...] = ()
) -> CohortStatistic[Any]:
    """The mechanism of a statistic with its derived parameters computed; FieldError if that fails."""
    # `planned_class` lets no others pass.
    found = cast(CohortStatistic[Any], statistic_of(statistic, parameters.calibrated(), segments))
    return statistic_under_trust(found, trust)
