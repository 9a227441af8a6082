"""What a guarantee of a curator's state means: for whoever reads it so often, and the result."""

from collections.abc import Mapping

from pages.words.certainty import allowance, certainty
from panprivacy.accounting.guarantees import Guarantee, Relation

_GUESSES: Mapping[Relation, str] = {
    Relation.USER: "thought it as likely that an item came, however often, as that it never came",
    Relation.RECORD: "thought it as likely that one entry of the stream was one item as that it was another",
    Relation.REPLACE: "thought two histories of an item equally likely",
}
"""What somebody wonders about who is kept from learning, by relation."""


WONDERS: Mapping[Relation, str] = {
    Relation.USER: "Whether an item came",
    Relation.RECORD: "Whether one entry of the stream was one item or another",
    Relation.REPLACE: "Which of two histories an item has",
}
"""The same as a question."""


def times(number: int) -> str:
    """1 → "once", 3 → "3 times"."""
    return {1: "once", 2: "twice"}.get(number, f"{number} times")


def looks(guarantee: Guarantee) -> str:
    """How often the state is read, in this order: "up to twice announced, after that once by surprise"."""
    unannounced = f"{times(guarantee.intrusions or 0)} by surprise"
    if not guarantee.announced_intrusions:
        return unannounced
    return f"up to {times(guarantee.announced_intrusions)} announced, after that {unannounced}"


def state_heading(guarantee: Guarantee) -> str:
    """Who is kept from learning, as a heading."""
    return f"Someone who reads what is kept here ({looks(guarantee)}), and the result"


def state_sentence(guarantee: Guarantee) -> str:
    """What they can and cannot do."""
    observer = f"Whoever reads what is kept here {looks(guarantee)}, and the result"
    if guarantee.epsilon is None:
        return f"{observer}, learns something about one item; how much is not computed."
    return (
        f"{observer}, and {_GUESSES[guarantee.relation]}, can become {certainty(guarantee.epsilon)}"
        f"{allowance(guarantee.delta)}."
    )
