"""Lengths that are known beforehand are those of honest reports, of every VDAF and every HPKE algorithm."""

import dataclasses
import functools
import random
from collections.abc import Callable

import pytest

from panprivacy.encryption import SCHEMES
from panprivacy.encryption import generate_private_key as generate_share_key
from panprivacy.protocols.dap.basics import Extension, Role
from panprivacy.protocols.dap.client import ShardedReport, seal_report, shard_measurement
from panprivacy.protocols.dap.hpke import generate_keypair, seal_input_share
from panprivacy.protocols.dap.lengths import MOST_ENCAPSULATED_BYTES, MOST_EXTENSION_BYTES, report_lengths
from panprivacy.protocols.dap.task import TaskConfiguration
from panprivacy.protocols.dap.upload import InputShareAad, PlaintextInputShare, ReportMetadata
from panprivacy.protocols.encrypted_shares.configuration import IDENTIFIER, PanPrivateCountVec
from panprivacy.protocols.encrypted_shares.shared_key import SharedKey
from panprivacy.protocols.hpke import KemName
from tests.panprivacy.protocols.dap.test_vdafs import EXAMPLES, configuration_of

TASK_ID = bytes(32)
R = random.Random(5)
OURS, _ = generate_keypair(0, R, KemName.X25519)
X_WING, _ = generate_keypair(1, R, KemName.X_WING)


def plain(name: str) -> tuple[TaskConfiguration, ShardedReport]:
    vdaf_type, config, _, measurements, _ = EXAMPLES[name]
    configuration = configuration_of(vdaf_type, config.encode())
    return configuration, shard_measurement(TASK_ID, configuration, measurements[0], time=0, random_source=R)


@functools.cache
def pan_private(scheme: str) -> tuple[TaskConfiguration, ShardedReport]:
    both = generate_share_key(scheme, R).public_key  # lengths do not depend on whose key it is
    key = SharedKey(both, both, b"context").bound_to(bytes(16))
    parts = [key.split(bytes(key.encrypt(bit, R))) for bit in (0, 1, 1)]
    shares = [b"".join(part[side] for part in parts) for side in (0, 1)]
    configuration = configuration_of(IDENTIFIER, PanPrivateCountVec(scheme, 3).encode())
    return configuration, ShardedReport(ReportMetadata(bytes(16), 0), b"", *shares)


VDAFS: dict[str, Callable[[], tuple[TaskConfiguration, ShardedReport]]] = {
    **{name: lambda name=name: plain(name) for name in EXAMPLES},
    **{scheme: lambda scheme=scheme: pan_private(scheme) for scheme in SCHEMES},
}


@pytest.mark.parametrize(
    ("make", "helper_config"),
    [
        *(
            pytest.param(make, OURS, id=f"{name}-X25519", marks=[pytest.mark.long] * ("3072" in name))
            for name, make in VDAFS.items()
        ),
        # Whose key seals a share adds the same bytes to each.
        pytest.param(VDAFS["Prio3Histogram"], X_WING, id="Prio3Histogram-X-Wing"),
    ],
)
def test_lengths_fit_an_honest_report_and_none_that_is_a_byte_shorter(make, helper_config):
    configuration, sharded = make()
    lengths = report_lengths(configuration)
    assert lengths.fit(seal_report(sharded, TASK_ID, configuration, OURS, helper_config, R))
    for name in ("leader_share", "helper_share"):
        shorter = dataclasses.replace(sharded, **{name: getattr(sharded, name)[:-1]})
        assert not lengths.fit(seal_report(shorter, TASK_ID, configuration, OURS, helper_config, R))


@pytest.fixture
def sealed():
    configuration, sharded = plain("Prio3Histogram")
    report = seal_report(sharded, TASK_ID, configuration, OURS, OURS, R)
    assert report_lengths(configuration).fit(report)
    return configuration, report, sharded


@pytest.mark.parametrize("name", ["leader_encrypted_input_share", "helper_encrypted_input_share"])
def test_lengths_fit_no_part_that_is_longer_than_possible(sealed, name):
    configuration, report, _ = sealed
    lengths, part = report_lengths(configuration), getattr(report, name)
    for member, most in (
        ("payload", len(part.payload) + MOST_EXTENSION_BYTES),
        ("enc", MOST_ENCAPSULATED_BYTES),
    ):
        for length, fits in ((most, True), (most + 1, False), (16_000_000, False)):
            longer = dataclasses.replace(part, **{member: bytes(length)})
            assert lengths.fit(dataclasses.replace(report, **{name: longer})) is fits


@pytest.mark.parametrize("length", [0, 63, 65, 16_000_000])
def test_lengths_fit_no_public_share_but_one(sealed, length):
    configuration, report, _ = sealed
    assert not report_lengths(configuration).fit(dataclasses.replace(report, public_share=bytes(length)))


def test_lengths_leave_room_for_a_private_extension(sealed):
    configuration, report, sharded = sealed
    extended = PlaintextInputShare((Extension(9, bytes(1_020)),), sharded.helper_share)
    aad = InputShareAad(TASK_ID, configuration, sharded.metadata, sharded.public_share)
    part = seal_input_share(OURS, Role.HELPER, aad, extended, R)
    assert report_lengths(configuration).fit(dataclasses.replace(report, helper_encrypted_input_share=part))
