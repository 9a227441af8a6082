"""A recipe and its release, in the words and numbers that the pages show."""

from dataclasses import dataclass
from datetime import datetime

from recipes.models import Recipe
from recipes.presentation import (
    Z_66,
    at_place,
    consistent_with_zero,
    estimate_with_margin,
    margin,
    place_of,
    significant,
)
from releases.models import Release, SimulatedTruth


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
    truths = truth.values if truth is not None else [None] * len(release.values)
    return [
        _row(*members)
        for members in zip(
            labels, release.values, release.standard_errors, release.projection, truths, strict=True
        )
    ]


def _row(label: str, value: float, error: float, projection: float, truth: float | None) -> EstimateRow:
    place = place_of(error)
    return EstimateRow(
        label=label,
        estimate=at_place(value, place),
        standard_error=at_place(error, place),
        interval_66=_interval(value, Z_66 * error, place),
        interval_95=_interval(value, margin(error), place),
        note="consistent with zero" if consistent_with_zero(value, error) else "",
        projection=at_place(projection, place),
        truth="" if truth is None else at_place(truth, min(place, 0)),
    )


def _interval(value: float, half: float, place: int) -> str:
    return f"{at_place(value - half, place)} to {at_place(value + half, place)}"


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
