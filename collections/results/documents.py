"""What is signed of a result: its document, once and for good."""

import hashlib
import json
from typing import Any

from panprivacy.formats import base64_text
from panprivacy.formats.times import format_time
from panprivacy.recipe.signed_result import sign_result
from panprivacy.statistics.shares import shares_document
from recipes.models import Recipe
from recipes.numbers import numbers_of
from recipes.selectors import stated_plan
from results.excerpt import interval_of
from results.models import Release, SignedResult
from results.servers import stated_servers
from results.shares import shares_of
from results.trust_models import collection_model_of
from storage.signing_key import signing_key

SOFTWARE = "panapp 0.2.0"
"""Named in every release: what computed it."""


def result_sign(*, release: Release) -> str:
    """Store the document of a release and the site's signature, in the transaction that stores the release.

    Returns:
        SHA-256 of the document, 64 hexadecimal digits, for the log.
    """
    document, signature = sign_result(_document(release.recipe, release), signing_key())
    SignedResult.objects.create(release=release, document=document.decode(), signature=signature)
    return hashlib.sha256(document).hexdigest()


def signed_document(release: Release) -> dict[str, Any]:
    """What the site signed of a release, as plain JSON values, and `signature`."""
    signed = SignedResult.objects.get(release=release)
    document: dict[str, Any] = json.loads(signed.document)
    return {**document, "signature": base64_text.encode(bytes(signed.signature))}


def _document(recipe: Recipe, release: Release) -> dict[str, Any]:
    """Everything about a release as plain JSON values, with the recipe that it answers."""
    document: dict[str, Any] = {
        "id": recipe.identifier,
        "recipe": json.loads(recipe.document),
        "outcome": release.outcome,
        "released_at": format_time(release.released_at),
        "software": release.software,
        "simulation": recipe.simulation,
        "trust": recipe.trust.value,
        "rejected": release.rejected,
        "servers": [server.as_dict() for server in stated_servers(release)],
        "guarantees": release.guarantees,
        "plan": stated_plan(recipe).members() or None,
    }
    if not recipe.unreadable and (robustness := numbers_of(recipe).robustness):
        document["robustness"] = robustness.as_dict()
    document |= collection_model_of(recipe).told_with_release(recipe)
    if release.outcome == Release.Outcome.WITHHELD:
        return {**document, "cause": release.cause, "reason": release.reason}
    mechanism = recipe.published.calibrated_statistic
    interval = interval_of(release)
    event = recipe.published.event
    document |= {
        "reports": release.reports,
        "admission": release.admission,
        "unit": mechanism.unit,
        "event": recipe.published.event_name,
        "events": list(recipe.published.event_names),
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
        "segments": release.segments,
    }
    return document
