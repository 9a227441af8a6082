"""Public parameters: frozen, bounded, and described at their declaration.

Forms, serializers, command-line errors and API documentation are made from these
descriptions, so each bound and unit is defined once.
"""

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from panprivacy.formats.display import as_typed as as_typed
from panprivacy.formats.display import plain
from panprivacy.formats.errors import FieldError
from panprivacy.formats.structures import Structure


@dataclass(frozen=True, kw_only=True)
class Description:
    """What a person needs to know to fill in one parameter.

    Attributes:
        label: the field's standard name.
        help: one sentence: what it means, with its unit.
        minimum, maximum: the allowed range; None is unbounded.
        usual_minimum: the least usual value; sliders begin there, boxes take all values.
        choices: the allowed values, for a choice.
        structure: of a parameter that is a list or a table; None for a number or a choice.
        derived: computed by `Parameters.calibrated`, never typed in.
        implied: follows from other parameters; it may be given if it agrees with them.
        settled: chosen by the statistic if it is left out; every published recipe has it.
        suggested: the first value in a form if a parameter has no default; None leaves it to the form.
    """

    label: str
    help: str
    minimum: float | None = None
    maximum: float | None = None
    usual_minimum: float | None = None
    choices: tuple[str, ...] = ()
    structure: Structure | None = None
    derived: bool = False
    implied: bool = False
    settled: bool = False
    suggested: float | None = None

    def allowed(self, kind: type) -> str:
        """The allowed values as a clause, e.g. "a number above 0 and at most 1"."""
        if self.structure is not None:
            return self.structure.allowed
        if self.choices:
            return "one of " + ", ".join(self.choices)
        noun = "a whole number" if kind is int else "a number"
        low = ""
        if self.minimum is not None:
            low = f" of at least {_plain(self.minimum)}"
        high = "" if self.maximum is None else f"{' and' if low else ' of'} at most {_plain(self.maximum)}"
        return noun + low + high

    def check(self, field: str, kind: type, value: object) -> Any:
        """`value` as `kind`, or FieldError naming `field` and the allowed range."""
        if self.structure is not None:
            return self.structure.read(field, value)
        try:
            if self._admits(kind, value):
                return kind(value)
        except OverflowError:
            pass  # an integer too large for a float, without an upper bound
        # Written only here: a plan checks a thousand values, and nearly all can be.
        raise FieldError(field, f"must be {self.allowed(kind)}, not {as_typed(value)}")

    def written(self, value: Any) -> Any:
        """A checked value as JSON."""
        return value if self.structure is None else self.structure.written(value)

    def _admits(self, kind: type, value: object) -> bool:
        if kind is str:
            return isinstance(value, str) and value in self.choices
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        if isinstance(value, float) and (not math.isfinite(value) or (kind is int and value != int(value))):
            return False
        return (self.minimum is None or value >= self.minimum) and (
            self.maximum is None or value <= self.maximum
        )


def _plain(bound: float) -> str:
    return f"{bound:,.0f}" if bound == int(bound) else plain(bound)


def described(**members: Any) -> Any:
    """A dataclass field that carries its `Description`."""
    default = members.pop("default", dataclasses.MISSING)
    return dataclasses.field(default=default, metadata={"description": Description(**members)})


K: Mapping[str, Any] = {"label": "Number of possible values (k)", "minimum": 1, "maximum": 1_000}
"""Label and bounds of the largest count that has its own value; each statistic defines how it treats larger
ones."""


EPSILON: Mapping[str, Any] = {
    "label": "Privacy loss (ε)",
    "help": "A smaller ε protects a device more and makes the result less precise.",
    "minimum": 1e-6,  # below it, estimates exceed floating-point precision
    "usual_minimum": 0.01,
    "maximum": 20,
}
DELTA: Mapping[str, Any] = {
    "label": "Failure probability (δ)",
    "help": "Probability with which a guarantee may fail.",
    "minimum": 1e-30,
    "maximum": 0.1,
}
COHORT_SIZE: Mapping[str, Any] = {
    "label": "Cohort size",
    "help": "With fewer accepted reports, nothing is released.",
    "minimum": 2,
    "maximum": 1_000_000_000,
}
"""Shared by all statistics; each may narrow them."""

TIMES_COHORT = 10
"""The default least size of a target, in cohort sizes of the recipe."""


@dataclass(frozen=True, kw_only=True)
class PublicParameters:
    """The public parameters of a statistic. Values outside their range raise FieldError."""

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if value is None and field.default is None:
                continue
            checked = description_of(field).check(field.name, kind_of(field), value)
            object.__setattr__(self, field.name, checked)

    @property
    def step_count(self) -> int:
        """Number of time steps that a device takes; 0 if it takes none."""
        return 0

    @property
    def event_names(self) -> tuple[str, ...]:
        """Names of the events in which a question is written, in their order; empty if it is about one that
        the recipe may name."""
        return ()

    @property
    def sampling_rate(self) -> float:
        """Probability with which a device takes part; 1 if all devices take part."""
        return 1.0

    @property
    def needs_relay(self) -> str:
        """Why devices may report with a token and through a relay only, as a clause; empty if they may report
        otherwise, too."""
        return ""

    def calibrated(self) -> Self:
        """The same parameters, with every derived parameter computed."""
        return self

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Names of all parameters, derived ones included."""
        return tuple(field.name for field in dataclasses.fields(cls))

    @classmethod
    def derived_names(cls) -> tuple[str, ...]:
        """Names of the parameters that `calibrated` computes."""
        return tuple(field.name for field in dataclasses.fields(cls) if description_of(field).derived)

    @classmethod
    def entered_names(cls) -> tuple[str, ...]:
        """Names of the parameters that people enter: those that follow from nothing else."""
        described_fields = ((field.name, description_of(field)) for field in dataclasses.fields(cls))
        return tuple(name for name, about in described_fields if not (about.derived or about.implied))

    @classmethod
    def required_names(cls) -> tuple[str, ...]:
        """Names of the parameters that have a value in every published recipe, in addition to derived
        ones."""
        described_fields = ((field, description_of(field)) for field in dataclasses.fields(cls))
        return tuple(
            field.name
            for field, about in described_fields
            if (field.default is not None or about.implied or about.settled) and not about.derived
        )

    def require_derived(self) -> None:
        """FieldError naming a derived parameter that is missing although the others determine its value."""
        missing = [name for name in self.derived_names() if getattr(self, name) is None]
        if not missing:
            return
        calibrated = self.calibrated()
        for name in missing:
            if getattr(calibrated, name) is not None:
                raise FieldError(name, "is missing")

    @classmethod
    def from_mapping(cls, members: Mapping[str, object]) -> Self:
        """Build from exactly these fields; FieldError names an unknown or missing one."""
        require_members(cls, members, "is not a parameter; allowed are")
        return cls(**members)  # __post_init__ checks every value

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON; parameters that are None are left out."""
        values = {field.name: (field, getattr(self, field.name)) for field in dataclasses.fields(self)}
        return {
            name: description_of(field).written(value)
            for name, (field, value) in values.items()
            if value is not None
        }

    def without_names(self) -> Self:
        """The same with neutral names, on which no number depends."""
        return self


@dataclass(frozen=True, kw_only=True)
class CohortParameters(PublicParameters):
    """The parameters of every statistic whose devices report once, and whose reports are added up by
    cohort."""

    epsilon: float = described(**EPSILON)
    delta: float = described(**DELTA)
    cohort_size: int = described(**COHORT_SIZE)
    sampling_rate: float = described(
        label="Sampling rate",
        help="Probability with which a device takes part.",
        minimum=1e-6,  # like for ε: 1/q² must stay a number
        usual_minimum=0.001,
        maximum=1,
        default=1.0,
    )
    aggregator_epsilon: float | None = described(
        label="Limit for the result's privacy loss (ε)",
        help="Upper limit for the ε of the published result. Recipes above it cannot be published. Leave "
        "empty for no limit. The ε is the proved one, under replacement, at δ and the cohort size.",
        minimum=1e-6,
        usual_minimum=0.01,
        maximum=20,
        default=None,
    )


@dataclass(frozen=True, kw_only=True)
class _Steps(PublicParameters):
    """A class of its own, so that steps stay first among the parameters."""

    steps: int = described(
        label="Steps",
        help="Number of time steps a device takes before it reports.",
        minimum=1,
        maximum=100_000,
    )

    @property
    def step_count(self) -> int:
        return self.steps


@dataclass(frozen=True, kw_only=True)
class Parameters(CohortParameters, _Steps):
    """The parameters of every statistic of local pan-privacy: devices take steps and report once."""


def require_members(cls: type[Any], members: Mapping[str, object], unknown: str) -> None:
    """FieldError for a name that is no field of the dataclass, or a missing one without a default.

    Args:
        unknown: the error's text for an unknown name; the known names follow it.
    """
    fields = {field.name: field for field in dataclasses.fields(cls)}
    for name in members:
        if name not in fields:
            raise FieldError(name, f"{unknown} {', '.join(fields)}")
    for name, field in fields.items():
        if name not in members and field.default is dataclasses.MISSING:
            raise FieldError(name, f"is missing; it must be {description_of(field).allowed(kind_of(field))}")


def description_of(field: "dataclasses.Field[Any]") -> Description:
    """The description that `described` attached to a dataclass field."""
    description = field.metadata["description"]
    if not isinstance(description, Description):
        raise TypeError(f"parameter {field.name} is not described")
    return description


def kind_of(field: "dataclasses.Field[Any]") -> type:
    """int, float or str: the plain type of a parameter's field, which may also be None."""
    return _KINDS.get(field.type, float)


_KINDS: Mapping[Any, type] = {int: int, int | None: int, str: str, str | None: str}
