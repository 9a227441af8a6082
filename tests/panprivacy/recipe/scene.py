"""Recipes as the tests of the library draft and publish them."""

import random
from datetime import UTC, datetime
from typing import Any

from panprivacy.encryption import DEFAULT_SCHEME, generate_private_key
from panprivacy.encryption.interface import PublicKey
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.statistics.trust_models import Servers
from panprivacy.statistics.trust_models.shuffler import ShufflerAndAnalyzer
from panprivacy.statistics.trust_models.single_server import OneServer
from tests.tokens import STRANGERS_KEY

NOW = datetime(2026, 1, 1, tzinfo=UTC)
OF_A_STREAM = {"statistic": "density", "epsilon": 0.5, "universe_size": 100, "table_size": 10}
OF_A_SHUFFLE = {"statistic": "distinct_elements", "epsilon": 1, "delta": 1e-6, "cohort_size": 100, "k": 5}


def public_key(seed: int = 1, scheme: str = DEFAULT_SCHEME) -> PublicKey:
    return generate_private_key(scheme, random.Random(seed)).public_key


def one_server() -> OneServer:
    return OneServer.of(public_key())


def shuffler_and_analyzer(verification_key: bytes = STRANGERS_KEY) -> ShufflerAndAnalyzer:
    return ShufflerAndAnalyzer(
        shuffler_url="https://shuffler.example/shuffler",
        shuffler_verification_key=verification_key,
        analyzer_key_members=public_key().to_json(),
    )


COUNT = {
    "name": "Crashes",
    "question": "On how many devices did it crash?",
    "statistic": "count_nonzero",
    "steps": 4,
    "epsilon": 2.0,
    "delta": 1e-6,
    "cohort_size": 5,
}


def drafted(**changes: Any) -> RecipeDraft:
    """A count of devices; a change to None leaves the member out."""
    members = COUNT | changes
    return RecipeDraft.from_mapping({name: value for name, value in members.items() if value is not None})


def published(servers: Servers | None = None, **changes: Any) -> PublishedRecipe:
    return drafted(**changes).publish(servers or one_server(), NOW)


def published_by(members: dict[str, object], servers: Servers) -> PublishedRecipe:
    """Of these members alone."""
    return RecipeDraft.from_mapping({"name": "Test", "question": "How many?", **members}).publish(
        servers, NOW
    )
