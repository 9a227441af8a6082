"""What a recipe's statistic is known to do, where the code needs a particular kind."""

import random
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from panprivacy.encryption import generate_private_key
from panprivacy.recipe import PublishedRecipe
from panprivacy.recipe_draft import RecipeDraft
from panprivacy.recipe_statistic import report_statistic
from panprivacy.statistic import Statistic
from panprivacy.streams.recipe_statistic import stream_statistic
from panprivacy.trust_models import Servers
from panprivacy.trust_models.curator import Curator
from panprivacy.trust_models.single_server import OneServer

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def published(members: dict[str, object], servers: Servers) -> PublishedRecipe:
    draft = RecipeDraft.from_mapping({"name": "Test", "question": "How many?", **members})
    return draft.publish(servers, NOW)


@pytest.fixture
def of_devices() -> PublishedRecipe:
    members = {"statistic": "count_nonzero", "steps": 4, "epsilon": 2.0, "delta": 1e-6, "cohort_size": 5}
    key = generate_private_key("elgamal-secp256k1", random.Random(1))
    return published(members, OneServer.of(key.public_key))


@pytest.fixture
def of_a_stream() -> PublishedRecipe:
    members = {"statistic": "density", "epsilon": 0.5, "universe_size": 100, "table_size": 10}
    return published(members, Curator(sample_digest=bytes(32)))


def test_statistic_of_a_recipe_is_handed_out_as_what_it_is(
    of_devices: PublishedRecipe, of_a_stream: PublishedRecipe
) -> None:
    assert report_statistic(of_devices) is of_devices.calibrated_statistic
    assert stream_statistic(of_a_stream) is of_a_stream.calibrated_statistic


@pytest.mark.parametrize(
    ("statistic_of", "recipe", "words"),
    [
        (report_statistic, "of_a_stream", "density is not made of reports"),
        (stream_statistic, "of_devices", "count_nonzero is not of a stream of items"),
    ],
)
def test_statistic_of_another_kind_is_refused_by_its_name(
    statistic_of: Callable[[PublishedRecipe], Statistic],
    recipe: str,
    words: str,
    request: pytest.FixtureRequest,
) -> None:
    with pytest.raises(TypeError, match=words):
        statistic_of(request.getfixturevalue(recipe))
