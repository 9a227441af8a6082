"""All demonstrations as one JSON document, which is committed: the page reads it and computes nothing."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from research import stored_document
from research.theory import DEMONSTRATIONS
from research.theory.demonstration import Demonstration

FILE = Path(__file__).parent / "results.json"

SEED = 2025
"""Of the stored simulations."""

LIBRARIES = ("numpy", "scipy")
"""What the numbers depend on in addition to this package; named in the document with their versions."""


def compute(names: Sequence[str], seed: int, progress: Callable[[str], None]) -> tuple[Demonstration, ...]:
    """The demonstrations of these names, anew; all take about half a minute.

    Args:
        names: keys of `DEMONSTRATIONS`.
        progress: called with each name when its computation begins.
    """
    demonstrations = []
    for name in names:
        progress(name)
        demonstrations.append(DEMONSTRATIONS[name](seed))
    return tuple(demonstrations)


def document_of(demonstrations: tuple[Demonstration, ...]) -> dict[str, Any]:
    """Plain values, numbers rounded to 6 significant digits."""
    entries = [demonstration.as_dict() for demonstration in demonstrations]
    return stored_document.document_of(LIBRARIES, demonstrations=entries)


def committed() -> dict[str, Any]:
    """The committed document."""
    return stored_document.committed(FILE)
