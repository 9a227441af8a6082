import errno
import fcntl
import hashlib
import json
import os
import secrets
import stat
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from panprivacy.device import storage
from panprivacy.device.algorithm import DeviceError, ParticipationOverError, Phase, WrongStepError
from panprivacy.device.client import AlreadyJoinedError, Device, RecipeRefusedError
from panprivacy.device.state_file import DamagedStateError, ForeignStateError, LiveState, decode
from panprivacy.device.storage import StateFileBusyError
from panprivacy.device.transport import (
    Delivery,
    RecipeClosedError,
    RecipeNotOpenError,
    ReportRejectedError,
    TransportError,
)
from panprivacy.formats.errors import FieldError
from panprivacy.planning.limits import NO_LIMIT, RecipeLimits
from panprivacy.protocols.ed25519 import KeyRefusedError
from panprivacy.statistics.trust_models.members import RecipeVerificationError
from tests.panprivacy.device.in_process import InProcessTransport
from tests.panprivacy.device.server import VERIFICATION_KEY, MemoryServer
from tests.panprivacy.device.two_servers import HELPER_KEY
from tests.panprivacy.encryption.schemes import ONE_PER_FILE
from tests.refusals import field_refused

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


def test_join_recipe_whose_noise_breaks_its_promise_is_refused(path, make_server):
    honest = make_server(statistic="mean", k=3, guarantee="local")
    assert honest.recipe.parameters.noise_scale > 6
    parameters = replace(honest.recipe.parameters, noise_scale=0.05)
    server = MemoryServer(replace(honest.recipe, parameters=parameters), honest.private_key)
    with pytest.raises(FieldError, match="too small for the local guarantee"):
        join(path, server)
    assert not path.exists()
    join(path, honest).close()


def test_events_have_names_of_the_recipe_or_none_if_it_is_one(tmp_path, make_server):
    named = {"statistic": "longest_streak", "event": "open", "longest": 2}
    asked = ({"statistic": "funnel", "events": ["search", "buy"]}, named, {})
    devices = [join(tmp_path / str(at), make_server(**one)) for at, one in enumerate(asked)]
    funnel, streak, count = devices
    assert [funnel.bit_of(name) for name in ("search", "buy")] == [1, 2]
    assert [streak.bit_of("open"), streak.bit_of(), count.bit_of()] == [1, 1, 1]
    for device, name, allowed in (
        (funnel, "sell", "one of search, buy; not sell"),
        (funnel, None, "one of search, buy; not left out"),
        (streak, "close", "one of open; not close"),
        (count, "open", "left out: the recipe names none; not open"),
    ):
        with field_refused("event", f"must be {allowed}"):
            device.bit_of(name)
    for event in (-1, 4):
        with field_refused("event", "bits of 2 events"):
            funnel.step(event)
    assert funnel.steps_taken == 0
    for device in devices:
        device.close()


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


def test_join_recipe_that_another_signed_is_refused(path, server):
    for key, error in ((HELPER_KEY, RecipeVerificationError), (bytes(32), KeyRefusedError)):
        with pytest.raises(error):
            Device.join(path, server.served, verification_key=key, simulation=True)
    assert not path.exists()


def test_join_closed_recipe_or_simulation_on_a_real_device_is_refused(path, make_server):
    closed = make_server()
    closed.closed = True
    with pytest.raises(RecipeRefusedError, match="closed"):
        join(path, closed)
    with pytest.raises(RecipeRefusedError, match="simulated"):
        join(path, make_server(simulation=True), simulation=False)
    with pytest.raises(RecipeRefusedError, match="real"):
        join(path, make_server(simulation=False), simulation=True)
    join(path, make_server(simulation=False), simulation=False, limits=ANYTHING).close()


@pytest.mark.parametrize(
    ("members", "field"),
    [({"cohort_size": 99}, "cohort_size"), ({"cohort_size": 100, "epsilon": 8.01}, "epsilon")],
)
def test_real_device_beyond_its_limits_keeps_out_and_writes_no_file(path, make_server, members, field):
    server = make_server(simulation=False, **members)
    with field_refused(field, match="for this device"):
        join(path, server, simulation=False)
    assert not path.exists()
    join(path, server, simulation=False, limits=ANYTHING).close()
    path.unlink()
    within = make_server(simulation=False, cohort_size=100, epsilon=8.0)
    join(path, within, simulation=False).close()


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


def test_state_file_is_readable_by_its_owner_only(path, server):
    join(path, server).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_open_second_time_at_once_is_refused(path, server):
    with join(path, server), pytest.raises(StateFileBusyError):
        Device.open(path)
    Device.open(path).close()


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


def write_with_its_checksum(path, body):
    checksum = hashlib.sha256(body.encode()).hexdigest()
    path.write_text(f"panapp-device-state-2\n{checksum}\n{body}\n")


@pytest.mark.parametrize("body", ["null", "[" * 100_000, '{"phase":"collecting","document":null}', '"x"'])
def test_open_odd_content_with_its_checksum_is_refused(path, body):
    write_with_its_checksum(path, body)
    with pytest.raises(DamagedStateError):
        Device.open(path)


@pytest.mark.parametrize(("field", "value"), [("document", None), ("step", True), ("step", 1.5)])
def test_open_field_of_another_type_is_refused(path, server, field, value):
    join(path, server).close()
    members = json.loads(path.read_text().split("\n", 2)[2])
    write_with_its_checksum(path, json.dumps(members | {field: value}))
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


def test_send_after_lost_answers_repeats_the_same_report(path, server):
    bodies = []

    def losing_two_answers(environ, start_response):
        bodies.append(environ["wsgi.input"].getvalue())
        if len(bodies) == 3:
            return server(environ, start_response)
        server(environ, lambda *_: None)
        raise TransportError("no answer")

    transport = InProcessTransport(losing_two_answers)
    with join(path, server) as device:
        device.catch_up(4)
    for _ in range(2):
        with Device.open(path) as device, pytest.raises(TransportError):
            device.send(transport)
    with Device.open(path) as device:
        assert device.send(transport) is Delivery.DUPLICATE
    assert len(set(bodies)) == len(server.reports) == 1


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
        device.send(server.transport(), now=datetime(2026, 1, 5, 23, tzinfo=UTC))
        with pytest.raises(ParticipationOverError):
            device.send(server.transport())
        with pytest.raises(ParticipationOverError):
            device.step(True)
    assert json.loads(path.read_bytes().splitlines()[2]) == {
        "phase": "done",
        "recipe": server.recipe.identifier,
        "name": "Late arrivals",
        "epsilon": 2.0,
        "sent": "2026-01-05",
    }
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
def test_device_failure_at_any_file_operation_leaves_a_whole_state(
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
            with pytest.raises(DeviceError, match="open its state again"):
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
