"""What a demonstration of a theorem shows, as plain values: curves, numbers, and what each rests on."""

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any


class ClaimStatus(StrEnum):
    """What a number rests on. Pages and tables say it beside every one."""

    MEASURED = "measured"
    """In a simulation, whose parameters and seed are named."""

    COMPUTED = "computed"
    """Exactly, from the distributions: what the measurement should show."""

    BOUND = "bound"
    """Proved: it cannot be less, or not more, as the text says. Or an assumption that is named."""

    PRINTED = "printed"
    """A formula of the paper, whose constant it leaves open."""


@dataclass(frozen=True)
class Curve:
    """One line: y for each x of its chart; None where there is nothing to show."""

    name: str
    standing: ClaimStatus
    y: tuple[float | None, ...]


@dataclass(frozen=True, kw_only=True)
class Chart:
    """One pair of axes.

    Attributes:
        key: identifies the chart on its page.
        logarithmic_x, logarithmic_y: whether an axis is logarithmic; then all its values are above 0.
    """

    key: str
    title: str
    caption: str
    x_title: str
    y_title: str
    x: tuple[float, ...]
    curves: tuple[Curve, ...]
    logarithmic_x: bool = True
    logarithmic_y: bool = True


@dataclass(frozen=True)
class Fact:
    """One number or word that stands for itself."""

    quantity: str
    value: float | str
    standing: ClaimStatus


@dataclass(frozen=True, kw_only=True)
class Demonstration:
    """One theorem, shown.

    Attributes:
        key: the name on the command line and in addresses.
        sentence: what is seen, for people who have not read the paper.
        measured: what was simulated, and with which parameters.
        proved: what holds without any measurement.
        source: paper with section and theorem number.
        seed: of every simulation in it.
    """

    key: str
    title: str
    sentence: str
    measured: str
    proved: str
    source: str
    seed: int
    charts: tuple[Chart, ...]
    facts: tuple[Fact, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON, one per attribute."""
        return asdict(self)
