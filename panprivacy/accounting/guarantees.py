"""A privacy guarantee as a value that says everything it assumes."""

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any


class Model(StrEnum):
    """Who is kept from learning: the observer against whom the guarantee is stated."""

    LOCAL = "local"
    """Whoever reads one device's decrypted report."""

    AGGREGATOR = "aggregator"
    """Whoever reads only the sum over a full cohort."""

    PAN = "pan"
    """Whoever reads a device's state, again and again, without the server's private key."""


class Relation(StrEnum):
    """Which two inputs must be hard to tell apart."""

    REPLACE = "replace"
    """One device's whole stream is replaced by any other stream."""

    ADD_REMOVE = "add_remove"
    """One device's report is replaced by the reference report: what is sent when every bit, or the
    number, is 0 before randomization (reference neighbours; also called removal).

    For a single bit or a number, that is a device without any event. For a one-hot vector it is
    no device's stream: even "no event" sets one bit, so two streams are two steps apart.
    """


@dataclass(frozen=True, kw_only=True)
class Guarantee:
    """(ε, δ)-indistinguishability under `relation` in `model`.

    `epsilon` and `delta` are None where the numbers have not been computed: unknown is
    shown as unknown, and `source` says why. `assumption` is what it relies on, as a clause
    that reads on after "This relies on".
    """

    model: Model
    relation: Relation
    epsilon: float | None
    delta: float | None
    source: str
    assumption: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON: model, relation, epsilon, delta, source, assumption."""
        return asdict(self)
