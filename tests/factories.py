"""Reachable states only: everything is built through the product's own operations."""

import base64
import random
import secrets
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from panprivacy.accounting.interface import PrivacyEvent
from panprivacy.encryption.interface import Ciphertext
from panprivacy.recipe.rounds.draft import RoundsDraft
from panprivacy.recipe.rounds.privacy import rounds_event
from publishing.publication import recipe_publish, recipe_publish_file
from recipes.models import Recipe
from recipes.operations import recipe_draft_save
from reports.operations import reports_submit
from reports.store import Rejection


def recipe_members(**changes: Any) -> dict[str, Any]:
    """A recipe file; a change to None leaves the member out."""
    members = {
        "name": "Crash counter",
        "question": "On how many devices did it crash?",
        "statistic": "count_nonzero",
        "steps": 4,
        "epsilon": 2.0,
        "delta": 1e-6,
        "cohort_size": 5,
        **changes,
    }
    return {name: value for name, value in members.items() if value is not None}


def event_until(draft: RoundsDraft, rounds: int, dishonest_fraction: float = 0.0) -> PrivacyEvent:
    """The cost of the first rounds alone, from 1."""
    return rounds_event(draft.statistic, rounds, once=draft.once, dishonest_fraction=dishonest_fraction)


def stream_members(**changes: Any) -> dict[str, Any]:
    """A recipe file about a stream: counters of the numbers 0..9, which wrap around at a million."""
    members = {
        "name": "Aircraft",
        "question": "How often does an aircraft fly?",
        "statistic": "cropped_mean",
        "epsilon": 0.5,
        "items": "numbered",
        "universe_size": 10,
        "table_size": 10,
        "t": 1_000_000,
        **changes,
    }
    return {name: value for name, value in members.items() if value is not None}


def published_stream(
    *, simulation: bool = False, universe: Sequence[str] | None = None, **changes: Any
) -> Recipe:
    return recipe_publish_file(
        members=stream_members(**changes), actor=None, simulation=simulation, universe=universe
    )


def draft_recipe(**changes: Any) -> Recipe:
    return recipe_draft_save(members=recipe_members(**changes), actor=None)


def published_recipe(*, simulation: bool = False, **changes: Any) -> Recipe:
    return recipe_publish(recipe=draft_recipe(**changes), actor=None, simulation=simulation)


def fresh_nonce() -> bytes:
    return secrets.token_bytes(16)


def report_of_values(recipe: Recipe, values: Iterable[int], nonce: bytes | None = None) -> dict[str, Any]:
    """A report that encrypts chosen plaintexts, its fields as bytes: `as_json` encodes them."""
    source = secrets.SystemRandom()
    key = recipe.published.public_key
    ciphertexts = [bytes(key.encrypt(value, source)) for value in values]
    return {"nonce": nonce or fresh_nonce(), "ciphertexts": ciphertexts}


def report_of_count(recipe: Recipe, count: int, *, seed: int | None = None) -> dict[str, Any]:
    """An honest report of a device with `count` events."""
    source = secrets.SystemRandom() if seed is None else random.Random(seed)
    published = recipe.published
    report: tuple[Ciphertext, ...] = published.calibrated_statistic.report_of_count(
        published.public_key, count, source
    )
    return {"nonce": fresh_nonce(), "ciphertexts": [bytes(ciphertext) for ciphertext in report]}


def base64_of(value: bytes) -> str:
    return base64.b64encode(value).decode()


def as_json(report: Mapping[Any, Any]) -> dict[str, Any]:
    """The same report as JSON carries it: bytes in base64, whatever is missing or of another type."""
    return {name: _encoded(value) for name, value in report.items()}


def _encoded(value: Any) -> Any:
    if isinstance(value, list):
        return [_encoded(member) for member in value]
    return base64_of(value) if isinstance(value, bytes) else value


def raw_reports_submit(*, recipe: Recipe, reports: Iterable[dict[str, Any]]) -> list[Rejection]:
    """Take in reports whose fields are bytes, as the factories make them."""
    return reports_submit(recipe=recipe, reports=list(map(as_json, reports)))


def submitted(recipe: Recipe, *reports: dict[str, Any]) -> list[Rejection]:
    return raw_reports_submit(recipe=recipe, reports=reports)
