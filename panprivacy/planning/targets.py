"""The targets of a result, and whether a proposal meets them."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import ClassVar

from panprivacy.accounting.interface import SMALLEST_DELTA
from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import CohortParameters, Description, description_of
from panprivacy.planning.expectation import shown_margin
from panprivacy.planning.inversion import delta_bound
from panprivacy.planning.likelihood import REACHED
from panprivacy.planning.proposal import Proposal
from panprivacy.planning.recipe_plan import MARGIN

(_RECIPES_TARGET,) = (
    description_of(field) for field in fields(CohortParameters) if field.name == "aggregator_epsilon"
)
AGGREGATOR_EPSILON = replace(
    _RECIPES_TARGET,
    label="Wanted privacy loss of the result (ε)",
    help="Upper limit for the ε of the published result. The ε is the proved one, under replacement, at δ "
    "and the cohort size.",
)
AGGREGATOR_DELTA = Description(
    label="Failure probability of the wanted ε (δ)",
    help="Probability with which that may fail.",
    minimum=SMALLEST_DELTA,
    maximum=0.1,
)

_DESCRIPTIONS = {
    "margin": MARGIN,
    "aggregator_epsilon": AGGREGATOR_EPSILON,
    "aggregator_delta": AGGREGATOR_DELTA,
}


class Requirement(ABC):
    """A condition on proposals. As one parameter grows, it changes at most once between met and unmet."""

    name: ClassVar[str]

    falls_with: ClassVar[frozenset[str]] = frozenset()
    """Parameters whose growth can only break it. The growth of any other can only help."""

    slowness: ClassVar[int] = 0
    """Requirements with more of it are checked later."""

    @abstractmethod
    def met(self, proposal: Proposal) -> bool:
        """Whether the proposal meets it, computed by the mechanism itself.

        Raises:
            FieldError: the proposal's mechanism cannot be computed.
        """


@dataclass(frozen=True)
class MechanismRequirement(Requirement):
    """The requirement that the mechanism exists."""

    name: ClassVar[str] = "mechanism"

    def met(self, proposal: Proposal) -> bool:
        proposal.mechanism()
        return True


@dataclass(frozen=True)
class PrecisionRequirement(Requirement):
    """The 95% margin is at most `margin` (percentage points if devices are counted, otherwise units)."""

    name: ClassVar[str] = "margin"
    slowness: ClassVar[int] = 1
    margin: float

    def met(self, proposal: Proposal) -> bool:
        return shown_margin(proposal.mechanism(), proposal.population_size) <= self.margin


@dataclass(frozen=True)
class AggregatorRequirement(Requirement):
    """The sum over a cohort is (ε, δ)-private under replacement, by proof."""

    name: ClassVar[str] = "aggregator"
    falls_with: ClassVar[frozenset[str]] = frozenset({"epsilon"})
    slowness: ClassVar[int] = 2
    epsilon: float
    delta: float

    def met(self, proposal: Proposal) -> bool:
        return delta_bound(proposal.mechanism().aggregator_event(), self.epsilon) <= self.delta


@dataclass(frozen=True)
class CohortRequirement(Requirement):
    """There is a result with a probability of at least `REACHED`."""

    name: ClassVar[str] = "cohort"
    falls_with: ClassVar[frozenset[str]] = frozenset({"cohort_size"})

    def met(self, proposal: Proposal) -> bool:
        parameters = proposal.parameters
        reached = proposal.servers.release_probability(
            parameters.cohort_size, proposal.population_size, parameters.sampling_rate
        )
        return reached >= REACHED


@dataclass(frozen=True, kw_only=True)
class Targets:
    """The targets; None if there is none.

    Attributes:
        margin: 95% margin, in percentage points of the population or in the statistic's unit.
        aggregator_epsilon, aggregator_delta: of the proved aggregator guarantee under replacement;
            both or neither.
    """

    margin: float | None = None
    aggregator_epsilon: float | None = None
    aggregator_delta: float | None = None

    def __post_init__(self) -> None:
        """FieldError naming a value that is out of range, or missing."""
        for name, description in _DESCRIPTIONS.items():
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, description.check(name, float, value))
        if (self.aggregator_epsilon is None) != (self.aggregator_delta is None):
            missing = "aggregator_epsilon" if self.aggregator_epsilon is None else "aggregator_delta"
            raise FieldError(missing, "is missing: an aggregator target has an ε and a δ")
        if self.margin is None and self.aggregator_epsilon is None:
            raise FieldError("targets", "must hold a margin, or an aggregator's ε and δ, or both")

    @classmethod
    def from_mapping(cls, members: object) -> "Targets":
        """Read `margin`, `aggregator_epsilon` and `aggregator_delta`; FieldError names what is wrong."""
        if not isinstance(members, Mapping):
            raise FieldError("targets", "must be an object")
        for name in members:
            if name not in _DESCRIPTIONS:
                raise FieldError(str(name), "is not a target")
        return cls(**members)

    def as_dict(self) -> dict[str, float]:
        """The fields that `from_mapping` reads."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    def requirements(self) -> tuple[Requirement, ...]:
        """One requirement per target, and one that the cohort is reached: the privacy of devices first."""
        wanted: list[Requirement] = [MechanismRequirement()]
        if self.aggregator_epsilon is not None and self.aggregator_delta is not None:
            wanted.append(AggregatorRequirement(self.aggregator_epsilon, self.aggregator_delta))
        wanted.append(CohortRequirement())
        if self.margin is not None:
            wanted.append(PrecisionRequirement(self.margin))
        return tuple(wanted)
