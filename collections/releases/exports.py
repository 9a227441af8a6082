"""A release as files: exact values, nothing rounded."""

import csv
import io
from typing import Any

from panprivacy.recipe import format_time
from recipes.models import Recipe
from recipes.presentation import Z_95
from releases.models import Release, SimulatedTruth


def release_document(recipe: Recipe, release: Release, truth: SimulatedTruth | None) -> dict[str, Any]:
    """Everything about a release as plain JSON values, with the recipe that it answers."""
    mechanism = recipe.published.mechanism
    document: dict[str, Any] = {
        "id": recipe.identifier,
        "recipe": recipe.published.document,
        "outcome": release.outcome,
        "released_at": format_time(release.released_at),
        "software": release.software,
        "simulation": recipe.simulation,
        "rejected": release.rejected,
        "guarantees": release.guarantees,
    }
    if release.outcome == Release.Outcome.WITHHELD:
        return {**document, "reason": release.reason}
    document |= {
        "reports": release.reports,
        "unit": mechanism.unit,
        "labels": list(mechanism.labels),
        "values": release.values,
        "standard_errors": release.standard_errors,
        "standard_error_note": release.standard_error_note,
        "projection": release.projection,
    }
    if truth is not None:
        document["truth"] = {"values": truth.values, "devices": truth.devices, "sampled": truth.sampled}
    return document


def release_csv(recipe: Recipe, release: Release, truth: SimulatedTruth | None) -> str:
    """One line per estimate. `low_95` and `high_95` bound the 95 % interval of `estimate`."""
    columns = ["label", "estimate", "standard_error", "low_95", "high_95", "projection", "unit", "reports"]
    rows = io.StringIO()
    writer = csv.writer(rows)
    writer.writerow([*columns, *(["truth_of_simulation"] if truth is not None else [])])
    mechanism = recipe.published.mechanism
    truths: list[list[float]] = (
        [[value] for value in truth.values] if truth is not None else [[]] * len(release.values)
    )
    members = zip(
        mechanism.labels, release.values, release.standard_errors, release.projection, truths, strict=True
    )
    for label, value, error, projection, known in members if release.values else ():
        bounds = (value - Z_95 * error, value + Z_95 * error)
        writer.writerow([label, value, error, *bounds, projection, mechanism.unit, release.reports, *known])
    return rows.getvalue()
