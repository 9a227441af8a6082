"""Computed numbers and lines as plain values, each with what it rests on or what a paper prints."""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass
from decimal import Decimal
from enum import StrEnum
from operator import ge, gt, le, lt
from typing import Any, TypeVar

from panprivacy.accounting.guarantees import Relation

X = TypeVar("X")


class Paper(StrEnum):
    """The papers whose numbers are recomputed; the value is the title."""

    SAMPLABLE_ANONYMOUS_AGGREGATION = "Samplable Anonymous Aggregation for Private Federated Data Analysis"
    LOCAL_PAN_PRIVACY = "Local Pan-Privacy for Federated Analytics"


class Basis(StrEnum):
    """What a number rests on. Pages and tables of the theory show it next to every number."""

    MEASURED = "measured"
    """In a simulation, whose parameters and seed are named."""

    COMPUTED = "computed"
    """Exactly, from the distributions: what a measurement should show."""

    BOUND = "bound"
    """Proved: it cannot be less, or not more, according to the text. Or an assumption that is named."""

    PRINTED = "printed"
    """A formula of the paper, whose constant it leaves open."""


class Role(StrEnum):
    """What a line of a paper's figure represents; pages give each a colour, a dash and a symbol."""

    BASELINE = "baseline"
    """Without privacy."""

    BASELINE_TARGETED = "baseline-targeted"
    """Without privacy, with importance sampling."""

    AGGREGATED = "aggregated"
    """The sum alone is seen; who took part is known. Or: a rule that the papers suggest."""

    SAMPLED = "sampled"
    """The sum alone is seen; who took part is secret. Or: the exact computation."""

    MEASURED = "measured"
    """Single collections, by devices that take part in them."""


@dataclass(frozen=True)
class Statement:
    """One number or word.

    Attributes:
        quantity: what is computed, with every parameter.
        value: ours.
        paper, place: whose number it is, or who leaves it out: example, theorem or section.
        printed: as the paper has it; empty if it states no number.
        method: how it is computed, with the source.
        agrees: whether the paper's statement holds for `value`; None if none is printed.
        expected: the value of `agrees` that we state. A difference between the two means that the accounting
            or docs/errata.md is wrong.
        why: the reason if they differ; otherwise the choices made, or other notes.
        relation, delta: of privacy numbers; None for others.
    """

    quantity: str
    value: float | str
    standing: Basis = Basis.COMPUTED
    _: KW_ONLY
    paper: Paper | None = None
    place: str = ""
    printed: str = ""
    method: str = ""
    agrees: bool | None = None
    expected: bool | None = None
    why: str = ""
    relation: Relation | None = None
    delta: float | None = None

    @property
    def as_expected(self) -> bool:
        """Whether our statement about the printed value is true."""
        return self.agrees is self.expected


@dataclass(frozen=True)
class Line:
    """One line: what it is or rests on, and y for each x of its panel; None if nothing is shown."""

    name: str
    kind: Role | Basis
    y: tuple[float | None, ...]

    @classmethod
    def over(cls, x: Iterable[X], name: str, kind: Role | Basis, y: Callable[[X], float | None]) -> "Line":
        """The line of what `y` gives for each x."""
        return cls(name, kind, tuple(map(y, x)))


@dataclass(frozen=True)
class Panel:
    """One pair of axes."""

    title: str
    x: tuple[float, ...]
    lines: tuple[Line, ...]


def one_panel(x: tuple[float, ...], *lines: Line) -> tuple[Panel, ...]:
    """The panels of a figure that has one."""
    return (Panel("", x, lines),)


@dataclass(frozen=True, kw_only=True)
class Figure:
    """Panels with the same axes.

    Attributes:
        key: identifies the figure in addresses and file names.
        paper: whose figure it is; None if it shows a theorem.
        columns: number of panels side by side.
        choices: parameters that the paper leaves open, and what we chose.
        logarithmic_x, logarithmic_y: whether an axis is logarithmic; then all its values are above 0.
    """

    key: str
    title: str
    caption: str
    x_title: str
    y_title: str
    panels: tuple[Panel, ...]
    paper: Paper | None = None
    columns: int = 1
    choices: str = ""
    logarithmic_x: bool = True
    logarithmic_y: bool = True


def rounds_to(computed: float, printed: str) -> bool:
    """Whether `computed` is `printed` to within half a unit of its last digit."""
    exponent = Decimal(printed).as_tuple().exponent
    if not isinstance(exponent, int):
        raise ValueError(f"printed must be a decimal number, not {printed!r}")
    return abs(computed - float(printed)) <= 0.5 * 10.0**exponent * (1 + 1e-12)


def about(computed: float, printed: float) -> bool:
    """Whether a printed "≈" holds: to within 10%."""
    return math.isclose(computed, printed, rel_tol=0.1)


_COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {
    "at most": le,
    "below": lt,
    "at least": ge,
    "above": gt,
    "≈": about,
}
_PRINTED = re.compile(r"(?:(at most|below|at least|above|≈) )?(√?)([\d.]+)")


def agreement(computed: float, printed: str) -> bool | None:
    """Whether the printed number, or the bound that the paper claims, holds; None if it is none."""
    found = _PRINTED.fullmatch(printed)
    if found is None:
        return None
    comparison, root, number = found.groups()
    if comparison is None:
        return rounds_to(computed, number)
    return _COMPARISONS[comparison](computed, math.sqrt(float(number)) if root else float(number))


def compared(
    quantity: str,
    printed: str,
    value: float,
    method: str,
    why: str = "",
    *,
    expected: bool = True,
    **members: Any,
) -> Statement:
    """A number next to the printed one, with its own rule of comparison: see `agreement`.

    Args:
        expected: as in a `Statement`; without meaning if nothing is compared.
        members: place, relation and delta for the `Statement`.
    """
    agrees = agreement(value, printed)
    said = None if agrees is None else expected
    return Statement(
        quantity, value, printed=printed, method=method, agrees=agrees, expected=said, why=why, **members
    )
