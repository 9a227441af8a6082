"""The public parameters that every shuffle recipe has."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from panprivacy.formats.parameters import COHORT_SIZE, DELTA, EPSILON, PublicParameters, described

N: Mapping[str, Any] = {**COHORT_SIZE, "help": "Exactly this many users take part; their messages are mixed."}


@dataclass(frozen=True, kw_only=True)
class ShuffleParameters(PublicParameters):
    """A protocol for exactly n users, each with one value out of k."""

    epsilon: float = described(
        **{
            **EPSILON,
            "help": "A smaller ε protects a user more and makes the result less precise. It is stated for "
            "one place, which shows whether a user has one value. Replacing a value by another changes two "
            "places, so the guarantee has 2ε.",
        }
    )
    delta: float = described(
        **{
            **DELTA,
            "help": "Probability with which the protection of one place may fail; the guarantee's δ follows.",
        }
    )
    cohort_size: int = described(**N)
    k: int = described(
        label="Number of possible values (k)",
        help="A value is a whole number from 0 to k − 1.",
        minimum=2,
        maximum=100_000,
    )
