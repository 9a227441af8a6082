"""What follows from the cells of a regular question, as a sentence and as a table."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from panprivacy.statistics.events.questions.interface import steps_text
from panprivacy.statistics.events.regular import Question, RegularParameters
from recipes.models import Recipe
from results.models import Release
from web.numbers import number, significant


@dataclass(frozen=True)
class DerivedRow:
    """One derived number, ready to be shown."""

    label: str
    value: str
    ends: str


def derived_of(release: Release) -> list[dict[str, Any]]:
    """The derived numbers of a release, as plain JSON; none if its statistic has none."""
    found = (release.details or {}).get("derived", ())
    return list(found)


def derived_rows(release: Release) -> list[DerivedRow]:
    """The same as rows of a table."""
    return [
        DerivedRow(one["label"], shown_number(one, one["value"]), shown_ends(one))
        for one in derived_of(release)
    ]


def shown_ends(one: Mapping[str, Any]) -> str:
    """The interval of a derived number."""
    top = "no end" if one["high"] is None else shown_number(one, one["high"])
    return f"{shown_number(one, one['low'])} to {top}"


def shown_number(one: Mapping[str, Any], value: float | None) -> str:
    """A derived number, or one of its ends, with its unit."""
    if value is None:
        return "not known"
    if one["unit"] == "share":
        return f"{significant(100 * value, 3)}%"
    if one["unit"] == "difference":
        return f"{significant(100 * value, 3)} points"
    return steps_text(int(value)) if one["unit"] == "steps" else significant(value, 3)


def answer_sentence(recipe: Recipe, derived: Iterable[Mapping[str, Any]], whole: str) -> str:
    """The answer in a sentence, such as "Of 20,000 devices 41% ± 2 points had search; of those 12% ± 2 points
    had buy"; empty if nothing is derived.

    Args:
        derived: numbers of all devices, or of one segment.
        whole: these devices, as text.
    """
    found = {one["name"]: one for one in derived}
    question = question_of(recipe)
    if question is None or not found:
        return ""
    parts = [text.format(with_margin(found[name])) for name, text in question.answer]
    return f"Of {whole} {'; '.join(parts)}"


def question_of(recipe: Recipe) -> Question | None:
    """The question of a recipe that asks a regular one, otherwise None."""
    parameters = recipe.published.calibrated_statistic.parameters
    return parameters.question if isinstance(parameters, RegularParameters) else None


def with_margin(one: Mapping[str, Any], unit: str = " points") -> str:
    """A share with its margin, or where a median lies, as part of a sentence.

    Args:
        unit: after the margin.
    """
    if one["unit"] != "share":
        return _median(one)
    if one["high"] - one["low"] > 0.9:
        return "an unknown share"
    margin = 100 * max(one["value"] - one["low"], one["high"] - one["value"])
    return f"{significant(100 * one['value'], 3)}% ± {significant(margin)}{unit}"


def _median(one: Mapping[str, Any]) -> str:
    if one["high"] is None:
        return f"later than {steps_text(one['low'])}, or never"
    if not one["low"]:
        return f"within {steps_text(one['high'])}"
    return f"within a time between {number(one['low'])} and {steps_text(one['high'])}"
