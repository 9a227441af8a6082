"""How numbers are shown. Display only: what is stored, compared and exported is never rounded."""

import math
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Decimal

from panprivacy.formats.display import plain

MINUS = "−"


def place_of(uncertainty: float, digits: int = 2) -> int:
    """Exponent of the decimal place at which `uncertainty` has `digits` significant digits.

    97 → 0, 970 → 1, 0.0412 → −3. An uncertainty of zero is shown in full: place 0.
    """
    if not math.isfinite(uncertainty) or uncertainty == 0:
        return 0
    exponent = Decimal(repr(abs(uncertainty))).adjusted()
    place = exponent - digits + 1
    # 9.96 rounds to 10: one place further left.
    return place + 1 if _rounded(abs(uncertainty), place).adjusted() > exponent else place


def at_place(value: float, place: int) -> str:
    """`value` rounded to the place 10^`place`, with thousands separators and a real minus sign."""
    rounded = _rounded(value, place)
    shown = f"{abs(rounded):,.{max(0, -place)}f}"
    return f"{MINUS}{shown}" if rounded < 0 else shown


def significant(value: float, digits: int = 2) -> str:
    """`value` to this many significant digits: 96.97 → 97, 0.04121 → 0.041."""
    return at_place(value, place_of(value, digits))


def at_most(value: float, digits: int = 2) -> str:
    """An upper bound to this many significant digits, rounded up: 12.345 → 13."""
    place = place_of(value, digits)
    above = Decimal(repr(value)).quantize(Decimal(1).scaleb(place), rounding=ROUND_CEILING)
    return at_place(float(above), place)


def number(value: object) -> str:
    """A number in full: 10000 → 10,000, 0.25 → 0.25; 1e-06 → 1e-6, as everything below 1e-4; yes or no."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, int | float):
        return str(value)
    if isinstance(value, float) and (not math.isfinite(value) or abs(value) >= 1e15 or 0 < abs(value) < 1e-4):
        return f"{MINUS if value < 0 else ''}{plain(abs(value), '' if abs(value) < 1 else 'g')}"
    exact = Decimal(repr(value)).normalize()
    exponent = exact.as_tuple().exponent
    decimals = max(0, -exponent) if isinstance(exponent, int) else 0
    shown = f"{abs(exact):,.{decimals}f}"
    return f"{MINUS}{shown}" if exact < 0 else shown


def estimate_with_margin(value: float, half_width: float | None) -> str:
    """The estimate and how far it may lie from the truth, at one place: 3012.4, 190.1 → "3,010 ± 190"; the
    estimate alone if that is unknown."""
    if half_width is None:
        return significant(value, 4)
    place = place_of(half_width)
    return f"{at_place(value, place)} ± {at_place(half_width, place)}"


def _rounded(value: float, place: int) -> Decimal:
    return Decimal(repr(float(value))).quantize(Decimal(1).scaleb(place), rounding=ROUND_HALF_EVEN) + 0
