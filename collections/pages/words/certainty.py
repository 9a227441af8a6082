"""What ε and δ mean for somebody who guesses: certainty, odds and allowances in words."""

import math

from web.numbers import number, significant

HIDES_NOTHING = math.log(999)
"""From this ε on a guess becomes 99.9 % sure: for practical purposes nothing is hidden."""


def epsilon_text(epsilon: float) -> str:
    """ε to three significant digits, without trailing zeros."""
    return "0" if epsilon == 0 else number(float(f"{epsilon:.3g}"))


def certain_share(epsilon: float) -> float:
    """How sure an observer can become who held both answers for equally likely: e^ε / (1 + e^ε)."""
    return 1 / (1 + math.exp(-epsilon))


def certainty(epsilon: float) -> str:
    """`certain_share` as a clause."""
    if epsilon >= HIDES_NOTHING:
        return "more than 99.9 % sure: for practical purposes this hides nothing"
    share = certain_share(epsilon)
    return f"at most {significant(100 * share, 3 if share >= 0.99 else 2)} % sure"


def odds_factor(epsilon: float) -> str:
    """×e^ε, the largest factor by which the odds can shift."""
    factor = math.exp(epsilon)
    if factor > 1_000:
        return "more than ×1,000: for practical purposes this hides nothing"
    return f"at most ×{significant(factor, 3 if factor < 10 else 2)}"


def allowance(delta: float | None) -> str:
    """δ as a clause; empty where it is zero."""
    if not delta:
        return ""
    return f", apart from an allowance of {_one_in(delta)} (δ)"


_LARGE = ((1e12, "trillion"), (1e9, "billion"), (1e6, "million"))


def _one_in(probability: float) -> str:
    inverse = 1 / probability
    for size, name in _LARGE:
        if inverse >= size * 0.999 and inverse < size * 1_000:
            return f"one in {'a' if round(inverse / size) == 1 else significant(inverse / size)} {name}"
    if inverse >= 1e15:
        return f"a probability of {probability:g}".replace("-", "−")
    return f"one in {significant(inverse)}"
