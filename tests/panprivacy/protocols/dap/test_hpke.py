"""Shares open only for whom, in what and under which parameters they were sealed."""

import dataclasses
import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from panprivacy.formats.tls_messages import InvalidMessageError
from panprivacy.protocols.dap.basics import BatchMode, Extension, HpkeCiphertext, HpkeConfig, Interval, Role
from panprivacy.protocols.dap.collection import AggregateShareAad, CollectionJobReq, Query
from panprivacy.protocols.dap.hpke import (
    Recipient,
    choose_config,
    generate_keypair,
    open_,
    open_aggregate_share,
    open_input_share,
    seal,
    seal_aggregate_share,
    seal_input_share,
)
from panprivacy.protocols.dap.task import TaskConfiguration, task_interval_extension
from panprivacy.protocols.dap.upload import HpkeConfigList, InputShareAad, PlaintextInputShare, ReportMetadata
from panprivacy.protocols.hpke import HpkeOpenError, HpkeSealError, KemName

SOURCE = random.Random(18)
CONFIG, PRIVATE_KEY = generate_keypair(7, SOURCE, KemName.X25519)
RECIPIENT = Recipient(CONFIG, PRIVATE_KEY)

CONFIGURATION = TaskConfiguration(
    task_info=b"info",
    leader_aggregator_endpoint="https://leader.example",
    helper_aggregator_endpoint="https://helper.example",
    time_precision=3600,
    min_batch_size=100,
    batch_mode=BatchMode.TIME_INTERVAL,
    batch_config=b"",
    vdaf_type=2,
    vdaf_configuration=bytes.fromhex("00000000000000ff"),
    extensions=(task_interval_extension(Interval(10, 2)),),
)
METADATA = ReportMetadata(bytes(16), 11, (Extension(5, b"five"),))
AAD = InputShareAad(bytes(32), CONFIGURATION, METADATA, b"public")
SHARE = PlaintextInputShare((Extension(6, b"six"),), b"share")
COLLECTION = CollectionJobReq(Query.of_interval(Interval(10, 2)))
AGGREGATE_AAD = AggregateShareAad(bytes(32), CONFIGURATION, COLLECTION)


OTHERS = {
    "task_id": bytes(31) + b"\1",
    "task_configuration": {
        "task_info": b"inf0",
        "leader_aggregator_endpoint": "https://leader.example/",
        "helper_aggregator_endpoint": "https://helper.example:443",
        "time_precision": 3601,
        "min_batch_size": 99,
        "batch_mode": BatchMode.LEADER_SELECTED,
        "batch_config": None,  # Nothing else is allowed in it.
        "vdaf_type": 1,
        "vdaf_configuration": bytes.fromhex("0000000000000100"),
        "extensions": (task_interval_extension(Interval(10, 3)),),
    },
    "report_metadata": {"report_id": bytes(15) + b"\1", "time": 12, "public_extensions": ()},
    "public_share": b"publik",
    "collection_job_req": {
        "query": Query.of_interval(Interval(10, 1)),
        "agg_param": b"?",
        "extensions": (Extension(1, b""),),
    },
}
"""Another value of each field of associated data; a table for a field that has fields itself."""


def changed(message: Any, others: Mapping[str, Any]) -> Iterator[Any]:
    """The message with one thing changed, for every field in it."""
    for field in dataclasses.fields(message):
        other = others[field.name]
        if isinstance(other, dict):
            values = list(changed(getattr(message, field.name), other))
        else:
            values = [] if other is None else [other]
        yield from (dataclasses.replace(message, **{field.name: value}) for value in values)


def test_seal_is_bound_to_the_info_string_of_the_draft():
    """The share for the leader opens under exactly "dap-18 input share", client, leader."""
    sealed = seal_input_share(CONFIG, Role.LEADER, AAD, SHARE, SOURCE)
    info = b"dap-18 input share\x01\x02"
    assert open_(CONFIG, PRIVATE_KEY, sealed, info, AAD.encode()) == SHARE.encode()
    sealed = seal_aggregate_share(CONFIG, Role.HELPER, AGGREGATE_AAD, b"sum", SOURCE)
    info = b"dap-18 aggregate share\x03\x00"
    assert open_(CONFIG, PRIVATE_KEY, sealed, info, AGGREGATE_AAD.encode()) == b"sum"


def test_input_share_opens_to_its_role_as_it_was_sealed_only():
    """Whoever ran a report under another cohort size, VDAF, address or time would have to open it."""
    sealed = seal_input_share(CONFIG, Role.HELPER, AAD, SHARE, SOURCE)
    wrong = [(role, AAD) for role in set(Role) - {Role.HELPER}]
    wrong += [(Role.HELPER, aad) for aad in changed(AAD, OTHERS)]
    assert len(wrong) == 3 + 14
    for role, aad in wrong:
        with pytest.raises(HpkeOpenError):
            open_input_share(RECIPIENT, role, aad, sealed)
    # A share that does not open leaves the recipient as it was.
    assert open_input_share(RECIPIENT, Role.HELPER, AAD, sealed) == SHARE


def test_aggregate_share_opens_from_its_role_as_it_was_sealed_only():
    sealed = seal_aggregate_share(CONFIG, Role.HELPER, AGGREGATE_AAD, b"sum", SOURCE)
    wrong = [(role, AGGREGATE_AAD) for role in set(Role) - {Role.HELPER}]
    wrong += [(Role.HELPER, aad) for aad in changed(AGGREGATE_AAD, OTHERS)]
    assert len(wrong) == 3 + 13
    for role, aad in wrong:
        with pytest.raises(HpkeOpenError):
            open_aggregate_share(CONFIG, PRIVATE_KEY, role, aad, sealed)
    assert open_aggregate_share(CONFIG, PRIVATE_KEY, Role.HELPER, AGGREGATE_AAD, sealed) == b"sum"


@pytest.mark.parametrize(
    "alter",
    [
        lambda sealed: dataclasses.replace(sealed, config_id=8),
        lambda sealed: dataclasses.replace(sealed, enc=sealed.enc[:-1] + bytes((sealed.enc[-1] ^ 1,))),
        lambda sealed: dataclasses.replace(sealed, enc=b"short"),
        lambda sealed: dataclasses.replace(sealed, enc=bytes(32)),
        lambda sealed: dataclasses.replace(sealed, payload=b"\0" + sealed.payload[1:]),
        lambda sealed: dataclasses.replace(sealed, payload=sealed.payload[:-1]),
        lambda sealed: dataclasses.replace(sealed, payload=b"p"),
    ],
    ids=["other key", "enc", "short enc", "point of small order", "payload", "cut payload", "no tag"],
)
def test_open_altered_ciphertext_is_refused(alter: Callable[[HpkeCiphertext], HpkeCiphertext]):
    sealed = seal(CONFIG, b"info", b"aad", b"plaintext", SOURCE)
    assert open_(CONFIG, PRIVATE_KEY, sealed, b"info", b"aad") == b"plaintext"
    _, other = generate_keypair(7, SOURCE, KemName.X25519)
    for private_key, altered in ((PRIVATE_KEY, alter(sealed)), (other, sealed)):
        with pytest.raises(HpkeOpenError):
            open_(CONFIG, private_key, altered, b"info", b"aad")


def test_open_input_share_that_is_no_share_is_an_invalid_message():
    sealed = seal(CONFIG, b"dap-18 input share\x01\x02", AAD.encode(), b"no share", SOURCE)
    with pytest.raises(InvalidMessageError, match="PlaintextInputShare"):
        open_input_share(RECIPIENT, Role.LEADER, AAD, sealed)


def test_seal_depends_on_the_random_source_only_and_never_repeats():
    sealed = [seal(CONFIG, b"", b"", b"plaintext", random.Random(seed)) for seed in (1, 1, 2)]
    assert sealed[0] == sealed[1]
    assert sealed[0].enc != sealed[2].enc
    source = random.Random(1)
    assert seal(CONFIG, b"", b"", b"x", source).enc != seal(CONFIG, b"", b"", b"x", source).enc


@pytest.mark.parametrize("kem", KemName)
def test_input_share_sealed_with_either_kem_opens(kem: KemName):
    config, private_key = generate_keypair(9, SOURCE, kem)
    sealed = seal_input_share(config, Role.LEADER, AAD, SHARE, SOURCE)
    assert open_input_share(Recipient(config, private_key), Role.LEADER, AAD, sealed) == SHARE
    assert len(sealed.enc) == {KemName.X_WING: 1_120, KemName.X25519: 32}[kem]


@pytest.mark.parametrize("numbers", [(0x20, 1, 0xFFFF), (0x20, 1, 9), (0x20, 9, 1), (0x99, 1, 1)])
def test_seal_to_unknown_algorithms_is_refused(numbers):
    config = HpkeConfig(1, *numbers, CONFIG.public_key)
    with pytest.raises(HpkeSealError):
        seal(config, b"", b"", b"plaintext", SOURCE)


@pytest.mark.parametrize("public_key", [b"short", bytes(32)], ids=["short", "point of small order"])
def test_seal_to_something_that_is_no_key_is_refused(public_key):
    with pytest.raises(HpkeSealError):
        seal(dataclasses.replace(CONFIG, public_key=public_key), b"", b"", b"plaintext", SOURCE)


def test_choose_config_takes_the_first_that_is_supported():
    unknown = HpkeConfig(1, 0x99, 1, 1, b"?")
    other, _ = generate_keypair(8, SOURCE)
    configs = HpkeConfigList((unknown, CONFIG, other))
    assert choose_config(configs) is choose_config(configs, KemName.X25519) is CONFIG
    assert choose_config(configs, KemName.X_WING) is other
    with pytest.raises(HpkeSealError, match="with x-wing"):
        choose_config(HpkeConfigList((CONFIG,)), KemName.X_WING)
    with pytest.raises(HpkeSealError, match="none of the HPKE configurations"):
        choose_config(HpkeConfigList((unknown,)))
