"""All claims and figures as one JSON document, which is committed: pages read it and compute nothing."""

import json
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from panprivacy import stored_document
from research.reproduction import local_pan_privacy, samplable_anonymous_aggregation
from research.reproduction.claims import Claim, Figure

FILE = Path(__file__).parent / "results.json"

LIBRARIES = ("dp-accounting", "numpy", "scipy")
"""What the numbers depend on beside this package; named in the document with their versions."""

_PAPERS = (samplable_anonymous_aggregation, local_pan_privacy)


def compute(progress: Callable[[str], None]) -> tuple[tuple[Claim, ...], tuple[Figure, ...]]:
    """Everything, anew; takes about ten seconds. `progress` is told each piece when it is done."""
    claims, figures = [], []
    for paper in _PAPERS:
        for claim in paper.claims():
            progress(f"{claim.place}: {claim.quantity}")
            claims.append(claim)
    for paper in _PAPERS:
        for figure in paper.figures():
            progress(f"{figure.title}: {len(figure.panels)} panels")
            figures.append(figure)
    return tuple(claims), tuple(figures)


def document_of(claims: tuple[Claim, ...], figures: tuple[Figure, ...]) -> dict[str, Any]:
    """Plain values, numbers rounded to 6 significant digits; no times, no names of machines."""
    document = {
        "libraries": {name: version(name) for name in LIBRARIES},
        "claims": [claim.as_dict() for claim in claims],
        "figures": [figure.as_dict() for figure in figures],
    }
    return stored_document.plain(document)


@cache
def committed() -> dict[str, Any]:
    """The document as it was committed."""
    document: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return document
