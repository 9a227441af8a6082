"""A privacy guarantee as a value that states all its assumptions."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from enum import StrEnum
from typing import Any

from panprivacy.accounting.trust import Trust
from panprivacy.formats.display import plain


class Model(StrEnum):
    """The adversary: the observer against whom the guarantee is stated."""

    LOCAL = "local"
    """Readers of one device's decrypted report: the server, or both of two servers together."""

    AGGREGATOR = "aggregator"
    """Readers of the sum over a full cohort alone, who may know which devices took part. Each of two servers
    by itself is such a reader: in addition to the sum it sees uniformly random shares."""

    SAMPLED = "sampled"
    """Readers of the sum over a full cohort and its size alone, who do not know which devices took part."""

    SHUFFLE = "shuffle"
    """Readers of all reports of a cohort in random order, who do not know which device sent which."""

    COUNT = "count"
    """Readers of the number of reports, who may know whether each other device takes part."""

    PAN = "pan"
    """Readers of stored state. Either of a device's state, any number of times, without any server's private
    key. Or of a curator's state, as often as the guarantee's `intrusions` allow, and of the released
    result."""


class Relation(StrEnum):
    """Which two inputs must be hard to distinguish."""

    REPLACE = "replace"
    """One device's whole stream is replaced by any other stream."""

    ADD_REMOVE = "add_remove"
    """One device's report is replaced by the reference report: what is sent when every bit, or the
    number, is 0 ahead of randomization (reference neighbours; also called removal).

    For a single bit or a number, that is a device without any event. For a one-hot vector it is
    no device's stream: even "no event" sets one bit, so two streams are two steps apart.
    """

    PARTICIPATION = "participation"
    """One report more or less: a device takes part, or it does not. What it would report plays no role."""

    USER = "user"
    """Any number of occurrences of one item are added to a stream, removed or moved: all that one user did
    (X-adjacent streams, PPS Definition 2.2)."""

    RECORD = "record"
    """One element of a stream is replaced by any other (RSP section 2.2)."""


NONE_HOLDS = "no ε holds for this δ"
"""The words in `Guarantee.source` if there is no ε. In words, because signed documents have no field for
it."""


@dataclass(frozen=True, kw_only=True)
class Guarantee:
    """(ε, δ)-indistinguishability under `relation` in `model`.

    Attributes:
        model: the adversary.
        relation: which two inputs are hard to distinguish.
        epsilon, delta: proved; None if no number has been computed or none holds (then `source` has the
            reason), or if encryption protects (model PAN).
        found_epsilon: the lower end of the bracket that ends with `epsilon`: ε of the worst case that was
            found. The smallest ε that holds is probably near it. None if `epsilon` is exact, or if nothing
            was searched.
        dishonest_fraction: the part of the cohort that may collude with the observer: give it all that they
            know, and send arbitrary reports. At least 0, below 1.
        trust: the trust model of the recipe; it decides what the observers of `model` are.
        intrusions: how often a curator's state may be read by surprise; None if that is not the question.
        announced_intrusions: how many more times it may be read, each time with a new randomization after it.
        source: the theorem or the computation.
        assumption: what it relies on, as a clause that continues "This relies on".
    """

    model: Model
    relation: Relation
    epsilon: float | None
    delta: float | None
    source: str
    assumption: str = ""
    found_epsilon: float | None = None
    dishonest_fraction: float = 0.0
    trust: Trust = Trust.SINGLE_SERVER
    intrusions: int | None = None
    announced_intrusions: int = 0

    @property
    def none_holds(self) -> bool:
        """Whether there is provably no ε (`source` states it), as opposed to none computed."""
        return self.epsilon is None and NONE_HOLDS in self.source

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON, one per attribute."""
        return asdict(self)


RESULT_READERS = (Model.AGGREGATOR, Model.SAMPLED, Model.SHUFFLE, Model.PAN)
"""Models whose observers learn at least what readers of one result do. Readers may know which devices took
part: `SAMPLED` is for a recipe that has no number for them."""

WHOLE = (Relation.REPLACE, Relation.USER)
"""Relations that change all that one device, or one item of a curator's stream, contributes."""


def main_guarantee(
    stated: Iterable[Mapping[str, Any]], models: Sequence[Model] = RESULT_READERS
) -> Mapping[str, Any] | None:
    """The guarantee against readers of a released result that a budget is charged with: for all that one
    device or item contributes, if all devices are honest. Of a curator, with every intrusion announced.

    Args:
        stated: as `Guarantee.as_dict`.
        models: the first of them that is stated counts.

    Returns:
        One of `stated`, whose ε may be None; None if they have none like this.
    """
    whole = [
        one
        for one in stated
        if one["model"] in models
        and one["relation"] in WHOLE
        and not one["dishonest_fraction"]
        # Else of a device's state, which is not the result.
        and (one["model"] != Model.PAN or one["intrusions"] is not None)
    ]
    return min(
        whole, key=lambda one: (models.index(one["model"]), -one["announced_intrusions"]), default=None
    )


def bracket(lower: float, upper: float) -> str:
    """Between which two numbers the smallest ε lies, by proof: rounded outwards, to four digits."""
    ends = [
        Context(prec=4, rounding=rounding).create_decimal_from_float(end)
        for end, rounding in ((lower, ROUND_FLOOR), (upper, ROUND_CEILING))
    ]
    return f"proved bracket [{', '.join(plain(float(end)) for end in ends)}]"
