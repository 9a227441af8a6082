"""A recipe and its release, in the words and numbers that the pages show."""

from dataclasses import dataclass
from datetime import datetime

from recipes.models import Recipe
from recipes.presentation import (
    at_place,
    consistent_with_zero,
    estimate_with_margin,
    margin,
    place_of,
    significant,
)
from releases.models import Release, SimulatedTruth
from releases.selectors import Interval, interval_of


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


@dataclass(frozen=True)
class EstimateRow:
    """One estimate as a row of the table; every member is text at one common place."""

    label: str
    estimate: str
    standard_error: str
    interval_66: str
    interval_95: str
    note: str
    projection: str
    truth: str


def estimate_rows(recipe: Recipe, release: Release, truth: SimulatedTruth | None) -> list[EstimateRow]:
    """The release as rows; the truth only where a simulation knows it."""
    labels = recipe.published.mechanism.labels
    wide, narrow = interval_of(release), interval_of(release, 0.66)
    rows: list[EstimateRow] = []
    for position, label in enumerate(labels):
        value, error = release.values[position], release.standard_errors[position]
        place = place_of(error)
        rows.append(
            EstimateRow(
                label=label,
                estimate=at_place(value, place),
                standard_error=at_place(error, place),
                interval_66=_interval(narrow, position, place),
                interval_95=_interval(wide, position, place),
                note="consistent with zero" if consistent_with_zero(value, error) else "",
                projection=at_place(release.projection[position], place),
                truth="" if truth is None else at_place(truth.values[position], min(place, 0)),
            )
        )
    return rows


def _interval(interval: Interval, position: int, place: int) -> str:
    return f"{at_place(interval.low[position], place)} to {at_place(interval.high[position], place)}"


def headline(recipe: Recipe, release: Release) -> str:
    """The release in one sentence."""
    mechanism = recipe.published.mechanism
    pairs = list(zip(mechanism.labels, release.values, release.standard_errors, strict=True))
    label, value, error = max(pairs, key=lambda pair: pair[1])
    figure = f"{estimate_with_margin(value, error)} {mechanism.unit}"
    zero = ": consistent with zero" if consistent_with_zero(value, error) else ""
    if mechanism.scalar:
        return f"{figure}{zero}"
    return f"Largest: “{label}” with {figure}{zero}"


def error_sentence(recipe: Recipe, release: Release) -> str:
    """How far a repeat would land from the truth."""
    unit = recipe.published.mechanism.unit
    error = max(release.standard_errors)
    return (
        f"About 95 of 100 repeats would land within ± {significant(margin(error))} {unit} of the truth "
        f"(standard error {significant(error)})."
    )
