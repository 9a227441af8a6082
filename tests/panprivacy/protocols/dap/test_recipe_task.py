"""A two-server recipe is one task, and everything that devices were promised is bound by it."""

import dataclasses
import random
from datetime import UTC, datetime

import pytest

from panprivacy.encryption import generate_private_key
from panprivacy.protocols.dap.basics import BatchMode, Role
from panprivacy.protocols.dap.vdafs import UnsupportedVdafError, verifier_for
from panprivacy.recipe.dap_task import REPORT_TIME, task_of
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.statistics.trust_models.single_server import OneServer
from panprivacy.statistics.trust_models.two_server import TwoServers
from tests.panprivacy.recipe.scene import COUNT
from tests.tokens import STRANGERS_KEY

OPENS_AT, CLOSES_AT = datetime(2026, 11, 1, tzinfo=UTC), datetime(2026, 12, 1, tzinfo=UTC)
KEYS = [generate_private_key("elgamal-secp256k1", random.Random(seed)) for seed in range(2)]
VERIFY_KEY = bytes(32)


def servers(scheme="elgamal-secp256k1"):
    keys = KEYS if scheme == KEYS[0].public_key.scheme else [
        generate_private_key(scheme, random.Random(seed)) for seed in range(2)
    ]  # fmt: skip
    return TwoServers(
        leader_url="https://leader.example/leader",
        leader_key_members=keys[0].public_key.to_json(),
        helper_url="https://helper.example/helper",
        helper_key_members=keys[1].public_key.to_json(),
        helper_verification_key=STRANGERS_KEY,
    )


def published(**changes):
    members = (
        COUNT
        | {
            "trust": "two_server",
            "cohort_size": 50,
            "opens_at": "2026-11-01T00:00:00Z",
            "closes_at": "2026-12-01T00:00:00Z",
        }
        | changes
    )
    draft = RecipeDraft.from_mapping(members)
    return draft.publish(servers(draft.encryption), OPENS_AT)


def test_task_of_a_recipe_is_named_by_it_and_has_one_bucket_to_its_end():
    recipe = published()
    task_id, configuration = task_of(recipe)
    assert task_id.hex() == recipe.identifier
    assert (configuration.min_batch_size, configuration.task_info) == (50, b"panapp recipe")
    assert configuration.leader_aggregator_endpoint == "https://leader.example/leader"
    assert configuration.helper_aggregator_endpoint == "https://helper.example/helper"
    assert configuration.batch_mode is BatchMode.TIME_INTERVAL
    interval = configuration.task_interval
    assert interval is not None
    assert (interval.start, interval.duration) == (REPORT_TIME, 1)
    assert interval.end * configuration.time_precision == CLOSES_AT.timestamp()
    # Never ahead of anybody's clock, however far away the opening is.
    assert REPORT_TIME * configuration.time_precision <= OPENS_AT.timestamp()


@pytest.mark.parametrize(
    ("changes", "encoded"),
    [
        ({}, "01 00000001"),
        ({"statistic": "histogram", "k": 10}, "01 0000000b"),
        ({"encryption": "paillier-2048"}, "02 00000001"),
    ],
)
def test_task_of_a_recipe_names_scheme_and_number_of_shares(changes, encoded):
    _, configuration = task_of(published(**changes))
    assert configuration.vdaf_type == 0xFFFF1001
    assert configuration.vdaf_configuration == bytes.fromhex(encoded)


def test_task_of_a_recipe_of_one_server_is_refused():
    recipe = dataclasses.replace(published(), servers=OneServer.of(KEYS[0].public_key))
    with pytest.raises(ValueError, match="not of two servers"):
        task_of(recipe)


def test_verifier_for_a_recipes_task_without_its_key_is_refused():
    task_id, configuration = task_of(published())
    for key in (None, generate_private_key("paillier-2048", random.Random(0))):
        with pytest.raises(ValueError, match="scheme elgamal-secp256k1"):
            verifier_for(configuration, task_id, Role.LEADER, VERIFY_KEY, key)


@pytest.mark.parametrize(
    "encoded", ["", "00 00000001", "04 00000001", "01 00000000", "01 000186a1", "01 00000001 00"]
)
def test_verifier_for_impossible_pan_private_parameters_is_refused(encoded):
    task_id, configuration = task_of(published())
    changed = dataclasses.replace(configuration, vdaf_configuration=bytes.fromhex(encoded))
    with pytest.raises(UnsupportedVdafError):
        verifier_for(changed, task_id, Role.LEADER, VERIFY_KEY, KEYS[0])
