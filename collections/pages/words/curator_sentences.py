"""What a guarantee of a curator's state means: for an intruder who reads it this many times, and
the result."""

from collections.abc import Mapping

from pages.words.certainty import allowance, gain_sentence
from panprivacy.accounting.guarantees import Guarantee, Relation

WONDERS: Mapping[Relation, str] = {
    Relation.USER: "that an item appeared, however often",
    Relation.RECORD: "that one entry of the stream was one item rather than another",
    Relation.REPLACE: "which of two histories an item has",
}
"""What an intruder cannot be sure of, by relation."""

_COUNTED = {1: "one", 2: "two", 3: "three"}


def copies(guarantee: Guarantee) -> str:
    """What the observer has, in the form: "one announced copy, one secret copy and the result"."""
    read = ((guarantee.announced_intrusions or 0, "announced"), (guarantee.intrusions or 0, "secret"))
    counted = [
        f"{_COUNTED.get(times, times)} {kind} {'copy' if times == 1 else 'copies'}"
        for times, kind in read
        if times
    ]
    return f"{', '.join(counted)} and the result" if counted else "the result"


def state_heading(guarantee: Guarantee) -> str:
    """The adversary against whom it protects, as a heading."""
    return f"Someone with {copies(guarantee)}"


def state_sentence(guarantee: Guarantee) -> str:
    """What they can and cannot do."""
    observer = state_heading(guarantee)
    if guarantee.epsilon is None:
        return f"{observer} learns something about one item; how much is not computed."
    guess = WONDERS[guarantee.relation]
    return gain_sentence(observer, guarantee.epsilon, guess, allowance(guarantee.delta))
