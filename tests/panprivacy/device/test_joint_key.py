"""A device of a recipe with a joint key: what its state file shows, and the report that comes of it."""

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from panprivacy.device.algorithm import Phase
from panprivacy.device.client import Device, NoTokenError
from panprivacy.device.state_file import LiveState, decode
from panprivacy.device.transport import Delivery, TransportError
from panprivacy.statistics.trust_models.members import RecipeVerificationError
from tests.panprivacy.device.attester import URL, MemoryAttester
from tests.panprivacy.device.in_process import InProcessTransport
from tests.panprivacy.device.joint_key import JointServer
from tests.panprivacy.device.server import VERIFICATION_KEY
from tests.panprivacy.device.two_servers import HELPER_KEY
from tests.panprivacy.protocols.privacy_pass.keys import seeded_key
from tests.tokens import ISSUER_KEY

IDENTITY = Ed25519PrivateKey.from_private_bytes(bytes(range(1, 33)))
KEYS = {
    "verification_key": VERIFICATION_KEY,
    "issuer_key": ISSUER_KEY.public_key().public_bytes_raw(),
    "simulation": True,
}
PIECE = 48
"""Bytes of a point of G1, and of half a point of G2."""


@pytest.fixture(scope="module")
def server():
    """Epsilon is so large that the coin flips no report, except with a probability below 1e-8."""
    return JointServer(epsilon=20, sampling_rate=1)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "state"


def join(path, server, **options):
    return Device.join(path, server.served, **KEYS | {"helper_key": HELPER_KEY} | options)


def kept(path):
    """The ciphertexts in a state file."""
    content = decode(path.read_bytes())
    assert isinstance(content, LiveState)
    return [bytes(each) for each in content.state.ciphertexts]


def test_join_without_the_right_helper_key_is_refused(path, server):
    for key in (None, VERIFICATION_KEY):
        with pytest.raises(RecipeVerificationError, match="helper"):
            join(path, server, helper_key=key)
    assert not path.exists()


def test_every_step_changes_all_of_the_state_and_no_size_shows_events(tmp_path, server):
    sizes = []
    for number, events in enumerate([(0, 0, 0, 0), (1, 1, 1, 1), (0, 1, 0, 1)]):
        path, seen, lengths = tmp_path / str(number), set(), []
        with join(path, server) as device:
            for event in (None, *events, None):
                if event is not None:
                    device.step(event)
                elif device.steps_taken:
                    device.finish()
                (content,) = kept(path)
                assert len(content) <= 900
                pieces = {content[at : at + PIECE] for at in range(0, len(content), PIECE)}
                assert len(pieces) == len(content) // PIECE
                # No piece of any state before is in it, wherever it was.
                assert not pieces & seen
                seen |= pieces
                lengths.append(path.stat().st_size)
        sizes.append(lengths)
    assert sizes[0] == sizes[1] == sizes[2]


@pytest.mark.parametrize("event_at", [None, 1, 4])
def test_device_that_stops_after_everything_delivers_one_report(path, server, event_at):
    server.reports.clear()
    bodies = []

    def losing(environ, start_response):
        bodies.append(environ["wsgi.input"].getvalue())
        server(environ, start_response)
        raise TransportError("no answer")

    join(path, server).close()
    if event_at is not None:
        for number in range(1, event_at + 1):
            with Device.open(path) as device:
                device.step(number == event_at, number=number)
    with Device.open(path) as device:
        device.catch_up(4)
    with Device.open(path) as device, pytest.raises(NoTokenError, match="get it first"):
        device.send(server.transport())
    assert server.reports == {}
    attester = MemoryAttester({server.recipe.identifier: seeded_key()})
    with Device.open(path) as device:
        device.obtain_token(InProcessTransport(attester, others={URL: attester}), IDENTITY)
    with Device.open(path) as device:
        device.finish()
        assert device.phase is Phase.REPORTED
    report = kept(path)
    for _ in range(2):
        with Device.open(path) as device, pytest.raises(TransportError):
            device.send(InProcessTransport(losing))
        assert kept(path) == report
    with Device.open(path) as device:
        assert device.send(server.transport()) is Delivery.DUPLICATE
    assert len(set(bodies)) == 1
    assert list(server.reports.values()) == [tuple(report)]
    assert server.decrypted() == [(int(event_at is not None),)]
