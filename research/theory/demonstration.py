"""What a demonstration of a theorem shows, as plain values."""

from dataclasses import dataclass
from typing import Any

from research.statements import Figure, Statement

_TEXTS = ("key", "title", "sentence", "measured", "proved", "source", "seed")
_FIGURE_TEXTS = ("key", "title", "caption", "x_title", "y_title")


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
        charts: figures of one panel; every line states what it rests on.
    """

    key: str
    title: str
    sentence: str
    measured: str
    proved: str
    source: str
    seed: int
    charts: tuple[Figure, ...]
    facts: tuple[Statement, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            **{name: getattr(self, name) for name in _TEXTS},
            "charts": [_chart(chart) for chart in self.charts],
            "facts": [
                {"quantity": fact.quantity, "value": fact.value, "standing": fact.standing}
                for fact in self.facts
            ],
        }


def _chart(figure: Figure) -> dict[str, Any]:
    (panel,) = figure.panels
    return {
        **{name: getattr(figure, name) for name in _FIGURE_TEXTS},
        "x": panel.x,
        "curves": [{"name": line.name, "standing": line.kind, "y": line.y} for line in panel.lines],
        "logarithmic_x": figure.logarithmic_x,
        "logarithmic_y": figure.logarithmic_y,
    }
