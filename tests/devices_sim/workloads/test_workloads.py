import csv
import pickle
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from devices_sim.workloads import events_file
from devices_sim.workloads.events_file import events_csv
from devices_sim.workloads.flights import flights, home_airports, tail_numbers
from devices_sim.workloads.synthetic import bernoulli
from panprivacy.formats.errors import FieldError

STEPS = 5


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def read(path: Path, steps: int = STEPS) -> dict[str, set[int]]:
    with events_csv(path, steps) as workload:
        streams = list(workload)
    assert len({name for name, _ in streams}) == len(streams)
    return {name: set(happened) for name, happened in streams}


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(
        st.tuples(
            st.text(st.characters(exclude_characters="\0\r", codec="utf-8"), min_size=1, max_size=5).filter(
                str.strip
            ),
            st.integers(1, STEPS),
            st.integers(0, 3),
        ),
        min_size=1,
    ),
    pending=st.integers(1, 4),
)
def test_events_csv_any_rows_give_every_device_once_whatever_the_buckets(
    tmp_path, monkeypatch, rows, pending
):
    monkeypatch.setattr(events_file, "BUCKET_BYTES", 16)
    monkeypatch.setattr(events_file, "PENDING_ROWS", pending)
    path = tmp_path / "e.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("device", "step", "events"), *rows])
    expected: dict[str, set[int]] = {name: set() for name, _, _ in rows}
    for name, step, events in rows:
        if events:
            expected[name].add(step)
    assert read(path) == expected


@pytest.mark.parametrize(
    ("content", "field", "part"),
    [
        ("a,1,1\n", "events", 'line 1: must be the header device,step,events, not "a,1,1"'),
        ("device,step,events\n", "device", "at least one device"),
        (
            "device,step,events\na,0,1\n",
            "step",
            "line 2, column 2: must be a whole number of at least 1 and at most 5",
        ),
        ("device,step,events\na,1,1\na,6,0\n", "step", "line 3, column 2"),
        ("device,step,events\na," + "9" * 5000 + ",1\n", "step", "column 2"),
        ("device,step,events\na,1,-1\n", "events", "line 2, column 3: must be a whole number of at least 0"),
        ("device,step,events\n ,1,1\n", "device", "line 2, column 1: must be a name"),
        ("device,step,events\n" + "x" * 201 + ",1,1\n", "device", "column 1"),
        ("device,step,events\na,1\n", "events", "line 2: must have 3 cells"),
    ],
)
def test_events_csv_wrong_content_is_refused_with_line_and_column(tmp_path, content, field, part):
    with pytest.raises(FieldError) as caught:
        read(write(tmp_path / "e.csv", content))
    assert caught.value.field == field
    assert part in caught.value.message
    assert len(caught.value.message) < 300


def test_events_csv_when_the_context_ends_no_bucket_file_is_left(tmp_path):
    path = write(tmp_path / "e.csv", "device,step,events\na,1,1\n")
    with events_csv(path, STEPS) as workload:
        directory = workload.buckets[0].path.parent
        assert directory.exists()
    assert not directory.exists()


def test_flights_of_2013_have_the_known_truths():
    counts = [len(happened) for _, happened in flights()]
    assert len(counts) == 3148
    assert sum(count > 0 for count in counts) == 1019
    assert round(sum(min(count, 10) for count in counts) / len(counts), 4) == 0.5314

    values = Counter(value for _, value in home_airports())
    assert values == {"0": 601, "1": 377, "2": 525}

    items, universe = tail_numbers()
    assert (len(items), len(set(items)), len(universe)) == (26_849, 3_148, 4_043)
    assert set(items) < set(universe)


def test_synthetic_same_seed_gives_the_same_devices_after_pickling():
    workload = bernoulli(devices=2_500, steps=6, probability=0.3, seed=7)
    buckets = pickle.loads(pickle.dumps(workload.buckets))  # noqa: S301  # our own bytes
    again = [stream for bucket in buckets for stream in bucket]
    assert list(workload) == again
    assert len({name for name, _ in again}) == 2_500
    assert again != list(bernoulli(devices=2_500, steps=6, probability=0.3, seed=8))


def test_synthetic_certain_and_impossible_events_always_and_never_occur():
    assert {frozenset(h) for _, h in bernoulli(devices=3, steps=4, probability=1, seed=1)} == {
        frozenset({1, 2, 3, 4})
    }
    assert {frozenset(h) for _, h in bernoulli(devices=3, steps=4, probability=0, seed=1)} == {frozenset()}


def test_bernoulli_impossible_parameters_are_refused():
    for members in ({"devices": 0}, {"probability": 1.5}, {"probability": -0.1}, {"steps": 0}):
        with pytest.raises(FieldError):
            bernoulli(**({"devices": 1, "steps": 1, "probability": 0.5, "seed": 1} | members))


@pytest.mark.statistical
def test_synthetic_every_step_has_events_with_the_stated_probability():
    """Each of 5 steps: a two-sided binomial test; in total it fails with probability at most 1e-6."""
    devices, steps, probability = 4_000, 5, 0.2
    workload = bernoulli(devices=devices, steps=steps, probability=probability, seed=11)
    tally = Counter(step for _, happened in workload for step in happened)
    tail = 1e-6 / (2 * steps)
    low, high = binom.ppf(tail, devices, probability), binom.isf(tail, devices, probability)
    assert set(tally) == set(range(1, steps + 1))
    assert all(low <= count <= high for count in tally.values())
