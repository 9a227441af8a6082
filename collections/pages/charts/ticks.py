"""Positions and labels of the marks of an axis."""

import math
from datetime import UTC, datetime, timedelta

from web.numbers import number

_HOUR = 3_600
_DAY = 24 * _HOUR
_TIMES = (
    (1, (1, 5, 15)),
    (60, (1, 5, 15)),
    (_HOUR, (1, 3, 6, 12)),
    (_DAY, (1, 2, 7, 14, 30, 91, 182, 365, 1_825)),
)
TIME_STEPS = tuple(unit * count for unit, counts in _TIMES for count in counts)
"""Distances of marks on an axis of time, in seconds."""

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

Ticks = tuple[tuple[float, str], ...]


def power_of_ten(exponent: int) -> str:
    """−8 → 10⁻⁸; 0 and 1 in full."""
    return {0: "1", 1: "10"}.get(exponent, "10" + str(exponent).translate(_SUPERSCRIPTS))


def linear_ticks(low: float, high: float, most: int) -> Ticks:
    """About `most` round numbers from `low` to `high`: multiples of 1, 2 or 5 times a power of ten."""
    if not high > low:
        return ((low, number(float(f"{low:.6g}"))),)
    rough = (high - low) / max(1, most)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return tuple((count * step, number(float(f"{count * step:.9g}"))) for count in range(first, last + 1))


def log_ticks(smallest: float, largest: float) -> Ticks:
    """Powers of ten, with 2 and 5 times each if there are few, every second if there are many."""
    low, high = math.floor(math.log10(smallest)), math.ceil(math.log10(largest))
    factors = (1, 2, 5) if largest < 1_000 * smallest else (1,)
    step = 2 if high - low > 6 else 1
    exponents = range(low, high + 1)
    ticks = [factor * 10.0**exponent for exponent in exponents if exponent % step == 0 for factor in factors]
    return tuple((tick, _power_text(tick)) for tick in ticks)


def time_ticks(low: float, high: float, most: int) -> Ticks:
    """At most about `most` times, but no fewer than two, as seconds since 1970 in UTC, at the round distances
    of `TIME_STEPS`. Marks that lie days apart begin at `low`, where weekly rounds have their first point."""
    place = next((i for i, step in enumerate(TIME_STEPS) if (high - low) / step <= most), len(TIME_STEPS) - 1)
    step = TIME_STEPS[place]
    if math.floor(high / step) - math.ceil(low / step) < 1:
        # One alone shows no distance.
        step = TIME_STEPS[max(place - 1, 0)]
    # Months are named without their days, so that two marks within one would read alike.
    origin = low if _DAY <= step < 30 * _DAY else 0.0
    first, last = math.ceil((low - origin) / step), math.floor((high - origin) / step)
    places = [origin + count * step for count in range(first, last + 1)]
    return tuple((place, _time_text(place, step, high - low)) for place in places)


def _power_text(tick: float) -> str:
    if 1e-3 <= tick < 1e6:
        return number(float(f"{tick:.6g}"))
    return power_of_ten(round(math.log10(tick)))


def _time_text(seconds: float, step: int, span: float) -> str:
    time = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
    if step >= 30 * _DAY:
        return f"{time:%b %Y}"
    if step >= _DAY:
        return f"{time.day} {time:%b}"
    if span > _DAY:
        return f"{time.day} {time:%b, %H:%M}"
    return f"{time:%H:%M:%S}" if step < 60 else f"{time:%H:%M}"
