"""Results of categories recipes, as their site would sign them, with counts that the test chooses."""

import random
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from panprivacy.encryption import DEFAULT_SCHEME, generate_private_key
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.recipe.signed_result import result_hash
from panprivacy.recipe.targeting.citation import Citation
from panprivacy.statistics.trust_models.single_server import OneServer
from tests.tokens import token_admission

NOW = datetime(2026, 3, 1, tzinfo=UTC)
SERVERS = OneServer.of(generate_private_key(DEFAULT_SCHEME, random.Random(1)).public_key)
LABELS = ("linux", "mac", "other")


def members_of(**changes: Any) -> dict[str, Any]:
    """Of a recipe file that counts systems; None leaves one out."""
    members = {
        "name": "Systems",
        "question": "Which system do devices have?",
        "statistic": "categories",
        "epsilon": 2.0,
        "delta": 1e-6,
        "k": len(LABELS),
        "labels": list(LABELS),
        "event": "os",
        "trust": "single_server",
        "admission": "token",
        "cohort_size": 1_000,
        "sampling_rate": 0.5,
        **changes,
    }
    return {name: value for name, value in members.items() if value is not None}


def categories_recipe(*, simulation: bool = False, **changes: Any) -> PublishedRecipe:
    draft = RecipeDraft.from_mapping(members_of(**changes))
    tokens = token_admission() if "admission" in draft.as_dict() else None
    return draft.publish(SERVERS, NOW, simulation=simulation, admission=tokens)


def result_of(
    recipe: PublishedRecipe, ones: Sequence[int], reports: int, **changes: Any
) -> Mapping[str, Any]:
    """A released result of this sum."""
    estimate = recipe.calibrated_statistic.estimate(ones, reports)
    return {
        "id": recipe.identifier,
        "recipe": recipe.document,
        "outcome": "released",
        "simulation": recipe.simulation,
        "reports": reports,
        "estimate": list(estimate.values),
        **changes,
    }


def cited(result: Mapping[str, Any]) -> Citation:
    return Citation(recipe=result["id"], result=result_hash(result))
