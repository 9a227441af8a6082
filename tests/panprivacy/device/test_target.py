"""A recipe for a part of its population: only the device knows whether it is in it, and no server sees it."""

from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from devices_sim.fleet import run_fleet
from devices_sim.fleet_attributes import FleetAttributes
from devices_sim.fleet_result import FleetResult
from devices_sim.workloads.synthetic import bernoulli
from panprivacy.device.algorithm import Phase
from panprivacy.device.attributes import read_attributes
from panprivacy.device.client import Device
from panprivacy.device.transport import Delivery
from panprivacy.formats.errors import FieldError
from tests.panprivacy.device.attester import URL, MemoryAttester
from tests.panprivacy.device.in_process import InProcessTransport
from tests.panprivacy.device.relay import RELAY_URL, MemoryGateway, Relay
from tests.panprivacy.device.server import VERIFICATION_KEY
from tests.panprivacy.protocols.privacy_pass.keys import seeded_key
from tests.refusals import field_refused
from tests.tokens import ISSUER_KEY

IDENTITY = Ed25519PrivateKey.from_private_bytes(bytes(range(1, 33)))
ISSUER = ISSUER_KEY.public_key().public_bytes_raw()
TARGET = {"os": {"value": "linux", "recipe": "a" * 64}, "region": {"value": "eu", "recipe": "c" * 64}}
INSIDE = {"os": "linux", "region": "eu", "model": "x"}
ALWAYS = 1 - 1e-12
"""A sampling rate must be below 1; these devices take part all the same, but for one in 10¹²."""


class Scene:
    def __init__(self, make_server: Any, sampling_rate: float = ALWAYS) -> None:
        self.server = make_server(
            tokens=True, relay=RELAY_URL, target=TARGET, steps=1, sampling_rate=sampling_rate
        )
        self.attester = MemoryAttester({self.server.recipe.identifier: seeded_key()})
        relay = Relay({"/relay/site": MemoryGateway(self.server)})
        self.transport = InProcessTransport(relay, others={RELAY_URL: relay, URL: self.attester})

    def join(self, path: Path, attributes: dict[str, str] | None) -> Device:
        return Device.join(
            path,
            self.server.served,
            verification_key=VERIFICATION_KEY,
            issuer_key=ISSUER,
            simulation=True,
            attributes=attributes,
        )

    def fleet(self, **options: Any) -> FleetResult:
        return run_fleet(
            served=self.server.served,
            verification_key=VERIFICATION_KEY,
            issuer_key=ISSUER,
            workload=bernoulli(devices=6, steps=1, probability=0.5, seed=3),
            transport=lambda: self.transport,
            **{"seed": 5, **options},
        )

    @property
    def issued(self) -> int:
        return len(self.attester.issued[self.server.recipe.identifier])


@pytest.fixture
def scene(make_server: Any) -> Scene:
    return Scene(make_server)


def test_device_in_the_target_reports(scene, tmp_path):
    with scene.join(tmp_path / "state", INSIDE) as device:
        device.step(True)
        device.obtain_token(scene.transport, IDENTITY)
        assert device.send(scene.transport) is Delivery.ACCEPTED
    assert len(scene.server.reports) == 1


@pytest.mark.parametrize("own", [{}, {"os": "linux"}, {"os": "linux", "region": "us"}])
def test_device_outside_of_the_target_takes_a_token_and_sends_nothing(scene, tmp_path, own):
    with scene.join(tmp_path / "state", own) as device:
        device.step(True)
        device.obtain_token(scene.transport, IDENTITY)
        assert device.send(scene.transport) is None
    assert (scene.issued, scene.server.reports) == (1, {})


def test_state_does_not_tell_who_is_outside_from_who_is_not_sampled(make_server, tmp_path):
    """But for one in a million, the other device is not sampled."""
    outside, unlucky = tmp_path / "outside", tmp_path / "unlucky"
    scene = Scene(make_server, sampling_rate=1e-6)
    scene.join(outside, {}).close()
    with scene.join(unlucky, INSIDE) as device:
        assert device.phase is Phase.NOT_SAMPLED
    one, other = (file.read_bytes() for file in (outside, unlucky))
    assert len(one) == len(other)
    assert b"linux" not in one.replace(b'"value":"linux"', b"")  # but for the public recipe's own


def test_device_without_attributes_is_refused_and_stores_nothing(scene, tmp_path):
    with pytest.raises(FieldError, match="--attributes"):
        scene.join(tmp_path / "state", None)
    assert not (tmp_path / "state").exists()
    with pytest.raises(FieldError, match="--attributes"):
        scene.fleet()


def test_fleet_takes_all_tokens_and_reports_in_the_target_only(scene, tmp_path):
    file = tmp_path / "attributes.csv"
    file.write_text("device,os,region\ndevice-1,linux,eu\ndevice-2,linux,us\ndevice-4,linux,eu\n")
    result = scene.fleet(attributes=FleetAttributes.parse(str(file)))
    assert (result.devices, result.outside, result.sampled, result.accepted) == (6, 4, 2, 2)
    assert result.devices_by_answer.total() == 2
    assert (scene.issued, len(scene.server.reports)) == (6, 2)
    assert scene.server.batches == []  # each report goes alone through the relay


def test_fleet_with_the_same_attributes_for_all(scene):
    assert scene.fleet(attributes=FleetAttributes.parse("os=linux, region=eu")).accepted == 6
    assert scene.fleet(attributes=FleetAttributes.parse("os=mac,region=eu"), seed=6).outside == 6


def test_attributes_are_refused_where_a_fleets_recipe_has_no_target(make_server):
    server = make_server(steps=1)
    with pytest.raises(FieldError, match="no target"):
        run_fleet(
            served=server.served,
            verification_key=VERIFICATION_KEY,
            workload=bernoulli(devices=1, steps=1, probability=0.5, seed=3),
            transport=server.transport,
            attributes=FleetAttributes.parse("os=linux"),
        )


@pytest.mark.parametrize(
    ("content", "field"),
    [
        ("", "attributes"),
        ("os,device\n", "attributes"),
        ("device\n", "attributes"),
        ("device,O S\n", "attributes"),
        ("device,os\na,linux\na,mac\n", "device"),
        ("device,os\na,li nux\n", "os"),
        ("device,os\na\n", "attributes"),
        ("device,os\n,linux\n", "device"),
    ],
)
def test_file_of_attributes_that_is_wrong_is_refused_by_column(tmp_path, content, field):
    file = tmp_path / "attributes.csv"
    file.write_text(content)
    with field_refused(field):
        FleetAttributes.parse(str(file))


def test_device_reads_its_own_from_the_option_or_from_a_file(tmp_path):
    file = tmp_path / "own"
    for content in ("os=linux\n\nregion=eu\n", "\ufeffos=linux\rregion=eu\x1a"):
        file.write_bytes(content.encode())
        assert read_attributes(str(file)) == read_attributes("os=linux,region=eu")
    file.write_bytes(b"os=linux\n\xff")
    with pytest.raises(FieldError, match="attributes: line 2: must be UTF-8 text"):
        read_attributes(str(file))
    assert read_attributes("") == {}
    with pytest.raises(FieldError, match="repeated"):
        read_attributes("os=linux,os=mac")
    with pytest.raises(OSError, match="nowhere"):
        read_attributes(str(tmp_path / "nowhere"))
