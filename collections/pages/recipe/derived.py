"""What follows from the cells of a regular question, as a sentence and as a table."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from panprivacy.statistics.events.regular import RegularQuestion
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
        DerivedRow(
            one["label"], shown_number(one, one["value"]), f"{shown_number(one, one['low'])} to {_top(one)}"
        )
        for one in derived_of(release)
    ]


def _top(one: Mapping[str, Any]) -> str:
    return "no end" if one["high"] is None else shown_number(one, one["high"])


def shown_number(one: Mapping[str, Any], value: float | None) -> str:
    """A derived number, or one of its ends, with its unit."""
    if value is None:
        return "not known"
    if one["unit"] == "share":
        return f"{significant(100 * value, 3)}%"
    if one["unit"] == "difference":
        return f"{significant(100 * value, 3)} points"
    return f"{number(value)} steps" if one["unit"] == "steps" else significant(value, 3)


def answer_sentence(recipe: Recipe, release: Release, whole: str) -> str:
    """The answer in a sentence, such as "Of 20,000 devices 41% ± 2 points had search; of those 12% ± 2 points
    had buy"; empty if nothing is derived.

    Args:
        whole: all devices, as text.
    """
    found = {one["name"]: one for one in derived_of(release)}
    question = question_of(recipe)
    if question is None or not found:
        return ""
    parts = [
        text.format(_with_margin(found[name]) if found[name]["unit"] == "share" else _median(found[name]))
        for name, text in question.answer
    ]
    return f"Of {whole} {'; '.join(parts)}"


def question_of(recipe: Recipe) -> Any:
    """The question of a recipe that asks a regular one, otherwise None."""
    statistic = recipe.published.calibrated_statistic
    return statistic.question if isinstance(statistic, RegularQuestion) else None


def _with_margin(one: Mapping[str, Any]) -> str:
    if one["high"] - one["low"] > 0.9:
        return "an unknown share"
    margin = 100 * max(one["value"] - one["low"], one["high"] - one["value"])
    return f"{significant(100 * one['value'], 3)}% ± {significant(margin)} points"


def _median(one: Mapping[str, Any]) -> str:
    if one["high"] is None:
        return f"later than step {number(one['low'])}, or never"
    return f"after step {number(one['low'])} and within step {number(one['high'])}"
