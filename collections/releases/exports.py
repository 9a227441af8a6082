"""A release as files: exact values, nothing rounded."""

import csv
import io
from typing import Any

from panprivacy.recipe import format_time
from recipes.models import Recipe
from releases.models import Release, SimulatedTruth
from releases.selectors import interval_of
from releases.servers import stated_servers


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
        "trust": recipe.published.trust.value,
        "rejected": release.rejected,
        "servers": [server.as_dict() for server in stated_servers(release)],
        "guarantees": release.guarantees,
    }
    if release.outcome == Release.Outcome.WITHHELD:
        return {**document, "cause": release.cause, "reason": release.reason}
    interval = interval_of(release)
    document |= {
        "reports": release.reports,
        "unit": mechanism.unit,
        "labels": list(mechanism.labels),
        "estimate": release.values,
        "standard_error": release.standard_errors,
        "standard_error_note": release.standard_error_note,
        "interval": {"level": interval.level, "low": interval.low, "high": interval.high},
        "projection": release.projection,
    }
    if truth is not None:
        document |= {"truth": truth.values, "devices": truth.devices, "sampled": truth.sampled}
    return document


def release_csv(recipe: Recipe, release: Release, truth: SimulatedTruth | None) -> str:
    """One line per estimate of a released result; `low_95` and `high_95` bound its 95 % interval."""
    columns = ["label", "estimate", "standard_error", "low_95", "high_95"]
    columns += ["projection", "unit", "reports", "trust"]
    rows = io.StringIO()
    writer = csv.writer(rows)
    writer.writerow([*columns, *(["truth_of_simulation"] if truth is not None else [])])
    mechanism = recipe.published.mechanism
    interval = interval_of(release)
    for position, label in enumerate(mechanism.labels):
        known = [truth.values[position]] if truth is not None else []
        writer.writerow(
            [
                label,
                release.values[position],
                release.standard_errors[position],
                interval.low[position],
                interval.high[position],
                release.projection[position],
                mechanism.unit,
                release.reports,
                recipe.published.trust.value,
                *known,
            ]
        )
    return rows.getvalue()
