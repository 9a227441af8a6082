"""A device whose report is divided between two servers, from its first state to what they make of it."""

import dataclasses
import random

import pytest

from panprivacy.device.algorithm import ClientAlgorithm, DeviceState, Phase, wire_report
from panprivacy.device.state_file import DamagedStateError, LiveState, decode, encode
from panprivacy.encryption.interface import REPORT_NONCE_BYTES
from tests.panprivacy.device.two_servers import share_key_of, two_server_enrolment
from tests.panprivacy.encryption.schemes import ONE_PER_FILE
from tests.panprivacy.encryption.tables import with_tables
from tests.panprivacy.protocols.encrypted_shares.conftest import Servers
from tests.panprivacy.statistics.events.contract import CountingRandom

SURE = {"epsilon": 20.0}
"""A coin that randomizes with probability 4.1e-9."""


class Collection:
    """A recipe with its devices' algorithm and both servers."""

    def __init__(self, scheme="elgamal-secp256k1", **members):
        self.recipe, self.enrolment = two_server_enrolment(encryption=scheme, **SURE, **members)
        self.algorithm = ClientAlgorithm(self.recipe, with_tables(self.recipe.public_key))
        context = b"dap-18" + bytes.fromhex(self.recipe.identifier)
        self.servers = Servers(share_key_of(scheme, 0), share_key_of(scheme, 1), context)

    def states(self, events, source):
        state = self.algorithm.start(source)
        yield state
        for event in events:
            state = self.algorithm.step(state, event, source)
            yield state
        yield self.algorithm.finish(state, source)

    def bits(self, state):
        """What both servers make of the report that is sent."""
        report = wire_report(state)
        key = self.recipe.public_key
        return self.servers.bits([key.parse(one) for one in report.ciphertexts], report.nonce)


@pytest.mark.parametrize(
    ("scheme", "events"),
    [
        *((ONE_PER_FILE[0], events) for events in ((0, 0, 0, 0), (0, 1, 0, 0))),
        *((scheme, (1, 0, 1, 1)) for scheme in ONE_PER_FILE),
    ],
)
def test_report_of_a_device_is_accepted_under_the_nonce_of_its_first_state(scheme, events):
    for statistic, members, expected in (
        ("count_nonzero", {}, (int(any(events)),)),
        ("histogram", {"k": 2}, tuple(int(min(sum(events), 2) == i) for i in range(3))),
    ):
        collection = Collection(scheme, statistic=statistic, **members)
        states = list(collection.states(events, random.Random(1)))
        assert {state.nonce for state in states} == {states[0].nonce}
        assert len(states[0].nonce) == REPORT_NONCE_BYTES
        assert collection.bits(states[-1]) == expected


@pytest.fixture
def collection():
    return Collection()


def test_start_draws_the_nonce_before_everything_that_is_bound_to_it(collection):
    source = CountingRandom(3)
    state = collection.algorithm.start(source)
    # The sampling coin is `random()`, which is not counted; then the nonce, then a sharing.
    assert source.calls[:2] == [8 * REPORT_NONCE_BYTES, 8 * 64]
    assert len(source.calls) > 2
    assert state.nonce
    assert 8 * REPORT_NONCE_BYTES not in source.calls[1:]


def test_single_server_draws_the_nonce_with_the_report_as_before(server):
    algorithm = ClientAlgorithm(server.recipe)
    source = CountingRandom(6)
    state = algorithm.start(source)
    for _ in range(4):
        state = algorithm.step(state, True, source)
    assert state.nonce == b""
    assert 8 * REPORT_NONCE_BYTES not in source.calls
    reported = algorithm.finish(state, source)
    assert source.calls[-1] == 8 * REPORT_NONCE_BYTES
    assert len(reported.nonce) == REPORT_NONCE_BYTES
    lazily = CountingRandom(7)
    assert len(algorithm.report_of_count(1, lazily).nonce) == REPORT_NONCE_BYTES
    assert lazily.calls[-1] == 8 * REPORT_NONCE_BYTES


# The state file.


def test_state_file_of_every_state_keeps_the_nonce(collection):
    for state in collection.states((0, 1, 0, 1), random.Random(8)):
        live = decode(encode(collection.enrolment, state))
        assert isinstance(live, LiveState)
        assert live.state == state
        assert live.enrolment == collection.enrolment


def test_state_file_with_a_nonce_that_does_not_belong_there_is_damaged(collection):
    started = collection.algorithm.start(random.Random(10))
    damaged = [dataclasses.replace(started, nonce=bytes(length)) for length in (0, 15, 17)]
    damaged += [DeviceState(phase=Phase.NOT_SAMPLED, nonce=bytes(REPORT_NONCE_BYTES))]
    for state in damaged:
        with pytest.raises(DamagedStateError, match="nonce"):
            decode(encode(collection.enrolment, state))
