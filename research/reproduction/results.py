"""All claims and figures as one JSON document, which is committed: pages read it and compute nothing."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from research import stored_document
from research.reproduction import local_pan_privacy, samplable_anonymous_aggregation
from research.statements import Figure, Statement

FILE = Path(__file__).parent / "results.json"

LIBRARIES = ("dp-accounting", "numpy", "scipy")
"""What the numbers depend on in addition to this package; named in the document with their versions."""

_CLAIM = (
    *("paper", "place", "quantity", "printed", "value", "method"),
    *("agrees", "expected", "why", "relation", "delta"),
)
_FIGURE = ("paper", "key", "title", "caption", "x_title", "y_title", "columns", "panels", "choices")

_PAPERS = (samplable_anonymous_aggregation, local_pan_privacy)


def compute(progress: Callable[[str], None]) -> tuple[tuple[Statement, ...], tuple[Figure, ...]]:
    """Everything, anew; takes about ten seconds. `progress` is called with each piece when it is done."""
    claims, figures = [], []
    for claim in compute_claims():
        progress(f"{claim.place}: {claim.quantity}")
        claims.append(claim)
    for paper in _PAPERS:
        for figure in paper.figures():
            progress(f"{figure.title}: {len(figure.panels)} panels")
            figures.append(replace(figure, paper=paper.PAPER))
    return tuple(claims), tuple(figures)


def compute_claims() -> Iterator[Statement]:
    """The claims alone, each when it is computed: most of the time goes into the figures."""
    return (replace(claim, paper=paper.PAPER) for paper in _PAPERS for claim in paper.claims())


def document_of(claims: tuple[Statement, ...], figures: tuple[Figure, ...]) -> dict[str, Any]:
    """Plain values, numbers rounded to 6 significant digits."""
    return stored_document.document_of(
        LIBRARIES, claims=[*map(_claim, claims)], figures=[*map(_figure, figures)]
    )


def committed() -> dict[str, Any]:
    """The committed document."""
    return stored_document.committed(FILE)


def _claim(statement: Statement) -> dict[str, Any]:
    return {"computed" if name == "value" else name: getattr(statement, name) for name in _CLAIM}


def _figure(figure: Figure) -> dict[str, Any]:
    panels = [
        {
            "title": panel.title,
            "x": panel.x,
            "series": [{"name": line.name, "role": line.kind, "y": line.y} for line in panel.lines],
        }
        for panel in figure.panels
    ]
    return {name: panels if name == "panels" else getattr(figure, name) for name in _FIGURE}
