"""A release as files: exact values, nothing rounded."""

import csv
import hashlib
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice, repeat
from typing import Any

from panprivacy.recipe import format_time
from recipes.models import Recipe
from recipes.selectors import stated_plan
from releases.models import Release, SimulatedTruth
from releases.operations import SOFTWARE
from releases.selectors import interval_of
from releases.servers import stated_servers
from releases.shares import shares_document, shares_of
from trust_models import trust_model_of
from web.spreadsheets import inert

LINES_AT_ONCE = 1_000


def file_version(recipe: Recipe) -> str:
    """A digest of what the files of a release depend on beside numbers that never change: the truth of a
    simulation may come later, and other software may write other files."""
    truth = SimulatedTruth.objects.filter(recipe=recipe).exists()
    return hashlib.sha256(f"{recipe.identifier} {SOFTWARE} {truth}".encode()).hexdigest()


def release_document(recipe: Recipe, release: Release, truth: SimulatedTruth | None) -> dict[str, Any]:
    """Everything about a release as plain JSON values, with the recipe that it answers."""
    mechanism = recipe.published.calibrated_statistic
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
        "plan": stated_plan(recipe).members() or None,
    }
    document |= trust_model_of(recipe).told_with_release(recipe)
    if release.outcome == Release.Outcome.WITHHELD:
        return {**document, "cause": release.cause, "reason": release.reason}
    interval = interval_of(release)
    event = recipe.published.event
    document |= {
        "reports": release.reports,
        "unit": mechanism.unit,
        "event": event.name,
        "event_definition": event.definition,
        "labels": list(mechanism.labels),
        "value_labels": list(event.labels) or None,
        "estimate": release.values,
        "standard_error": release.standard_errors or None,
        "standard_error_note": release.standard_error_note,
        "interval": None
        if interval is None
        else {
            "level": interval.level,
            "low": interval.low,
            "high": interval.high,
            "together": len(release.values),
        },
        "error_bound": release.error_bounds,
        **shares_document(shares_of(recipe, release), release.values, interval),
        "confidence": release.confidence,
        "projection": release.projection,
        "details": release.details or {},
        "segments": segments_document(release, truth),
    }
    if truth is not None:
        document |= {"truth": truth.values, "devices": truth.devices, "sampled": truth.sampled}
    return document


def segments_document(release: Release, truth: SimulatedTruth | None) -> list[dict[str, Any]] | None:
    """What is told of each segment, with what is true where a simulation knows it; None without segments."""
    if release.segments is None:
        return None
    told = [dict(segment) for segment in release.segments]
    for segment, true in zip(told, (truth and truth.segments) or [], strict=False):
        segment["truth"] = {"devices": true["devices"], "answers": true["answers"]}
    return told


def release_json(document: Mapping[str, Any]) -> Iterator[str]:
    """The document as JSON, in pieces: a line for each member, as one of them may be megabytes."""
    opening = "{\n  "
    for name, value in document.items():
        yield f"{opening}{json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}"
        opening = ",\n  "
    yield "\n}\n"


def release_csv(recipe: Recipe, release: Release, truth: SimulatedTruth | None) -> Iterator[str]:
    """One line per estimate of a released result, empty where something is not known; in pieces.

    At `level` all truths together lie from `low_95` to `high_95`, of which an empty one bounds nothing; at
    `confidence` they lie within `error_bound` of their estimates. Where devices are counted, shares have the
    same interval, as parts of `share_of` devices. `value_label` and `event` are the recipe's. Details have
    columns of their own, the same on every line.
    """
    published, interval = recipe.published, interval_of(release)
    columns: dict[str, Iterable[object]] = {
        "estimate": release.values,
        "standard_error": release.standard_errors,
        "low_95": interval.low if interval else [],
        "high_95": interval.high if interval else [],
        "projection": release.projection,
        "unit": repeat(published.calibrated_statistic.unit),
        "reports": repeat(release.reports),
        "trust": repeat(published.trust.value),
        "error_bound": release.error_bounds or [],
        "confidence": repeat(release.confidence),
    }
    for name, members in trust_model_of(recipe).told_with_release(recipe).items():
        columns[name] = repeat(len(members))
    columns["level"] = repeat(interval.level if interval else None)
    shares = shares_of(recipe, release)
    if shares is not None:
        ends = shares.interval(interval) if interval else None
        columns |= {
            "share": map(shares.share, release.values),
            "share_low_95": ends.low if ends else [],
            "share_high_95": ends.high if ends else [],
            "share_of": repeat(shares.of),
        }
    columns |= {"value_label": map(inert, published.event.labels), "event": repeat(published.event.name)}
    columns |= {name: repeat(_cell(value)) for name, value in (release.details or {}).items()}
    if truth is not None:
        columns["truth_of_simulation"] = truth.values
    yield _lines([["label", *columns]])
    labels = map(published.calibrated_statistic.label, range(len(release.values)))
    # There are as many lines as labels; a column that is shorter is empty.
    rows = zip(labels, *(chain(column, repeat(None)) for column in columns.values()), strict=False)
    while lines := _lines(islice(rows, LINES_AT_ONCE)):
        yield lines


def _lines(rows: Iterable[Iterable[object]]) -> str:
    lines = io.StringIO()
    csv.writer(lines).writerows(rows)
    return lines.getvalue()


def _cell(value: object) -> object:
    return json.dumps(value) if isinstance(value, list | dict) else value
