"""The public parameters that every randomizer has."""

from dataclasses import dataclass

from panprivacy.formats.parameters import EPSILON, CohortParameters, described


@dataclass(frozen=True, kw_only=True)
class RandomizerParameters(CohortParameters):
    """The parameters of every cohort; a randomizer whose ε is not that of one report describes it again."""

    epsilon: float = described(
        **{
            **EPSILON,
            "help": "A smaller ε protects a device more and makes the result less precise. It is that of one "
            "place of the report; replacing a value changes two, so the guarantee has 2ε.",
        }
    )
