"""Our numbers next to the papers' printed ones, as rows of tables, from the committed document."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pages.charts.ticks import power_of_ten
from pages.papers.figures import FigureSection, figure_section
from web.numbers import significant

RELATIONS = {"add_remove": "add/remove", "replace": "replacement"}


@dataclass(frozen=True)
class ClaimRow:
    """One line of the table of claims, as text."""

    place: str
    quantity: str
    terms: str
    printed: str
    computed: str
    verdict: str
    method: str
    why: str


@dataclass(frozen=True)
class PaperSection:
    """One paper: its claims, and its figures."""

    key: str
    title: str
    summary: str
    claims: tuple[ClaimRow, ...]
    figures: tuple[FigureSection, ...]


def paper_sections(document: Mapping[str, Any]) -> tuple[PaperSection, ...]:
    """The whole document, paper by paper, in its order."""
    titles = list(dict.fromkeys(claim["paper"] for claim in document["claims"]))
    return tuple(
        _paper(
            f"paper-{number}",
            title,
            [claim for claim in document["claims"] if claim["paper"] == title],
            [figure for figure in document["figures"] if figure["paper"] == title],
        )
        for number, title in enumerate(titles, start=1)
    )


def _paper(
    key: str, title: str, claims: list[Mapping[str, Any]], figures: list[Mapping[str, Any]]
) -> PaperSection:
    printed = [claim for claim in claims if claim["agrees"] is not None]
    agreeing = sum(claim["agrees"] for claim in printed)
    summary = f"printed statements that agree: {agreeing} of {len(printed)}; numbers that are not printed: "
    summary += str(len(claims) - len(printed))
    return PaperSection(
        key, title, summary, tuple(map(claim_row, claims)), tuple(map(figure_section, figures))
    )


def claim_row(claim: Mapping[str, Any]) -> ClaimRow:
    """A claim as text."""
    terms = []
    if claim["relation"]:
        terms.append(RELATIONS[claim["relation"]])
    if claim["delta"] is not None:
        # δ is a power of ten wherever the papers name one.
        terms.append(f"δ = {power_of_ten(round(math.log10(claim['delta'])))}")
    return ClaimRow(
        **{name: claim[name] for name in ("place", "quantity", "method", "why")},
        terms=", ".join(terms),
        printed=claim["printed"] or "not printed",
        computed=significant(claim["computed"], 5),
        verdict=verdict_of(claim["agrees"]),
    )


def verdict_of(agrees: bool | None) -> str:
    """The verdict on a claim; the first word is also the name of its style."""
    if agrees is None:
        return ""
    return "agrees" if agrees else "differs"
