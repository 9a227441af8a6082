"""A release as files: exact values, nothing rounded."""

import csv
import io
import json
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

from panprivacy.recipe import format_time
from recipes.kinds import STREAMS, kind_of
from recipes.models import Recipe
from releases.models import Release, SimulatedTruth
from releases.selectors import interval_of
from releases.servers import stated_servers
from streams.models import AnnouncedIntrusion
from streams.selectors import intrusions_of


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
    made = _intrusions_made(recipe)
    if made is not None:
        document["intrusions_made"] = [
            {"number": intrusion.number, "at": format_time(intrusion.at)} for intrusion in made
        ]
    if release.outcome == Release.Outcome.WITHHELD:
        return {**document, "cause": release.cause, "reason": release.reason}
    interval = interval_of(release)
    document |= {
        "reports": release.reports,
        "unit": mechanism.unit,
        "labels": list(mechanism.labels),
        "estimate": release.values,
        "standard_error": release.standard_errors or None,
        "standard_error_note": release.standard_error_note,
        "interval": None
        if interval is None
        else {"level": interval.level, "low": interval.low, "high": interval.high},
        "error_bound": release.error_bounds,
        "confidence": release.confidence,
        "projection": release.projection,
        "details": release.details or {},
    }
    if truth is not None:
        document |= {"truth": truth.values, "devices": truth.devices, "sampled": truth.sampled}
    return document


def release_csv(recipe: Recipe, release: Release, truth: SimulatedTruth | None) -> str:
    """One line per estimate of a released result, empty where something is not known.

    `low_95` and `high_95` bound its own 95 % interval; at `confidence` all estimates lie within their
    `error_bound` of the truth. Details have columns of their own, the same on every line.
    """
    published = recipe.published
    columns: dict[str, Sequence[object]] = {
        "label": published.mechanism.labels,
        "estimate": release.values,
        "standard_error": release.standard_errors,
    }
    interval = interval_of(release)
    columns |= {"low_95": interval.low if interval else [], "high_95": interval.high if interval else []}
    columns["projection"] = release.projection
    lines = len(release.values)
    columns["unit"] = [published.mechanism.unit] * lines
    columns |= {"reports": [release.reports] * lines, "trust": [published.trust.value] * lines}
    columns |= {"error_bound": release.error_bounds or [], "confidence": [release.confidence] * lines}
    made = _intrusions_made(recipe)
    if made is not None:
        columns["intrusions_made"] = [len(made)] * lines
    columns |= {name: [_cell(value)] * lines for name, value in (release.details or {}).items()}
    if truth is not None:
        columns["truth_of_simulation"] = truth.values
    rows = io.StringIO()
    writer = csv.writer(rows)
    writer.writerow(columns)
    # The longest is as long as there are estimates; what is shorter is not known of any.
    writer.writerows(zip_longest(*columns.values()))
    return rows.getvalue()


def _intrusions_made(recipe: Recipe) -> list[AnnouncedIntrusion] | None:
    """Those announced intrusions of a stream that took place, on which its error depends; None of a recipe
    that has no stream. What `announced_intrusions` says is how many were allowed."""
    if kind_of(type(recipe.published.mechanism)) is not STREAMS:
        return None
    return list(intrusions_of(str(recipe.identifier)))


def _cell(value: object) -> object:
    return json.dumps(value) if isinstance(value, list | dict) else value
