"""Stored results are those that were released."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from cryptography.exceptions import InvalidSignature

from log.audit.models import Entry
from log.audit.selectors import BrokenLogError
from log.public_log.checks import log_check
from panprivacy.protocols.transparency.conclusions import CONCLUDED, Conclusions
from panprivacy.protocols.transparency.findings import CheckError
from panprivacy.recipe.signed_result import CONTEXT
from results.excerpt import interval_of, release_excerpt
from results.models import Release, SignedResult
from storage.signing_key import verification_key


@log_check
def results_verify() -> None:
    """Every result against its entry, its signature, and the columns that pages show."""
    entered = _entered()
    for release in Release.objects.select_related("recipe", "signed").order_by("pk").iterator():
        identifier = str(release.recipe.identifier)
        if identifier not in entered and not release.recipe.private:
            raise BrokenLogError(f"the result of {identifier} has no entry")
        signed = getattr(release, "signed", None)
        if signed is None:
            raise BrokenLogError(f"the signed result of {identifier} is missing")
        if not release.recipe.private and _hash_of(signed) != entered.pop(identifier):
            raise BrokenLogError(f"the result of {identifier} is not the one that its entry names")
        _verify(release, signed)
    for identifier in entered:
        raise BrokenLogError(f"the result of {identifier} is missing")


def _entered() -> dict[str, str | None]:
    """Recipe → hash of its result, from the entries; None if an entry has none."""
    entries = Entry.objects.filter(action__in=CONCLUDED).order_by("index")
    found = Conclusions()
    for action, subject, details in entries.values_list("action", "subject", "details").iterator():
        try:
            found.add(action, subject, details)
        except CheckError as error:
            raise BrokenLogError(str(error)) from error
    return found.hashes


def _hash_of(signed: SignedResult) -> str:
    return hashlib.sha256(signed.document.encode()).hexdigest()


def _verify(release: Release, signed: SignedResult) -> None:
    identifier, content = release.recipe.identifier, signed.document.encode()
    try:
        verification_key().verify(bytes(signed.signature), CONTEXT + content)
    except InvalidSignature:
        raise BrokenLogError(f"the signature of the result of {identifier} does not hold") from None
    document: Mapping[str, Any] = json.loads(content)
    for member, value in _stated(release).items():
        if member in document and document[member] != json.loads(json.dumps(value)):
            raise BrokenLogError(f"{member} in the result of {identifier} is not what was signed")
    if release.recipe.unreadable or release.excerpt is None:
        return
    if release.excerpt != json.loads(json.dumps(release_excerpt(release))):
        raise BrokenLogError(f"what pages show of the result of {identifier} is not what was signed")


def _stated(release: Release) -> dict[str, Any]:
    """Fields of a signed result that columns of its release repeat, which pages show."""
    interval = interval_of(release)
    ends = None if interval is None else {"level": interval.level, "low": interval.low, "high": interval.high}
    return {
        "outcome": release.outcome,
        "cause": release.cause,
        "reason": release.reason,
        "reports": release.reports,
        "rejected": release.rejected,
        "software": release.software,
        "guarantees": release.guarantees,
        "admission": release.admission,
        "estimate": release.values,
        "standard_error": release.standard_errors or None,
        "standard_error_note": release.standard_error_note,
        "interval": ends and {**ends, "together": len(release.values)},
        "error_bound": release.error_bounds,
        "confidence": release.confidence,
        "projection": release.projection,
        "details": release.details or {},
        "segments": release.segments,
    }
