"""Recipes and files that several tests of commands and installations share."""

from pathlib import Path
from typing import Any

MEMBERS = {
    "recipe",
    "statistic",
    "devices",
    "sampled",
    "reports",
    "released",
    "reason",
    "estimate",
    "standard_error",
    "interval",
    "truth",
    "privacy",
    "seconds",
}
"""Of the object that `collect` prints, whatever the statistic."""

UNIFORMITY = {"statistic": "uniformity", "cohort_size": 60, "k": 2, "alpha": 0.5}
SHUFFLE_HISTOGRAM = {"statistic": "shuffle_histogram", "cohort_size": 120, "k": 3}


def shuffled_members(statistic: dict[str, Any]) -> dict[str, Any]:
    """A recipe file with a weak promise, which takes few users and messages."""
    return {
        "name": "Models",
        "question": "Which models are in use?",
        "epsilon": 4.0,
        "delta": 0.01,
    } | statistic


def values_file(directory: Path, *values: object) -> Path:
    path = directory / "values.csv"
    path.write_text("device,value\n" + "".join(f"d{n},{value}\n" for n, value in enumerate(values)))
    return path
