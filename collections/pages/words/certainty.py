"""What ε and δ mean for someone who guesses."""

import math

from web.numbers import number, significant

HIDES_NOTHING = math.log(999)
"""From this ε on a guess becomes 99.9% sure: for practical purposes nothing is hidden."""


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
    """`certain_share` as a clause, to so many digits that it differs from 50% and from 100%."""
    if epsilon >= HIDES_NOTHING:
        return "more than 99.9% sure: for practical purposes this hides nothing"
    share = certain_share(epsilon)
    percent = significant(100 * share, 3) if share >= 0.99 else number(50 + _two_digits(100 * share - 50))
    return f"at most {percent}% sure"


def gain(epsilon: float) -> str:
    """The same beside what it was before: "from 50% sure (a coin toss) to at most 73% sure"."""
    return f"from 50% sure (a coin toss) to {certainty(epsilon)}"


def allowance(delta: float | None) -> str:
    """δ as a clause; empty where it is zero."""
    return f", apart from a failure probability (δ) of {delta_text(delta)}" if delta else ""


def _two_digits(value: float) -> float:
    return float(f"{value:.2g}")
