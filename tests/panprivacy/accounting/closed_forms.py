"""The closed forms of Feldman, McMillan & Talwar, which hold where the numerical bounds do, and give more."""

import math

from panprivacy.accounting.interface import require_delta
from panprivacy.errors import FieldError
from research.reproduction.samplable_anonymous_aggregation import largest_epsilon0_2022


def closed_form_2021(*, n: int, epsilon0: float, delta: float) -> float:
    """ε by FMT 2021, Theorem 3.1, for any ε₀-private randomizers.

    Raises:
        FieldError: ε₀ is above ln(n/(16·ln(2/δ))), where the theorem says nothing; or δ is out of range.
    """
    require_delta(delta)
    limit = math.log(max(n / (16 * math.log(2 / delta)), 1.0))
    _require_validity(epsilon0, limit, "ln(n/(16·ln(2/δ)))")
    growth = math.exp(epsilon0)
    spread = 8 * math.sqrt(growth * math.log(4 / delta) / n) + 8 * growth / n
    return math.log1p(math.tanh(epsilon0 / 2) * spread)


def closed_form_2022(*, n: int, epsilon0: float, delta: float) -> float:
    """ε by FMT 2022, Theorem 3.2, for the randomizers that `Shuffled` covers.

    Raises:
        FieldError: ε₀ is above ln(n/(8·ln(2/δ)) − 1), where the theorem says nothing; or δ is out of range.
    """
    require_delta(delta)
    _require_validity(epsilon0, largest_epsilon0_2022(n=n, delta=delta), "ln(n/(8·ln(2/δ)) − 1)")
    growth = math.exp(epsilon0)
    spread = 4 * math.sqrt(2 * math.log(4 / delta) / ((growth + 1) * n)) + 4 / n
    return math.log1p(math.expm1(epsilon0) * spread)


def _require_validity(epsilon0: float, limit: float, formula: str) -> None:
    if not 0 < epsilon0 <= limit:
        allowed = f"above 0 and at most {formula} = {limit:.6g}" if limit else f"at most {formula}: no ε₀ is"
        raise FieldError("epsilon0", f"must be {allowed}, not {epsilon0!r}")
