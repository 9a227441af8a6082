import random
from datetime import UTC, datetime

import pytest

from panprivacy.encryption import generate_private_key
from panprivacy.recipe import PublishedRecipe
from panprivacy.recipe_draft import RecipeDraft
from panprivacy.shuffle.distinct_elements import DistinctElements
from panprivacy.shuffle.recipe_statistic import shuffle_statistic
from panprivacy.trust_models import Servers
from panprivacy.trust_models.shuffler import ShufflerAndAnalyzer
from panprivacy.trust_models.single_server import OneServer
from tests.tokens import STRANGERS_KEY

KEY = generate_private_key("elgamal-secp256k1", random.Random(1)).public_key
OF_DEVICES = {"statistic": "count_nonzero", "steps": 4, "epsilon": 2.0, "delta": 1e-6, "cohort_size": 5}
OF_A_SHUFFLE = {"statistic": "distinct_elements", "epsilon": 1, "delta": 1e-6, "cohort_size": 100, "k": 5}


def published(members: dict[str, object], servers: Servers) -> PublishedRecipe:
    draft = RecipeDraft.from_mapping({"name": "Test", "question": "How many?", **members})
    return draft.publish(servers, datetime(2026, 1, 1, tzinfo=UTC))


def test_statistic_of_a_recipe_of_a_shuffler_has_its_parameters() -> None:
    servers = ShufflerAndAnalyzer(
        shuffler_url="https://shuffler.example/shuffler",
        shuffler_verification_key=STRANGERS_KEY,
        analyzer_key_members=KEY.to_json(),
    )
    statistic = shuffle_statistic(published(OF_A_SHUFFLE, servers))
    assert type(statistic) is DistinctElements
    assert (statistic.cohort_size, statistic.parameters.k) == (100, 5)


def test_statistic_of_another_recipe_is_refused_by_its_name() -> None:
    with pytest.raises(TypeError, match="count_nonzero does not go through a shuffler"):
        shuffle_statistic(published(OF_DEVICES, OneServer.of(KEY)))
