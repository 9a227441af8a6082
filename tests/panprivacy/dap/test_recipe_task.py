"""A two-server recipe is one task, and everything that devices were promised is bound by it."""

import dataclasses
import random
from datetime import UTC, datetime

import pytest

from panprivacy.dap.basics import BatchMode, Role
from panprivacy.dap.hpke import (
    HpkeOpenError,
    Recipient,
    generate_keypair,
    open_input_share,
    seal_input_share,
)
from panprivacy.dap.recipe_task import REPORT_TIME, task_of
from panprivacy.dap.task import TaskConfiguration
from panprivacy.dap.upload import InputShareAad, PlaintextInputShare, ReportMetadata
from panprivacy.dap.vdafs import UnsupportedVdafError, verifier_for
from panprivacy.encryption import generate_private_key
from panprivacy.prio3.interface import InvalidShareError, Prepared, ReportInput
from panprivacy.recipe_draft import RecipeDraft
from panprivacy.trust_models.single_server import OneServer
from panprivacy.trust_models.two_server import TwoServers
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
    members = {
        "name": "Crashes",
        "question": "On how many devices did it crash?",
        "statistic": "count_nonzero",
        "trust": "two_server",
        "steps": 4,
        "epsilon": 2.0,
        "delta": 1e-6,
        "cohort_size": 50,
        "opens_at": "2026-11-01T00:00:00Z",
        "closes_at": "2026-12-01T00:00:00Z",
    } | changes
    draft = RecipeDraft.from_mapping(members)
    return draft.publish(servers(draft.encryption), OPENS_AT)


def test_task_of_a_recipe_is_named_by_it_and_has_its_cohort_size():
    recipe = published()
    task_id, configuration = task_of(recipe)
    assert task_id.hex() == recipe.identifier
    assert configuration.min_batch_size == 50
    assert configuration.leader_aggregator_endpoint == "https://leader.example/leader"
    assert configuration.helper_aggregator_endpoint == "https://helper.example/helper"
    assert configuration.batch_mode is BatchMode.TIME_INTERVAL
    assert configuration.task_info == b"panapp recipe"
    assert TaskConfiguration.decode(configuration.encode()) == configuration


def test_task_of_a_recipe_has_one_bucket_that_ends_with_the_recipe():
    _, configuration = task_of(published())
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


@pytest.mark.parametrize(
    "change",
    [
        {"cohort_size": 49},
        {"epsilon": 2.5},
        {"steps": 5},
        {"question": "Did it?"},
        {"opens_at": "2026-11-02T00:00:00Z"},
    ],
)
def test_share_sealed_for_a_recipe_does_not_open_for_one_that_differs(change):
    source = random.Random(0)
    config, private_key = generate_keypair(1, source)
    metadata = ReportMetadata(bytes(16), REPORT_TIME)
    former, latter = (
        InputShareAad(*task_of(recipe), metadata, b"") for recipe in (published(), published(**change))
    )
    sealed = seal_input_share(config, Role.HELPER, former, PlaintextInputShare((), b"x"), source)
    assert open_input_share(Recipient(config, private_key), Role.HELPER, former, sealed).payload == b"x"
    with pytest.raises(HpkeOpenError):
        open_input_share(Recipient(config, private_key), Role.HELPER, latter, sealed)


def test_task_of_a_recipe_of_one_server_is_refused():
    recipe = dataclasses.replace(published(), servers=OneServer.of(KEYS[0].public_key))
    with pytest.raises(ValueError, match="not of two servers"):
        task_of(recipe)


def test_verifiers_of_a_recipes_task_add_up_what_devices_share():
    recipe = published(statistic="histogram", k=2)
    task_id, configuration = task_of(recipe)
    leader, helper = (
        verifier_for(configuration, task_id, role, VERIFY_KEY, key)
        for role, key in zip((Role.LEADER, Role.HELPER), KEYS, strict=True)
    )
    source = random.Random(3)
    nonce = source.randbytes(16)
    key = recipe.public_key.bound_to(nonce)
    parts = [key.split(bytes(key.encrypt(bit, source))) for bit in (0, 1, 0)]
    leader_report, helper_report = (
        ReportInput(nonce, b"", b"".join(side)) for side in zip(*parts, strict=True)
    )
    [first] = leader.leader_init([leader_report])
    assert isinstance(first, Prepared)
    [second] = helper.helper_init([helper_report], [first.outbound])
    assert isinstance(second, Prepared)
    [out_share] = leader.leader_finish([first.state], [second.outbound])
    assert leader.unshard(out_share, second.out_share, 1) == (0, 1, 0)


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


def test_verifier_of_a_recipes_task_refuses_a_share_under_another_report_id():
    recipe = published()
    task_id, configuration = task_of(recipe)
    source = random.Random(3)
    key = recipe.public_key.bound_to(bytes(16))
    stolen, part = key.split(bytes(key.encrypt(1, source)))
    leader = verifier_for(configuration, task_id, Role.LEADER, VERIFY_KEY, KEYS[0])
    [first] = leader.leader_init([ReportInput(b"\1" * 16, b"", stolen)])
    # Alone it is random bytes; the helper sees that they do not add up.
    assert isinstance(first, Prepared)
    helper = verifier_for(configuration, task_id, Role.HELPER, VERIFY_KEY, KEYS[1])
    [refused] = helper.helper_init([ReportInput(b"\1" * 16, b"", part)], [first.outbound])
    assert isinstance(refused, ValueError)
    assert not isinstance(refused, InvalidShareError)
