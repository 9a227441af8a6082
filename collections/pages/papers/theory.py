"""The demonstrations of the theory as text, tables and charts, from the committed document."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pages.papers.figures import FigureSection, figure_section, value_text

_TEXTS = ("key", "title", "sentence", "measured", "proved", "source")


@dataclass(frozen=True)
class FactRow:
    """One number that needs no context."""

    quantity: str
    value: str
    standing: str


@dataclass(frozen=True)
class TheorySection:
    """One demonstration with all texts of the page."""

    key: str
    title: str
    sentence: str
    measured: str
    proved: str
    source: str
    seed: str
    figures: tuple[FigureSection, ...]
    facts: tuple[FactRow, ...]


def theory_sections(document: Mapping[str, Any]) -> tuple[TheorySection, ...]:
    """The whole document, in its order."""
    return tuple(map(theory_section, document["demonstrations"]))


def theory_section(demonstration: Mapping[str, Any]) -> TheorySection:
    """One demonstration as text and charts."""
    return TheorySection(
        **{name: demonstration[name] for name in _TEXTS},
        seed=str(demonstration["seed"]),
        figures=tuple(map(figure_section, demonstration["charts"])),
        facts=tuple(
            FactRow(fact["quantity"], value_text(fact["value"], fact["standing"]), fact["standing"])
            for fact in demonstration["facts"]
        ),
    )
