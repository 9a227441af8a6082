import copy
import errno
import fcntl
import os
import random
import secrets
import stat
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from scipy.stats import binom

from devices_sim import storage
from devices_sim.algorithm import DeviceError, ParticipationOverError, Phase, WrongStepError
from devices_sim.client import AlreadyJoinedError, Device, NotJoinedError, RecipeRefusedError
from devices_sim.state_file import DamagedStateError, ForeignStateError, LiveState, decode
from devices_sim.storage import StateFileBusyError
from devices_sim.transport import (
    JSON,
    Answer,
    Delivery,
    RecipeClosedError,
    RecipeNotOpenError,
    ReportRejectedError,
    ServedRecipe,
    Transport,
    TransportError,
)
from panprivacy.ed25519 import KeyRefusedError
from panprivacy.errors import FieldError
from panprivacy.limits import NO_LIMIT, RecipeLimits
from panprivacy.trust_models.members import RecipeVerificationError
from tests.devices_sim.intruder import ciphertexts_of
from tests.devices_sim.server import VERIFICATION_KEY, MemoryServer
from tests.devices_sim.two_servers import HELPER_KEY
from tests.panprivacy.encryption.schemes import ONE_PER_FILE

ANYTHING = RecipeLimits(smallest_cohort=1, largest_epsilon=NO_LIMIT)


def join(path: Path, memory_server: MemoryServer, **options: object) -> Device:
    return Device.join(
        path, memory_server.served, **({"verification_key": VERIFICATION_KEY, "simulation": True} | options)
    )


def live(path: Path) -> LiveState:
    content = decode(path.read_bytes())
    assert isinstance(content, LiveState)
    return content


@pytest.fixture
def path(tmp_path):
    return tmp_path / "state"


def test_device_whole_life_delivers_one_report(path, make_server):
    server = make_server(epsilon=20)
    with join(path, server) as device:
        for event in (False, True, False, False):
            device.step(event)
        assert device.send(server.transport()) is Delivery.ACCEPTED
    # At ε = 20 a coin lies with probability 2·10⁻⁹.
    assert server.decrypted() == [(1,)]


def test_join_signed_recipe_whose_noise_breaks_its_promise_is_refused_and_leaves_no_state(path, make_server):
    honest = make_server(statistic="mean", k=3, guarantee="local")
    assert honest.recipe.parameters.noise_scale > 6
    parameters = replace(honest.recipe.parameters, noise_scale=0.05)
    server = MemoryServer(replace(honest.recipe, parameters=parameters), honest.private_key)
    with pytest.raises(FieldError, match="too small for the local guarantee"):
        join(path, server)
    assert not path.exists()
    join(path, honest).close()


def test_device_reopened_between_all_operations_delivers_the_same(path, make_server):
    server = make_server(epsilon=20)
    join(path, server, server="https://server.example").close()
    for number, event in enumerate((False, False, False, False), 1):
        with Device.open(path) as device:
            assert device.server == "https://server.example"
            device.step(event, number=number)
            assert device.steps_taken == number
    with Device.open(path) as device:
        device.finish()
    with Device.open(path) as device:
        assert device.phase is Phase.REPORTED
        device.send(server.transport())
    assert server.decrypted() == [(0,)]


def test_join_default_source_is_the_operating_systems(path, server):
    with join(path, server) as device:
        assert isinstance(device._random_source, secrets.SystemRandom)
    with Device.open(path) as device:
        assert isinstance(device._random_source, secrets.SystemRandom)


def test_join_public_key_is_the_constant_time_one_of_the_recipe(path, server):
    with join(path, server) as device:
        assert device._algorithm.public_key is device.recipe.public_key


def test_join_changed_document_or_signature_or_key_is_refused(path, server):
    served = server.served
    changed = copy.deepcopy(served.document) | {"epsilon": 19.0}
    for wrong in (
        ServedRecipe(served.identifier, changed, served.signature, "open"),
        ServedRecipe(served.identifier, served.document, bytes(64), "open"),
    ):
        with pytest.raises(RecipeVerificationError):
            Device.join(path, wrong, verification_key=VERIFICATION_KEY, simulation=True)
    with pytest.raises(RecipeVerificationError):
        Device.join(path, served, verification_key=HELPER_KEY, simulation=True)
    with pytest.raises(KeyRefusedError):
        Device.join(path, served, verification_key=bytes(32), simulation=True)
    assert not path.exists()


def test_join_simulation_recipe_on_a_real_device_is_refused(path, make_server):
    with pytest.raises(RecipeRefusedError, match="simulated"):
        join(path, make_server(simulation=True), simulation=False)
    with pytest.raises(RecipeRefusedError, match="real"):
        join(path, make_server(simulation=False), simulation=True)
    join(path, make_server(simulation=False), simulation=False, limits=ANYTHING).close()


@pytest.mark.parametrize(
    ("members", "field"),
    [({"cohort_size": 99}, "cohort_size"), ({"cohort_size": 100, "epsilon": 8.01}, "epsilon")],
)
def test_real_device_keeps_out_of_a_recipe_beyond_its_limits_and_writes_no_file(
    path, make_server, members, field
):
    server = make_server(simulation=False, **members)
    with pytest.raises(FieldError, match="for this device") as refused:
        join(path, server, simulation=False)
    assert refused.value.field == field
    assert not path.exists()
    join(path, server, simulation=False, limits=ANYTHING).close()
    path.unlink()
    within = make_server(simulation=False, cohort_size=100, epsilon=8.0)
    join(path, within, simulation=False).close()


def test_join_closed_recipe_is_refused(path, server):
    server.closed = True
    with pytest.raises(RecipeRefusedError, match="closed"):
        join(path, server)


def test_join_again_never_tosses_the_coin_again(path, make_server):
    server = make_server(sampling_rate=1e-6)
    join(path, server).close()
    before = path.read_bytes()
    with pytest.raises(AlreadyJoinedError):
        join(path, server)
    assert path.read_bytes() == before


def test_device_not_sampled_keeps_no_ciphertext_and_sends_nothing(path, make_server):
    server = make_server(sampling_rate=1e-6)
    with join(path, server) as device:
        assert device.phase is Phase.NOT_SAMPLED
        for event in (True, False, True, False):
            device.step(event)
            assert live(path).state.ciphertexts == ()
        assert device.send(server.transport()) is None
    assert server.reports == {}
    with pytest.raises(AlreadyJoinedError):
        join(path, server)


@pytest.mark.statistical
def test_join_sampling_rate_is_respected(path, make_server):
    """A two-sided binomial test, failing with probability at most 1e-6."""
    server, devices, rate = make_server(sampling_rate=0.3), 400, 0.3
    sampled = 0
    for number in range(devices):
        with join(path.with_name(str(number)), server, random_source=random.Random(number)) as device:
            sampled += device.phase is Phase.COLLECTING
    assert binom.ppf(5e-7, devices, rate) <= sampled <= binom.isf(5e-7, devices, rate)


def test_step_out_of_turn_is_refused_and_changes_nothing(path, server):
    with join(path, server) as device:
        device.step(False)
        before = path.read_bytes()
        refusals = {0: "no step 0", 1: "the next is 2", 3: "the next is 2", 5: "no step 5"}
        for number, message in refusals.items():
            with pytest.raises(WrongStepError, match=message):
                device.step(True, number=number)
        for step in (0, 5):
            with pytest.raises(WrongStepError, match="catch up"):
                device.catch_up(step)
        with pytest.raises(WrongStepError, match="1 of 4"):
            device.finish()
        assert path.read_bytes() == before
        device.catch_up(4)
        with pytest.raises(WrongStepError, match="all 4"):
            device.step(False)


def test_catch_up_steps_without_events_reach_the_step(path, make_server):
    server = make_server(epsilon=20)
    with join(path, server) as device:
        device.step(True)
        device.catch_up(1)
        device.catch_up(4)
        assert device.steps_taken == 4
        device.send(server.transport())
    assert server.decrypted() == [(1,)]


def test_step_state_file_size_is_the_same_whatever_the_events(path, make_server):
    for encryption in ONE_PER_FILE:
        server = make_server(encryption=encryption)
        sizes = set()
        for number, events in enumerate([(False,) * 4, (True,) * 4, (False, True, True, False)]):
            state = path.with_name(f"{encryption}{number}")
            seen = []
            with join(state, server) as device:
                for event in events:
                    device.step(event)
                    seen.append(state.stat().st_size)
                device.finish()
                seen.append(state.stat().st_size)
            sizes.add(tuple(seen))
        assert len(sizes) == 1


def test_step_every_ciphertext_changes_whatever_the_events(path, server):
    seen = []
    with join(path, server) as device:
        seen += ciphertexts_of(path.read_bytes())
        for event in (False, True, True, False):
            device.step(event)
            seen += ciphertexts_of(path.read_bytes())
        device.finish()
        seen += ciphertexts_of(path.read_bytes())
    assert len(set(seen)) == 6


def test_state_file_is_readable_by_its_owner_only(path, server):
    join(path, server).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_open_second_time_at_once_is_refused(path, server):
    with join(path, server), pytest.raises(StateFileBusyError):
        Device.open(path)
    Device.open(path).close()


def test_open_without_joining_is_refused(path):
    with pytest.raises(NotJoinedError):
        Device.open(path)


def test_open_any_changed_byte_is_refused(path, server):
    with join(path, server) as device:
        device.step(True)
    content = path.read_bytes()
    for position in range(0, len(content), 7):
        path.write_bytes(content[:position] + bytes([content[position] ^ 1]) + content[position + 1 :])
        with pytest.raises((DamagedStateError, ForeignStateError)):
            Device.open(path)
    for length in (len(content) - 2, len(content) // 2, 40):
        path.write_bytes(content[:length])
        with pytest.raises(DamagedStateError):
            Device.open(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not a device's state file"),
        (b"PNG", "not a device's"),
        (b"panapp-device-state-3\nx", "this version"),
    ],
)
def test_open_foreign_file_is_refused(path, content, message):
    path.write_bytes(content)
    with pytest.raises(ForeignStateError, match=message):
        Device.open(path)
    assert path.read_bytes() == content


def test_open_leftover_of_an_interrupted_write_is_removed(path, server):
    join(path, server).close()
    leftover = path.with_name("state.new")
    leftover.write_bytes(b"half a sta")
    Device.open(path).close()
    assert not leftover.exists()


class LosesAnswers(Transport):
    """Delivers each request and then loses the first answers."""

    def __init__(self, server: MemoryServer, losses: int) -> None:
        self.inner = server.transport()
        self.losses = losses
        self.bodies: list[bytes] = []

    def at(self, base_url: str) -> Transport:
        return self.inner.at(base_url)

    def exchange(
        self,
        method: str,
        target: str,
        *,
        body: bytes = b"",
        content_type: str = "",
        accept: str = JSON,
        fields: Mapping[str, str] | None = None,
    ) -> Answer:
        self.bodies.append(body)
        answer = self.inner.exchange(method, target, body=body, content_type=content_type)
        if self.losses:
            self.losses -= 1
            raise TransportError("no answer")
        return answer


def test_send_after_lost_answers_repeats_the_same_report_until_acknowledged(path, server):
    transport = LosesAnswers(server, losses=2)
    with join(path, server) as device:
        device.catch_up(4)
    for _ in range(2):
        with Device.open(path) as device, pytest.raises(TransportError):
            device.send(transport)
    with Device.open(path) as device:
        assert device.send(transport) is Delivery.DUPLICATE
    assert len(transport.bodies) == 3
    assert len(set(transport.bodies)) == 1
    assert len(server.reports) == 1


def test_finish_again_keeps_the_coins_that_were_tossed(path, server):
    with join(path, server) as device:
        device.catch_up(4)
        device.finish()
        before = path.read_bytes()
        device.finish()
    assert path.read_bytes() == before


def test_send_refused_report_stays_and_the_error_says_why(path, server):
    server.closed = False
    with join(path, server) as device:
        device.catch_up(4)
        server.closed = True
        with pytest.raises(RecipeClosedError) as caught:
            device.send(server.transport())
        assert caught.value.problem["type"] == "/problems/recipe-not-open"
        server.closed, server.takes_reports = False, False
        with pytest.raises(RecipeNotOpenError, match="takes no reports yet"):
            device.send(server.transport())
        assert device.phase is Phase.REPORTED


def test_send_rejected_report_raises_with_the_reason(path, server, monkeypatch):
    with join(path, server) as device:
        device.catch_up(4)
        monkeypatch.setattr(server, "_store", lambda *_: "invalid_ciphertext")
        with pytest.raises(ReportRejectedError) as caught:
            device.send(server.transport())
    assert caught.value.problem["reason"] == "invalid_ciphertext"


def test_send_delivered_leaves_a_file_that_says_only_done(path, server):
    with join(path, server) as device:
        device.catch_up(4)
        device.send(server.transport())
        with pytest.raises(ParticipationOverError):
            device.send(server.transport())
        with pytest.raises(ParticipationOverError):
            device.step(True)
    assert (
        path.read_bytes().splitlines()[2]
        == b'{"phase":"done","recipe":"%b"}' % server.recipe.identifier.encode()
    )
    with pytest.raises(ParticipationOverError):
        Device.open(path)
    with pytest.raises(AlreadyJoinedError):
        join(path, server)


def test_join_that_fails_to_write_leaves_no_lock_behind(path, server, monkeypatch):
    monkeypatch.setattr(storage, "os", FailingSystem(1, no_space, after=False))
    with pytest.raises(OSError, match="No space"):
        join(path, server)
    assert list(path.parent.iterdir()) == []


def test_open_takes_no_lock_that_its_holder_has_removed(path, server, monkeypatch):
    """Between opening the lock file and locking it, another process removes it, as after a failed join."""
    join(path, server).close()
    lock = path.with_name("state.lock")
    flock, removed = fcntl.flock, []

    def removed_before(file, operation):
        if not removed:
            removed.append(lock.unlink())
        flock(file, operation)

    monkeypatch.setattr(fcntl, "flock", removed_before)
    with Device.open(path):
        assert removed
        with pytest.raises(StateFileBusyError):
            Device.open(path)


class Crash(BaseException):
    """Power is lost: nothing after this happens."""


class FailingSystem:
    """The `os` module, whose n-th file operation fails before or after taking effect."""

    OPERATIONS = ("open", "write", "fsync", "close", "replace")

    def __init__(self, fail_at: int, error: Callable[[], BaseException], *, after: bool) -> None:
        self._left = fail_at
        self._error = error
        self._after = after
        self.failed = False

    def __getattr__(self, name: str) -> object:
        genuine = getattr(os, name)
        if name not in self.OPERATIONS:
            return genuine

        def operation(*arguments: object) -> object:
            if self.failed and isinstance(self._error(), Crash):
                # Descriptors do not outlive a process, but tests do.
                return os.close(*arguments) if name == "close" else None
            self._left -= 1
            if self._left != 0:
                return genuine(*arguments)
            self.failed = True
            if self._after or name == "close":
                result = genuine(*arguments)
                if name == "open":
                    os.close(result)
            elif name == "write":
                genuine(arguments[0], bytes(arguments[1])[:10])
            raise self._error()

        return operation


def no_space() -> OSError:
    return OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("error", [Crash, no_space])
@pytest.mark.parametrize("operation", ["join", "step", "finish", "send"])
def test_device_failure_at_any_file_operation_leaves_the_state_before_or_after(
    tmp_path, server, monkeypatch, operation, error, after
):
    outcomes = set()
    for fail_at in range(1, 50):
        path = tmp_path / str(fail_at)
        if operation != "join":
            with join(path, server) as device:
                if operation != "step":
                    device.catch_up(4)
                if operation == "send":
                    device.finish()
        before = path.read_bytes() if path.exists() else None
        system = FailingSystem(fail_at, error, after=after)
        device = Device.open(path) if operation != "join" else None
        monkeypatch.setattr(storage, "os", system)
        try:
            if device is None:
                device = join(path, server)
            elif operation == "step":
                device.step(True)
            elif operation == "finish":
                device.finish()
            else:
                device.send(server.transport())
        except (Crash, OSError):
            pass
        monkeypatch.undo()
        if not system.failed:
            device.close()
            break
        if device is not None:
            with pytest.raises(DeviceError, match="open its state file again"):
                device.finish()
            device.close()
        after_failure = path.read_bytes() if path.exists() else None
        outcomes.add(after_failure == before)
        if operation == "join" and after_failure is None:
            join(path, server).close()
        elif after_failure != before and operation == "send":
            with pytest.raises(ParticipationOverError):
                Device.open(path)
        else:
            with Device.open(path) as device:
                device.catch_up(4)
                device.send(server.transport())
        assert not path.with_name(path.name + ".new").exists()
    else:
        pytest.fail("the operation never ran without a failure")
    assert outcomes == {True, False}
