"""What ε and δ mean for an adversary who guesses."""

import math
from collections.abc import Iterable

from panprivacy.accounting.guarantees import Guarantee, Model
from web.numbers import number, significant

HIDES_NOTHING = math.log(999)
"""From this ε on a guess becomes 99.9% sure: for practical purposes nothing is hidden."""

NOTHING_HIDDEN = "For practical purposes, this hides nothing."
"""The text that follows the sentence with the numbers in this case."""


def hardly_scrambled(guarantees: Iterable[Guarantee]) -> bool:
    """Whether a single report reveals the device's answer, judged by its local guarantees."""
    return any(
        guarantee.epsilon is None or guarantee.epsilon >= HIDES_NOTHING
        for guarantee in guarantees
        if guarantee.model == Model.LOCAL
    )


def epsilon_text(epsilon: float) -> str:
    """ε to three significant digits, without trailing zeros."""
    return "0" if epsilon == 0 else number(float(f"{epsilon:.3g}"))


def delta_text(delta: float) -> str:
    """δ likewise: 1e-6."""
    return number(float(f"{delta:.3g}"))


def certain_share(epsilon: float) -> float:
    """How sure an observer can become who held both answers for equally likely: e^ε / (1 + e^ε)."""
    return 1 / (1 + math.exp(-epsilon))


def certainty(epsilon: float) -> str:
    """`certain_share` in words, with enough digits that it differs from 50% and from 100%."""
    if epsilon >= HIDES_NOTHING:
        return "more than 99.9% sure"
    share = certain_share(epsilon)
    percent = significant(100 * share, 3) if share >= 0.99 else number(50 + _two_digits(100 * share - 50))
    return f"at most {percent}% sure"


def gain_sentence(observer: str, epsilon: float, of_what: str, further: str = "") -> str:
    """How sure an adversary gets, compared with their prior, as a sentence; and a second one if nothing is
    hidden: "Someone gets from 50% sure (a coin toss) to at most 73% sure of a guess."

    Args:
        observer: the subject, with any sentences before and the comma after it.
        of_what: what they guess, as it follows "sure".
        further: what ends the sentence: `allowance`, or something in brackets.
    """
    said = f"{observer} gets from 50% sure (a coin toss) to {certainty(epsilon)} {of_what}{further}."
    return f"{said} {NOTHING_HIDDEN}" if epsilon >= HIDES_NOTHING else said


def allowance(delta: float | None) -> str:
    """δ as a clause; empty if it is zero."""
    return f", apart from a failure probability (δ) of {delta_text(delta)}" if delta else ""


def _two_digits(value: float) -> float:
    return float(f"{value:.2g}")
