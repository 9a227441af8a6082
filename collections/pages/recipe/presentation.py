"""A recipe and its release, in the words and numbers that the pages show."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pages.words.verdicts import NOTICED, verdict_shown
from panprivacy.planning.expectation import margin
from panprivacy.statistic import Statistic
from recipes.models import Recipe
from releases.excerpt import Excerpt
from releases.models import Release, SimulatedTruth
from releases.selectors import (
    LEVEL,
    Interval,
    bounds_of,
    excerpt_of,
    joint_bounds_of,
    shown_interval_of,
    verdict_of,
)
from web.numbers import (
    at_place,
    consistent_with_zero,
    estimate_with_margin,
    number,
    place_of,
    significant,
    within,
)


@dataclass(frozen=True)
class Status:
    """Where a recipe stands: `key` for style sheets, `label` for people."""

    key: str
    label: str


def status_of(recipe: Recipe, release: Release | None, now: datetime) -> Status:
    """Where a published recipe stands at `now`."""
    if release is not None:
        return Status(release.outcome, release.get_outcome_display())
    if recipe.status == Recipe.Status.CLOSED:
        return Status("summing", "Closed, being summed up")
    if not recipe.simulation and recipe.opens_at is not None and now < recipe.opens_at:
        return Status("scheduled", "Not open yet")
    return Status("open", "Open")


def is_below_cohort(release: Release | None) -> bool:
    """Whether nothing was released because too few valid reports came."""
    return release is not None and release.cause == Release.Cause.TOO_FEW


def release_of(recipe: Recipe) -> Release | None:
    """The outcome of a recipe, if it has one."""
    return getattr(recipe, "release", None)


SAYS_NOTHING = "says nothing"

LARGEST_OF_MANY = (
    "The largest of many estimates are large by chance as well; the margin for all together allows for that."
)


@dataclass(frozen=True)
class EstimateRow:
    """One estimate as a row of the table; every member is text at one common place, empty where unknown."""

    label: str
    estimate: str
    standard_error: str
    interval_66: str
    interval_95: str
    error_bound: str
    within_bound: str
    note: str
    projection: str
    truth: str


@dataclass(frozen=True)
class Headline:
    """The release in one sentence, and the level of its margin: "95 %", or empty where it has none."""

    text: str
    level: str


def estimate_rows(recipe: Recipe, release: Release, truth: SimulatedTruth | None) -> list[EstimateRow]:
    """What is shown of the release as rows; the truth only where a simulation knows it."""
    mechanism = recipe.published.calibrated_statistic
    excerpt = excerpt_of(release)
    wide, narrow = shown_interval_of(excerpt), shown_interval_of(excerpt, 0.66)
    bounds = bounds_of(excerpt)
    margins = _margins(excerpt)
    rows: list[EstimateRow] = []
    for row, position in enumerate(excerpt.positions):
        value, error = excerpt.values[row], _at(excerpt.standard_errors, row)
        bound, half_width = _at(excerpt.error_bounds, row), margins[row]
        place = _place(value, error, bound)
        rows.append(
            EstimateRow(
                label=mechanism.label(position),
                estimate=at_place(value, place),
                standard_error="" if error is None else at_place(error, place),
                interval_66=_interval(narrow, row, place),
                interval_95=_interval(wide, row, place),
                error_bound="" if bound is None else f"± {at_place(bound, place)}",
                within_bound=_interval(bounds, row, place),
                note=_note(value, half_width, mechanism),
                projection=at_place(excerpt.projection[row], place),
                truth="" if truth is None else at_place(truth.values[position], min(place, 0)),
            )
        )
    return rows


def headline(recipe: Recipe, release: Release) -> Headline:
    """The release in one sentence."""
    if release.details and verdict_of(release):
        return Headline(f"Verdict: {verdict_shown(release.details)}", "")
    mechanism, excerpt = recipe.published.calibrated_statistic, excerpt_of(release)
    triples = list(zip(excerpt.positions, excerpt.values, _margins(excerpt), strict=True))
    position, value, half_width = max(triples, key=lambda triple: triple[1])
    note = _note(value, half_width, mechanism)
    text = f"{estimate_with_margin(value, half_width)} {mechanism.unit}" + (f": {note}" if note else "")
    if not mechanism.scalar:
        text = f"Largest: “{mechanism.label(position)}” with {text}"
    return Headline(text, _level_text(excerpt))


def error_sentence(recipe: Recipe, release: Release) -> str:
    """How far a repeat would land from the truth, and what is included in that."""
    unit, excerpt = recipe.published.calibrated_statistic.unit, excerpt_of(release)
    error = excerpt.largest_standard_error
    if verdict_of(release) and error is not None:
        noticed = recipe.published.calibrated_statistic.expected_note
        said = f"The standard error of Z′ is {significant(error)} {_continued(release.standard_error_note)}"
        return " ".join(filter(None, (NOTICED, said, noticed)))
    sentences = []
    joint = joint_bounds_of(excerpt) is not None
    if joint:
        sentences.append(LARGEST_OF_MANY)
    if error is not None and joint:
        sentences.append(
            f"The standard error of a single estimate, chosen beforehand, is {significant(error)}."
        )
    elif error is not None:
        sentences.append(
            f"About 95 of 100 repeats would land {within(margin(error), unit)} "
            f"(standard error {significant(error)})."
        )
    bounds, bound = bounds_of(excerpt), excerpt.largest_error_bound
    if bounds is not None and bound is not None:
        which = "all estimates together lie" if excerpt.count > 1 else "the estimate lies"
        sentences.append(
            f"With a probability of at least {percent(bounds.level)}, {which} "
            f"{within(bound, unit)} (error bound)."
        )
    note = release.standard_error_note
    sentences.append(note if error is not None else f"Standard error: {_continued(note)}")
    return " ".join(sentences)


def says_nothing(recipe: Recipe, release: Release) -> bool:
    """Whether no estimate has a margin smaller than half the range of possible answers."""
    least = _least_margin(excerpt_of(release))
    if least is None or verdict_of(release):
        return False
    return recipe.published.calibrated_statistic.says_nothing(least)


def percent(level: float) -> str:
    """0.95 → "95 %"."""
    return f"{number(round(100 * level, 6))} %"


def _level_text(excerpt: Excerpt) -> str:
    """The level of the margin that the headline has; empty where it has none."""
    if shown_interval_of(excerpt) is not None:
        return percent(LEVEL)
    bounds = bounds_of(excerpt)
    if bounds is None:
        return ""
    return f"at least {percent(bounds.level)}" + (", all together" if joint_bounds_of(excerpt) else "")


def _margins(excerpt: Excerpt) -> Sequence[float | None]:
    """Half the width of the interval around each estimate shown: 95 %, or of its error bound; always of the
    error bound where that is of several at once."""
    if shown_interval_of(excerpt) is not None:
        return [margin(error) for error in excerpt.standard_errors]
    if bounds_of(excerpt) is not None:
        return excerpt.error_bounds
    return [None] * len(excerpt.values)


def _least_margin(excerpt: Excerpt) -> float | None:
    """The smallest of those around all estimates, shown or not; None where there are none."""
    if shown_interval_of(excerpt) is not None and excerpt.least_standard_error is not None:
        return margin(excerpt.least_standard_error)
    return None if bounds_of(excerpt) is None else excerpt.least_error_bound


def _note(value: float, half_width: float | None, mechanism: Statistic[Any]) -> str:
    """What must be said of an estimate with so large a margin; else empty."""
    if half_width is not None and mechanism.says_nothing(half_width):
        return SAYS_NOTHING
    return "consistent with zero" if consistent_with_zero(value, half_width) else ""


def _continued(sentence: str) -> str:
    """A sentence as the rest of one."""
    return sentence[:1].lower() + sentence[1:]


def _at(values: list[float] | None, position: int) -> float | None:
    return values[position] if values else None


def _place(value: float, error: float | None, bound: float | None) -> int:
    known = [uncertainty for uncertainty in (error, bound) if uncertainty is not None]
    return place_of(known[0]) if known else place_of(value, 4)


def _interval(interval: Interval | None, position: int, place: int) -> str:
    if interval is None:
        return ""
    return f"{at_place(interval.low[position], place)} to {at_place(interval.high[position], place)}"
