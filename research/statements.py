"""What a paper prints beside what we compute, and figures as plain numbers."""

import math
from dataclasses import asdict, dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Any

from panprivacy.accounting.guarantees import Relation


class Paper(StrEnum):
    """The papers whose numbers are recomputed; the value is the title."""

    SAMPLABLE_ANONYMOUS_AGGREGATION = "Samplable Anonymous Aggregation for Private Federated Data Analysis"
    LOCAL_PAN_PRIVACY = "Local Pan-Privacy for Federated Analytics"


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One number of a paper, or one that it leaves out, computed.

    Attributes:
        place: example, theorem or section.
        quantity: what is computed, with every parameter.
        printed: as the paper has it; empty where it states no number.
        computed: our value.
        method: how, with the source.
        agrees: whether the paper's statement holds for `computed`; None where none is printed.
        expected: what we say `agrees` is. A difference between the two means that the accounting
            or docs/errata.md is wrong.
        why: where they differ, why; otherwise what was chosen or what else one should know.
        relation, delta: of privacy numbers; None for others.
    """

    paper: Paper
    place: str
    quantity: str
    printed: str
    computed: float
    method: str
    agrees: bool | None
    expected: bool | None
    why: str = ""
    relation: Relation | None = None
    delta: float | None = None

    @property
    def as_expected(self) -> bool:
        """Whether what we say about the printed value is so."""
        return self.agrees is self.expected

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON, one per attribute."""
        return asdict(self)


class Role(StrEnum):
    """What a line of a figure stands for; pages give each a colour, a dash and a symbol."""

    BASELINE = "baseline"
    """Without privacy."""

    BASELINE_TARGETED = "baseline-targeted"
    """Without privacy, with importance sampling."""

    AGGREGATED = "aggregated"
    """The sum alone is seen; who took part is known. Or: a rule that the papers suggest."""

    SAMPLED = "sampled"
    """The sum alone is seen; who took part is secret. Or: the exact computation."""


@dataclass(frozen=True)
class Series:
    """One line: a name, its role, and y for each x of the panel."""

    name: str
    role: Role
    y: tuple[float, ...]


@dataclass(frozen=True)
class Panel:
    """One pair of axes."""

    title: str
    x: tuple[float, ...]
    series: tuple[Series, ...]


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One figure; both axes of every panel are logarithmic.

    Attributes:
        key: identifies the figure in addresses and file names.
        columns: number of panels side by side.
        choices: parameters that the text leaves open, and what we chose.
    """

    paper: Paper
    key: str
    title: str
    caption: str
    x_title: str
    y_title: str
    columns: int
    panels: tuple[Panel, ...]
    choices: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON, one per attribute."""
        return asdict(self)


def rounds_to(computed: float, printed: str) -> bool:
    """Whether `computed` is `printed` to within half a unit of its last digit."""
    exponent = Decimal(printed).as_tuple().exponent
    if not isinstance(exponent, int):
        raise ValueError(f"printed must be a decimal number, not {printed!r}")
    return abs(computed - float(printed)) <= 0.5 * 10.0**exponent * (1 + 1e-12)


def about(computed: float, printed: float) -> bool:
    """Whether a printed "≈" holds: to within 10 %."""
    return math.isclose(computed, printed, rel_tol=0.1)
