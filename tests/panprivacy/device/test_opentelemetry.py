"""Counters of OpenTelemetry's own SDK, through the reader, to reports; and what a device keeps of them."""

import re
import secrets
import subprocess
import sys
import traceback
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime, timedelta
from enum import Enum
from functools import partial
from pathlib import Path
from threading import Event, Thread
from types import FunctionType, MethodType, ModuleType

import pytest
from opentelemetry.metrics import Observation
from opentelemetry.sdk.metrics import AlwaysOnExemplarFilter, Counter, MeterProvider
from opentelemetry.sdk.metrics.export import AggregationTemporality, InMemoryMetricReader
from opentelemetry.sdk.metrics.view import DropAggregation, LastValueAggregation, View

from panprivacy.device import opentelemetry
from panprivacy.device.client import Device, NotJoinedError
from panprivacy.device.opentelemetry import CounterEvent, PanPrivateReader, ReaderError
from panprivacy.device.storage import MemoryStore
from panprivacy.device.transport import TransportError
from panprivacy.formats.times import format_time
from tests.panprivacy.device.intruder import ByteStatistics, EqualPieces, PlainMembers, play
from tests.panprivacy.device.server import VERIFICATION_KEY
from tests.patience import PATIENCE
from tests.refusals import field_refused

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "opentelemetry.md"
STREAMS = ((False, False, False), (False, True, False))
FAILURE = 1e-6
SURE = {"epsilon": 20.0}
"""A coin that randomizes with probability 4.1e-9."""
CRASHES = CounterEvent(counter="app.crashes")
SELDOM = 3600
"""Seconds between polls of the thread, which tests replace."""


class Writes(MemoryStore):
    """A store that an intruder reads after every write."""

    def __init__(self):
        super().__init__()
        self.all = []

    def write(self, content):
        super().write(content)
        self.all.append(content)


def joined(server):
    store = Writes()
    Device.join(store, server.served, verification_key=VERIFICATION_KEY, simulation=True).close()
    return store


def ended(server, steps, seconds=0):
    """A time at which this number of steps is over."""
    recipe = server.recipe
    return recipe.opens_at + timedelta(seconds=steps * recipe.step_seconds + seconds)


@contextmanager
def telemetry(store, *events, reader_class=PanPrivateReader, views=(), **options):
    """A reader and the meter of its provider."""
    reader = reader_class(store, events or (CRASHES,), poll_seconds=SELDOM, **options)
    provider = MeterProvider([reader], views=views, shutdown_on_exit=False)
    try:
        yield reader, provider.get_meter("app")
    finally:
        provider.shutdown()


def released(server):
    """The bits of the only report."""
    (report,) = server.decrypted()
    return report


@pytest.mark.statistical
def test_counters_of_many_devices_give_the_count_within_its_error(make_server):
    """The interval misses the truth with probability at most FAILURE."""
    devices = 300
    server = make_server(steps=3, cohort_size=devices, epsilon=4.0)
    crashed = 0
    for number in range(devices):
        stream = [number % 3 == 0 and step == number % 2 for step in range(3)]
        crashed += any(stream)
        deliver = partial(Device.send, transport=server.transport())
        with telemetry(joined(server), deliver=deliver) as (reader, meter):
            crashes, starts = meter.create_counter("app.crashes"), meter.create_counter("app.starts")
            meter.create_histogram("app.time")
            for step, happened in enumerate(stream, 1):
                starts.add(1)
                for _ in range(2 * happened):
                    crashes.add(step, {"fatal": bool(step % 2)})
                reader.take_steps(now=ended(server, step))
    statistic = server.recipe.calibrated_statistic
    assert len(server.reports) == devices
    total = [sum(bits) for bits in zip(*server.decrypted(), strict=True)]
    estimate = statistic.estimate(total, reports=devices)
    interval = statistic.interval_at(1 - FAILURE, estimate.values, devices)
    assert interval.low[0] <= crashed <= interval.high[0]
    assert interval.high[0] - interval.low[0] < devices / 3


def test_events_have_counters_and_attributes_of_their_own(make_server):
    """Only both, in this order, end a funnel."""
    events = [
        CounterEvent(counter="Shop.search", event="search"),
        CounterEvent(counter="shop.orders", event="buy", attributes={"paid": True, "country": "FR"}),
    ]
    for amount, attributes, end in (
        (1, {"paid": True, "country": "FR", "device": "phone"}, 2),
        (0.5, {"paid": True, "country": "FR"}, 2),
        (1, {"paid": 1, "country": "FR"}, 1),
        (1, {"paid": True}, 1),
        (1, None, 1),
        (0, {"paid": True, "country": "FR"}, 1),
    ):
        server = make_server(statistic="funnel", events=["search", "buy"], steps=2, **SURE)
        deliver = partial(Device.send, transport=server.transport())
        with telemetry(joined(server), *events, deliver=deliver) as (reader, meter):
            meter.create_counter("shop.SEARCH").add(1, {"any": "thing"})
            reader.take_steps(now=ended(server, 1))
            meter.create_counter("shop.orders").add(amount, attributes)
            reader.take_steps(now=ended(server, 2))
        assert released(server).index(1) == end


def test_steps_follow_the_clock_and_each_event_counts_in_one(make_server):
    """A histogram counts steps. The first that was missed has what waited. No other time has events."""
    server = make_server(statistic="histogram", k=4, steps=4, **SURE)
    store = joined(server)
    with telemetry(store) as (reader, meter):
        crashes, polls = meter.create_counter("app.crashes"), []
        for steps, seconds, happened in (
            (0, -1, True),
            (0, 0, False),
            (1, 0, False),
            (1, 5, True),
            (1, 10, True),
            (3, 0, False),
            (3, 5, True),
            (4, 0, False),
            (4, 5, True),
        ):
            crashes.add(int(happened))
            reader.take_steps(now=ended(server, steps, seconds))
            with Device.open(store) as device:
                polls.append(device.steps_taken)
        assert polls == [0, 0, 1, 1, 1, 3, 3, 4, 4]
        assert reader._happened == 0
    with Device.open(store) as device:
        device.send(server.transport())
    assert released(server) == (0, 0, 1, 0, 0)


@pytest.mark.parametrize("happened", [False, True])
def test_shutdown_takes_the_current_step_and_what_waits_counts(make_server, caplog, happened):
    now = datetime.now(UTC)
    server = make_server(steps=2, opens_at=format_time(now - timedelta(seconds=5)), **SURE)
    store = joined(server)
    with telemetry(store) as (_, meter):
        crashes = meter.create_counter("app.crashes")
        crashes.add(int(happened))
    with Device.open(store) as device:
        assert device.steps_taken == 1
    # Made anew in the same step: what happens then would count in the next one.
    with telemetry(store) as (reader, _):
        reader.take_steps()
        with Device.open(store) as device:
            assert device.steps_taken == 1
        reader.take_steps(now=ended(server, 2))
    with Device.open(store) as device:
        device.send(server.transport())
    assert released(server) == (int(happened),)
    assert caplog.text == ""
    reader.shutdown()
    assert caplog.messages == ["the reader has been shut down already"]


def test_event_after_a_restart_counts_in_the_next_step(make_server):
    server = make_server(steps=2, opens_at=format_time(datetime.now(UTC) - timedelta(seconds=5)), **SURE)
    store = joined(server)
    with telemetry(store):
        pass
    with telemetry(store) as (reader, meter):
        meter.create_counter("app.crashes").add(1)
        reader.take_steps(now=ended(server, 1))
        reader.take_steps(now=ended(server, 2))
    with Device.open(store) as device:
        device.send(server.transport())
    assert released(server) == (1,)


WRONG = {
    "histogram": lambda meter: meter.create_histogram("app.crashes").record,
    "gauge": lambda meter: meter.create_gauge("app.crashes").set,
    "up-down counter": lambda meter: meter.create_up_down_counter("app.crashes").add,
    "observable counter": lambda meter: meter.create_observable_counter(
        "app.crashes", [lambda _: [Observation(1)]]
    ),
    "counter of a View": lambda meter: meter.create_counter("app.crashes").add,
    "dropped counter": lambda meter: meter.create_counter("dropped").add,
}
VIEWS = [
    View(instrument_type=Counter, instrument_name="app.crashes", aggregation=LastValueAggregation()),
    View(instrument_name="dropped", name="app.crashes", aggregation=DropAggregation()),
]


@pytest.mark.parametrize("wrong", WRONG)
def test_instrument_that_is_no_counter_is_refused_used_or_not(make_server, caplog, wrong):
    server = make_server()
    seen = []
    for used in (False, True):
        store = joined(server)
        with telemetry(store, CRASHES, CounterEvent(counter="app.exits"), views=VIEWS) as (reader, meter):
            meter.create_counter("app.exits").add(int(used))
            record = WRONG[wrong](meter)
            if used and wrong != "observable counter":
                record(1)
            with field_refused("events", "must name counters that add up; app.crashes is a"):
                reader.take_steps(now=ended(server, 1))
            assert reader._happened == 0
        assert len(store.all) == 1
        seen.append(caplog.messages)
        caplog.clear()
    assert seen[0] == seen[1] != []


def test_another_reader_of_the_same_provider_is_refused(make_server):
    """It would have the counters in clear."""
    store = joined(make_server())
    for others in ([InMemoryMetricReader()], []):
        reader = PanPrivateReader(store, [CRASHES])
        if others:
            with field_refused("metric_readers", "this reader alone"):
                MeterProvider([reader, *others], shutdown_on_exit=False)
            continue
        provider = MeterProvider([reader], shutdown_on_exit=False)
        provider.add_metric_reader(InMemoryMetricReader())
        with field_refused("metric_readers", "this reader alone"):
            reader.take_steps()
        provider.shutdown()
    assert len(store.all) == 1


def test_provider_that_the_environment_disables_is_refused(make_server, monkeypatch):
    """Its counters count nothing, and every report would say that nothing happened."""
    store = joined(make_server())
    monkeypatch.setenv("OTEL_SDK_DISABLED", "TRUE ")
    with field_refused("OTEL_SDK_DISABLED", "no event"):
        MeterProvider([PanPrivateReader(store, [CRASHES])], shutdown_on_exit=False)
    monkeypatch.setenv("OTEL_SDK_DISABLED", "false")
    with telemetry(store) as (reader, _):
        reader.take_steps()


@pytest.mark.parametrize("happened", [False, True])
def test_event_waits_while_another_process_has_the_state(make_server, tmp_path, happened):
    server, path = make_server(steps=2, **SURE), tmp_path / "state"
    Device.join(path, server.served, verification_key=VERIFICATION_KEY, simulation=True).close()
    with telemetry(path, deliver=partial(Device.send, transport=server.transport())) as (reader, meter):
        meter.create_counter("app.crashes").add(int(happened))
        with Device.open(path):
            for poll in (1, 40):
                with pytest.raises(ReaderError, match="another process uses this state"):
                    reader.take_steps(now=ended(server, 1, poll))
        reader.take_steps(now=ended(server, 2))
    assert released(server) == (int(happened),)


def test_reader_of_wrong_arguments_is_refused(make_server):
    store = joined(make_server())
    for field, message, events, options in (
        ("events", "at least one", [], {}),
        ("event", "left out: the recipe names none", [CounterEvent(counter="a", event="b")], {}),
        ("poll_seconds", "from 1 to 3,600, not 0.5", [CRASHES], {"poll_seconds": 0.5}),
        ("poll_seconds", "from 1 to 3,600, not nan", [CRASHES], {"poll_seconds": float("nan")}),
    ):
        with field_refused(field, message):
            PanPrivateReader(store, events, **options)
    for field, members in (
        ("counter", {"counter": "app.*"}),
        ("counter", {"counter": ""}),
        ("attributes", {"counter": "a", "attributes": {"b": None}}),
    ):
        with field_refused(field):
            CounterEvent(**members)
    with pytest.raises(NotJoinedError):
        PanPrivateReader(MemoryStore(), [CRASHES])


def test_thread_takes_steps_and_delivers_until_it_succeeds(make_server, caplog):
    server, tried, done = make_server(**SURE), [], Event()

    def deliver(device):
        tried.append(device.steps_taken)
        if len(tried) < 3:
            raise TransportError("no answer")
        device.send(server.transport())
        done.set()

    store = joined(server)
    reader = PanPrivateReader(store, [CRASHES], deliver=deliver)
    reader._poll_seconds = 0.001
    provider = MeterProvider([reader], shutdown_on_exit=False)
    assert done.wait(PATIENCE)
    provider.shutdown()
    assert released(server) == (0,)
    assert tried == [4, 4, 4]
    assert caplog.messages == ["TransportError: no answer"] * 2
    # The reader of a device that is done empties counters, and needs no state.
    with telemetry(store) as (reader, meter):
        meter.create_counter("app.crashes").add(1)
        reader.take_steps()
        assert reader._happened == 0
    assert caplog.messages == ["TransportError: no answer"] * 2


def test_shutdown_waits_no_longer_than_it_is_given(make_server, caplog):
    server, busy, free = make_server(**SURE), Event(), Event()

    def deliver(device):
        busy.set()
        free.wait(PATIENCE)
        device.send(server.transport())

    reader = PanPrivateReader(joined(server), [CRASHES], deliver=deliver)
    reader._poll_seconds = 0.001
    provider = MeterProvider([reader], shutdown_on_exit=False)
    assert busy.wait(PATIENCE)
    provider.shutdown(timeout_millis=10)
    assert caplog.messages == ["the current step was not taken: the reader is still busy"]
    free.set()
    reader._thread.join(PATIENCE)
    assert released(server) == (0,)


def test_collection_by_the_application_loses_no_event(make_server):
    server = make_server(steps=1, **SURE)
    deliver = partial(Device.send, transport=server.transport())
    with telemetry(joined(server), deliver=deliver) as (reader, meter):
        meter.create_counter("app.crashes").add(1)
        reader.collect()
        assert all(reader.force_flush() for _ in range(3))
    assert released(server) == (1,)


def test_delivery_after_failures_is_tried_ever_less_often(make_server):
    server, tried, expected = make_server(), [], {0, 2, 6, 14, 30, 62, 126, 190, 254}

    def deliver(_device):
        tried.append(poll)
        raise TransportError("no answer")

    with telemetry(joined(server), deliver=deliver) as (reader, _):
        for poll in range(260):
            with pytest.raises(ReaderError) if poll in expected else nullcontext():
                reader.take_steps(now=ended(server, 4))
    assert set(tried) == expected


def test_polls_are_as_frequent_as_steps(make_server):
    for step_seconds, expected in ((10, 10), (86_400, 30)):
        store = joined(make_server(step_seconds=step_seconds))
        assert PanPrivateReader(store, [CRASHES])._poll_seconds == expected


def test_device_that_left_ends_the_reader(make_server, caplog):
    server = make_server()
    store = joined(server)
    with telemetry(store) as (reader, meter):
        with Device.open(store) as device:
            device.leave()
        with pytest.raises(ReaderError, match="ParticipationOverError: this device has left"):
            reader.take_steps(now=ended(server, 1))
        meter.create_counter("app.crashes").add(1)
        reader.take_steps(now=ended(server, 2))
    assert caplog.text == ""


@pytest.mark.parametrize("error", [OSError(28, "No space left"), ValueError("event must be 0, not 1")])
def test_error_of_a_step_shows_no_event(make_server, error):
    """Neither in its message, nor in what a tracker of errors finds in its traceback. The next step is taken,
    without the event that was lost."""
    server, shown = make_server(steps=2, **SURE), []
    for happened in (False, True):
        server.reports.clear()
        store = joined(server)
        with telemetry(store) as (reader, meter):
            meter.create_counter("app.crashes").add(int(happened))
            store.write = raising_error(error)
            with pytest.raises(ReaderError) as caught:
                reader.take_steps(now=ended(server, 1))
            del store.write
            failure = caught.value
            assert (failure.__cause__, failure.__context__) == (None, None)
            frames = [frame for frame, _ in traceback.walk_tb(failure.__traceback__)][1:]
            values = [frame.f_locals | {"self": None, "now": None} for frame in frames]
            shown.append((str(failure), values))
            reader.take_steps(now=ended(server, 2))
        with Device.open(store) as device:
            device.send(server.transport())
        assert released(server) == (0,)
    assert shown[0] == shown[1]
    assert "event" not in shown[0][0]


def raising_error(error):
    def write(_content):
        raise error

    return write


def test_forked_process_takes_no_steps(make_server, monkeypatch):
    server = make_server()
    store = joined(server)
    with telemetry(store) as (reader, _):
        monkeypatch.setattr(opentelemetry.os, "getpid", lambda: 0)
        reader.take_steps(now=ended(server, 1))
        reader.shutdown()
        assert len(store.all) == 1
        monkeypatch.undo()


def test_unknown_version_of_the_sdk_is_refused(make_server, monkeypatch):
    store = joined(make_server())
    with telemetry(store) as (reader, _):
        monkeypatch.delattr(reader._provider, "_meters")
        with field_refused("opentelemetry-sdk", "that panprivacy\\[otel\\] allows"):
            reader.take_steps()
    assert len(store.all) == 1


class WithoutConstantWork(PanPrivateReader):
    """Takes a step if something happened, as an exporter would: the SDK exports no empty collections."""

    def _take(self, due):
        if self._happened:
            super()._take(due)


class Cumulative(PanPrivateReader):
    """Leaves the SDK's default temporality."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self._instrument_class_temporality = dict.fromkeys(
            self._instrument_class_temporality, AggregationTemporality.CUMULATIVE
        )


class Unprepared(PanPrivateReader):
    """Leaves it to the first use of an instrument that the SDK prepares it."""

    def _refusal(self):
        return None


class Remembering(PanPrivateReader):
    """Keeps the last collection."""

    def _receive_metrics(self, metrics_data, *arguments, **options):
        super()._receive_metrics(metrics_data, *arguments, **options)
        self.last = metrics_data


def lived(server, events, reader_class, look=lambda *_: None):
    """What an intruder sees: a state as it is written, and what `look` finds after each step."""
    store, seen = joined(server), []
    reader = reader_class(store, [CRASHES], poll_seconds=SELDOM)
    provider = MeterProvider([reader], exemplar_filter=AlwaysOnExemplarFilter(), shutdown_on_exit=False)
    crashes = provider.get_meter("app").create_counter("app.crashes")
    for step, happened in enumerate(events, 1):
        if happened:
            crashes.add(3, {"fatal": True})
        reader.take_steps(now=ended(server, step))
        seen.append(look(reader, provider))
    provider.shutdown()
    return tuple(store.all), seen


def memories(make_server, reader_class):
    """After each step, for each of the streams."""
    server = make_server(steps=3)
    return [lived(server, events, reader_class, remains)[1] for events in STREAMS]


def remains(*roots):
    """All that can be reached from objects: path → value. Moments are left out, as are ciphertexts."""
    found, seen = {}, set()

    def walk(path, thing):
        if isinstance(thing, int | float) and thing > 1e15:
            found[path] = "a moment"
        elif thing is None or isinstance(thing, str | bytes | int | float | Enum):
            found[path] = repr(thing)
        elif id(thing) not in seen and not isinstance(
            thing, type | ModuleType | FunctionType | MethodType | Thread | Writes
        ):
            seen.add(id(thing))
            found[path] = type(thing).__name__
            if isinstance(thing, dict):
                for number, (key, value) in enumerate(thing.items()):
                    walk(f"{path}.key{number}", key)
                    walk(f"{path}.{key if isinstance(key, str) else number}", value)
            elif isinstance(thing, list | tuple | set | frozenset):
                for number, value in enumerate(thing):
                    walk(f"{path}.{number}", value)
            for name, value in getattr(thing, "__dict__", {}).items():
                walk(f"{path}.{name}", value)
            for name in getattr(type(thing), "__slots__", ()):
                walk(f"{path}.{name}", getattr(thing, name, None))

    walk("", roots)
    return found


def advantages(server, reader_class, games):
    """The advantages of attacks on the states that a device writes."""
    attacks = [
        EqualPieces(server.recipe.public_key.ciphertext_bytes // 2),
        PlainMembers(),
        ByteStatistics(),
    ]
    outcomes = play(
        lambda events, _: lived(server, events, reader_class)[0],
        STREAMS,
        attacks,
        lessons=games // 8,
        games=games,
        device_source=secrets.SystemRandom,
        challenger=secrets.SystemRandom(),
        failure_probability=FAILURE / len(attacks),
    )
    return dict(zip((type(attack).__name__ for attack in attacks), outcomes, strict=True))


@pytest.mark.statistical
@pytest.mark.parametrize("games", [40, pytest.param(2_800, marks=pytest.mark.long)])
def test_play_device_of_the_reader_no_attack_beats_a_fair_coin(make_server, games):
    found = advantages(make_server(steps=3), PanPrivateReader, games)
    assert {name: each for name, each in found.items() if not each.covers_zero} == {}
    if games > 40:
        assert max(each.high - each.low for each in found.values()) < 0.2


@pytest.mark.statistical
def test_play_device_without_constant_work_loses(make_server):
    found = advantages(make_server(steps=3), WithoutConstantWork, 40)
    assert not found["PlainMembers"].covers_zero


def test_memory_between_steps_is_the_same_for_all_events(make_server):
    without, with_one = memories(make_server, PanPrivateReader)
    assert len(without[0]) > 100
    assert without == with_one


def test_memory_after_shutdown_keeps_no_counts(make_server):
    found = []
    for amount in (0, 3):
        with telemetry(joined(make_server())) as (reader, meter):
            crashes = meter.create_counter("app.crashes")
        crashes.add(amount)
        found.append(remains(reader, crashes))
    assert found[0] == found[1]


@pytest.mark.parametrize("reader_class", [Cumulative, Unprepared, Remembering])
def test_memory_of_a_reader_that_keeps_something_is_found(make_server, reader_class):
    without, with_one = memories(make_server, reader_class)
    assert without[0] == with_one[0]
    assert without[2] != with_one[2]


def test_program_of_the_page_reports_its_event(make_server, tmp_path, monkeypatch):
    server = make_server(steps=1, **SURE)
    (program,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    Device.join(Path("state"), server.served, verification_key=VERIFICATION_KEY, simulation=True).close()
    names = {}
    exec(program, names)  # noqa: S102  # ours
    names["transport"] = server.transport()
    names["reader"].take_steps(now=ended(server, 1))
    names["provider"].shutdown()
    assert released(server) == (1,)


def test_package_without_its_extra_says_what_to_install():
    program = (
        "import importlib.util as util; found = util.find_spec\n"
        "util.find_spec = lambda name: None if name == 'opentelemetry' else found(name)\n"
        "import panprivacy.device.opentelemetry"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    message = "panprivacy.device.opentelemetry needs opentelemetry-sdk: install panprivacy[otel]"
    assert done.stderr.splitlines()[-1] == f"ModuleNotFoundError: {message}"
