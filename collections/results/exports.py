"""A release as files: exact values, nothing rounded."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice, repeat
from typing import Any

from recipes.models import Recipe
from recipes.numbers import numbers_of
from results.documents import SOFTWARE, signed_document
from results.excerpt import interval_of
from results.models import Release, SimulatedTruth
from results.segment_lines import COLUMNS, derived_line, segment_lines
from results.shares import shares_of
from results.trust_models import collection_model_of
from web.spreadsheets import csv_lines

LINES_AT_ONCE = 1_000

ADMISSION_COLUMNS = ("issued", "low", "high", "verdict")
"""Fields of a release's `admission` that its CSV has, too."""


def file_version(recipe: Recipe) -> str:
    """A digest of what the files of a release depend on besides numbers that never change: the truth of a
    simulation may come later, and other software may write other files."""
    truth = SimulatedTruth.objects.filter(recipe=recipe).exists()
    return hashlib.sha256(f"{recipe.identifier} {SOFTWARE} {truth}".encode()).hexdigest()


def release_document(release: Release, truth: SimulatedTruth | None) -> dict[str, Any]:
    """Everything about a release as plain JSON values: what the site signed, its signature, and what only a
    simulation knows (`panprivacy.recipe.signed_result.UNSIGNED`), which is unsigned."""
    document = signed_document(release)
    if release.segments is not None:
        document["segments"] = segments_document(release, truth)
    if truth is not None:
        document |= {"truth": truth.values, "devices": truth.devices, "sampled": truth.sampled}
    return document


def segments_document(release: Release, truth: SimulatedTruth | None) -> list[dict[str, Any]] | None:
    """The document's part on each segment, with the truth if a simulation knows it; None without segments."""
    if release.segments is None:
        return None
    told = [dict(segment) for segment in release.segments]
    for segment, true in zip(told, (truth and truth.segments) or [], strict=False):
        segment["truth"] = {"devices": true["devices"], "answers": true["answers"]}
    return told


def release_json(document: Mapping[str, Any]) -> Iterator[str]:
    """The document as JSON, in pieces: a line for each field, because one of them may be megabytes."""
    opening = "{\n  "
    for name, value in document.items():
        yield f"{opening}{json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}"
        opening = ",\n  "
    yield "\n}\n"


def release_csv(recipe: Recipe, release: Release, truth: SimulatedTruth | None) -> Iterator[str]:
    """One line per estimate of a released result, empty if something is not known; in pieces.

    At `level` all truths together lie from `low_95` to `high_95`, and an empty end bounds nothing; at
    `confidence` they lie within `error_bound` of their estimates. If devices are counted, shares have the
    same interval, as parts of `share_of` devices. `value_label` and `event` are the recipe's. Details have
    columns of their own, the same on every line; so does what one dishonest device moves at most, if the
    statistic bounds it. Derived numbers, such as conversions, have a line each, with their own unit. If it
    asks by segment, lines of each segment follow, with the columns of
    `segment_lines`.
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
    robustness = numbers_of(recipe).robustness
    if robustness is not None:
        # What one dishonest device moves at most.
        columns |= {
            "robustness_each": repeat(robustness.each),
            "robustness_together": repeat(robustness.together),
        }
    for name, members in collection_model_of(recipe).told_with_release(recipe).items():
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
    if release.admission is not None:
        columns |= {f"tokens_{name}": repeat(release.admission[name]) for name in ADMISSION_COLUMNS}
    columns |= {"value_label": published.event.labels, "event": repeat(published.event_name)}
    details = dict(release.details or {})
    derived = details.pop("derived", [])
    if not derived:
        columns |= {name: repeat(_cell(value)) for name, value in details.items()}
    if truth is not None:
        columns["truth_of_simulation"] = truth.values
    if release.segments is not None:
        columns |= {name: repeat(None) for name in COLUMNS}
    header = ["label", *columns]
    yield csv_lines([header])
    labels = list(map(published.calibrated_statistic.label, range(len(release.values))))
    # There are as many lines as labels; a column that is shorter is empty.
    rows = zip(labels, *(chain(column, repeat(None)) for column in columns.values()), strict=False)
    while lines := csv_lines(islice(rows, LINES_AT_ONCE)):
        yield lines
    for one in derived:
        line = {"trust": published.trust.value, **derived_line(one, details["level"])}
        yield csv_lines([[line.get(name) for name in header]])
    told = segments_document(release, truth) or []
    same = {"unit": published.calibrated_statistic.unit, "trust": published.trust.value}
    below = segment_lines(told, labels, published.event.labels)
    cells = ([{**same, **line}.get(name) for name in header] for line in below)
    while lines := csv_lines(islice(cells, LINES_AT_ONCE)):
        yield lines


def _cell(value: object) -> object:
    return json.dumps(value) if isinstance(value, list | dict) else value
