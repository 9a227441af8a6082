"""A budget: what all recipes of one population may cost together."""

import dataclasses
from dataclasses import dataclass
from enum import StrEnum

from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import Description, Parameters, as_typed, description_of


def _bounded_like(name: str, label: str, text: str) -> Description:
    """A description with the bounds that a recipe's own parameter of this name has."""
    own = next(description_of(field) for field in dataclasses.fields(Parameters) if field.name == name)
    return dataclasses.replace(own, label=label, help=text)


EPSILON = _bounded_like(
    "epsilon",
    "Privacy loss (ε)",
    "Upper limit for what someone who reads every result may learn about one device, all recipes together.",
)
DELTA = _bounded_like(
    "delta", "Failure probability (δ)", "Probability with which that may fail, all recipes together."
)


class Rule(StrEnum):
    """What may still be published."""

    FILTER = "filter"
    """Whatever fits a privacy filter: the budget holds even if recipes are chosen by earlier results."""

    COMPOSED = "composed"
    """Whatever composes to at most the budget: it holds if no parameter was chosen by results of previous
    recipes.
    """


@dataclass(frozen=True, kw_only=True)
class Budget:
    """(ε, δ) against readers of only combined results, and for a stream also its state at every announced
    intrusion, under replacement of a device's or an item's whole history.

    Raises:
        FieldError: naming `epsilon` or `delta`, if it is out of the range that recipes have as well; or an
            unknown `rule`.
    """

    epsilon: float
    delta: float
    rule: Rule = Rule.FILTER

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", EPSILON.check("epsilon", float, self.epsilon))
        object.__setattr__(self, "delta", DELTA.check("delta", float, self.delta))
        if self.rule not in list(Rule):
            raise FieldError("rule", f"must be {' or '.join(Rule)}, not {as_typed(self.rule)}")
        object.__setattr__(self, "rule", Rule(self.rule))
