"""A privacy event: one release as data, and its privacy loss.

An event states what was computed, over how many devices, with which randomizer. It is stored, and its ε is
recomputed for every request; an ε alone could not be composed with others. The same classes serve mechanisms,
the ledger, the planner and `manage.py account`.
"""

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

# Its parts are loaded when they are first used (see discrete_gaussian_sum.py).
import scipy
from numpy.typing import NDArray

from panprivacy.accounting.guarantees import Relation
from panprivacy.formats.display import plain
from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import described, description_of, kind_of, require_members

LARGEST_N = 10**12
"""Number of devices up to which floating point can represent a difference of one device."""

DEVICES: Mapping[str, Any] = {
    "label": "Devices (n)",
    "help": "Number of devices, the protected one included.",
    "minimum": 1,
    "maximum": LARGEST_N,
}
"""Description of the number of devices that an event is over."""

LARGEST_EPSILON = 1e9
"""ε beyond which nothing is hidden, and exponentials exceed the range of floating point."""

SMALLEST_DELTA = 1e-32
"""δ below which rounding errors would have to be known better than they are."""

RELATIVE_TOLERANCE = 1e-9
"""How far (relatively) an inverted ε may lie above the smallest."""


@dataclass(frozen=True, kw_only=True)
class PrivacyEvent(ABC):
    """One release. Its fields are declared with `formats.parameters.described`, and checked on creation.

    Attributes:
        kind: registered name; it is stored, so its meaning never changes.
        proved: whether `delta` is an upper bound by proof; otherwise it belongs to the worst case that
            was found, the lower end of a bracket (see question.py).
    """

    kind: ClassVar[str]

    any_devices: ClassVar[bool] = False
    """Whether it is the same release over any number of devices."""

    fixed_devices: ClassVar[bool] = False
    """Whether its number of devices belongs to it, and cannot be another."""

    def __post_init__(self) -> None:
        """FieldError naming a field that is out of range."""
        for field in dataclasses.fields(self):
            checked = description_of(field).check(field.name, kind_of(field), getattr(self, field.name))
            object.__setattr__(self, field.name, checked)

    @property
    @abstractmethod
    def neighbours(self) -> Relation:
        """The neighbouring relation that the numbers are for."""

    @property
    @abstractmethod
    def proved(self) -> bool:
        """Whether `delta` and `epsilon` bound every case by proof."""

    @property
    def quick(self) -> bool:
        """Whether `delta_bound` takes at most a tenth of a second, even at the first call: a request may
        wait."""
        return True

    @property
    def largest_loss(self) -> float:
        """An ε at which δ is 0; infinity if none is known. No ε above it is stated."""
        return math.inf

    @property
    def dots_apart(self) -> float:
        """The least distance of points at which a curve needs `delta_bound`, in spreads of the loss."""
        return 0.0

    @property
    def size_fields(self) -> tuple[str, ...] | None:
        """The fields that hold the number of devices: none if the event holds for any number. None if it is
        not an event over devices, or not one for any other number of them."""
        return ("n",) if "n" in {field.name for field in dataclasses.fields(self)} else None

    @property
    @abstractmethod
    def method(self) -> str:
        """How the numbers are computed, with the source: one line for people."""

    @abstractmethod
    def delta(self, epsilon: float) -> float:
        """The larger of both directions' hockey-stick divergences at ε ≥ 0, in [0, 1].

        Rounded up, never down, if `proved`; does not increase with ε.
        """

    def delta_bound(self, epsilon: float) -> float:
        """An upper bound on `delta` that is quick, for whole curves; by default `delta` itself."""
        return self.delta(epsilon)

    def delta_roughly(self, epsilon: float) -> float:
        """An upper bound on `delta` for means over many events, so it must cost little; by default
        `delta_bound`."""
        return self.delta_bound(epsilon)

    def epsilon(self, delta: float) -> float:
        """The smallest ε ≥ 0 at which the event is (ε, δ)-private, from above (relative error 1e-9).

        Args:
            delta: from `SMALLEST_DELTA`, below 1.

        Raises:
            FieldError: δ is outside its range.
        """
        require_delta(delta)
        return min(smallest_epsilon(self.delta, delta), self.largest_loss)

    def over(self, n: int) -> "PrivacyEvent":
        """The same release over n devices (≥ 1); FieldError for an event that is not one over devices."""
        if self.size_fields is None:
            raise FieldError("event", "must be one over n devices")
        return dataclasses.replace(self, **dict.fromkeys(self.size_fields, n))

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON, read again by `event_from_mapping`."""
        return {"kind": self.kind, **dataclasses.asdict(self)}

    @classmethod
    def from_members(cls, members: Mapping[str, object]) -> Self:
        """Build from exactly these fields; FieldError names an unknown, missing or impossible one."""
        require_members(cls, members, f"is not a field of {cls.kind}; it has")
        return cls(**members)


@dataclass(frozen=True, kw_only=True)
class NestedEvent(PrivacyEvent):
    """A privacy event over `event`, another one, whose relation and proof it shares."""

    event: PrivacyEvent = described(  # noqa: RUF009  # makes a field, not a default
        label="Event", help="The event that this one is made of."
    )

    def __post_init__(self) -> None:
        """FieldError naming a field that is out of range."""
        if not isinstance(self.event, PrivacyEvent):
            raise FieldError("event", "must be a privacy event")
        for field in dataclasses.fields(self):
            if field.name != "event":
                checked = description_of(field).check(field.name, kind_of(field), getattr(self, field.name))
                object.__setattr__(self, field.name, checked)

    @property
    def quick(self) -> bool:
        return self.event.quick

    @property
    def largest_loss(self) -> float:
        return self.event.largest_loss

    @property
    def dots_apart(self) -> float:
        return self.event.dots_apart

    @property
    def neighbours(self) -> Relation:
        return self.event.neighbours

    @property
    def proved(self) -> bool:
        return self.event.proved

    def as_dict(self) -> dict[str, Any]:
        rest = {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)
            if field.name != "event"
        }
        return {"kind": self.kind, "event": self.event.as_dict(), **rest}


def smallest_epsilon(curve: Callable[[float], float], delta: float, least: float = 0.0) -> float:
    """The smallest ε ≥ 0 with curve(ε) ≤ δ, from above: the curve at the result is at most δ.

    Args:
        curve: δ as a function of ε ≥ 0; does not increase, and falls to `delta` somewhere.
        delta: δ above 0.
        least: an ε below which no result is wanted, from another curve that lies close below.

    Returns:
        ε, at most a relative `RELATIVE_TOLERANCE` above the smallest.

    Raises:
        ValueError: the curve does not fall to `delta`.
    """

    def excess(epsilon: float) -> float:
        return math.log(max(curve(epsilon), 1e-320)) - math.log(delta)

    if curve(least) <= delta:
        return least
    low, high, factor = (least, least * (1 + 1e-8), 1 + 1e-6) if least else (0.0, 1.0, 4.0)
    # Written so that a curve value that is not a number counts as too large: it gives no ε.
    while not curve(high) <= delta:
        if math.isinf(high):
            raise ValueError("the curve does not fall to δ")
        low, high, factor = high, high * factor, min(4.0, factor**4)
    # until ε is known to a factor of 16, so that small ones have the precision of large ones
    while low == 0.0:
        if high < 1e-15:  # what rounding adds at 0 may keep δ above its target there
            return high
        if not curve(high / 16) <= delta:
            low = high / 16
        else:
            high /= 16
    # log δ is nearly a parabola in ε: ten evaluations do what halving does in thirty.
    root = scipy.optimize.brentq(excess, low, high, xtol=1e-300, rtol=RELATIVE_TOLERANCE / 4)
    step = RELATIVE_TOLERANCE / 4
    while not curve(root) <= delta:
        root, step = root * (1 + step), 2 * step
    return float(root)


def worst_epsilon(curves: Callable[..., NDArray[np.float64]], delta: float) -> float:
    """The smallest ε ≥ 0 at which every one of many curves is at most δ, from above.

    Args:
        curves: `curves(ε)` has the values of all at ε, `curves(ε, i)` that of the i-th alone. None increases.
        delta: δ above 0, to which all fall.

    Only the worst at the ε so far is followed, until none is above δ: mostly two or three of them.
    """
    epsilon, before = 0.0, -1
    while (found := curves(epsilon)).max() > delta:
        worst = int(found.argmax())
        if worst == before:  # alone it was at most δ: rounding
            epsilon = max(epsilon * (1 + RELATIVE_TOLERANCE / 4), 1e-15)
            continue
        epsilon = smallest_epsilon(partial(_alone, curves, worst), delta, epsilon)
        before = worst
    return epsilon


def _alone(curves: Callable[..., NDArray[np.float64]], i: int, epsilon: float) -> float:
    return float(curves(epsilon, i).max())


def require_delta(delta: float) -> None:
    """FieldError unless δ is a number from `SMALLEST_DELTA` on, below 1."""
    if isinstance(delta, bool) or not isinstance(delta, int | float) or not SMALLEST_DELTA <= delta < 1:
        allowed = f"a number of at least {plain(SMALLEST_DELTA)} and below 1"
        raise FieldError("delta", f"must be {allowed}, not {delta!r}")


def require_epsilon(epsilon: float) -> None:
    """FieldError unless ε is a number of at least 0 and at most `LARGEST_EPSILON`."""
    is_number = isinstance(epsilon, int | float) and not isinstance(epsilon, bool)
    if not is_number or not 0 <= epsilon <= LARGEST_EPSILON:
        shown = "more" if is_number and epsilon > LARGEST_EPSILON else repr(epsilon)
        allowed = f"a number of at least 0 and at most {LARGEST_EPSILON:,.0f}"
        raise FieldError("epsilon", f"must be {allowed}, not {shown}")
