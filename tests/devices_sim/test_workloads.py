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
from devices_sim.workloads.synthetic import bernoulli, poisson
from panprivacy.errors import FieldError

STEPS = 5


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def read(path: Path, steps: int = STEPS) -> dict[str, set[int]]:
    with events_csv(path, steps) as workload:
        streams = list(workload)
    assert len({name for name, _ in streams}) == len(streams)
    return {name: set(happened) for name, happened in streams}


def test_events_csv_several_events_in_one_step_are_one_event(tmp_path):
    path = write(tmp_path / "e.csv", "device,step,events\na,1,3\na,1,2\na,4,1\nb,2,0\nb,2,00\n")
    assert read(path) == {"a": {1, 4}, "b": set()}


def test_events_csv_byte_order_mark_blank_lines_quotes_and_spaces_are_tolerated(tmp_path):
    content = b'\xef\xbb\xbfdevice, Step ,events\r\n"a, the\nfirst", 2 ,1\r\n\r\n"b ""x""",05,0\r\n'
    assert read(write(tmp_path / "e.csv", content)) == {"a, the\nfirst": {2}, 'b "x"': set()}


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
        ("", "events", "is empty; line 1 must be the header device,step,events"),
        ("\n", "events", "line 1: must be the header device,step,events, not empty"),
        ("a,1,1\n", "events", 'line 1: must be the header device,step,events, not "a,1,1"'),
        ("device,step,events\n", "device", "at least one device"),
        (
            "device,step,events\na,0,1\n",
            "step",
            "line 2, column 2: must be a whole number of at least 1 and at most 5",
        ),
        ("device,step,events\na,1,1\na,6,0\n", "step", "line 3, column 2"),
        ("device,step,events\na,1.5,1\n", "step", 'not "1.5"'),
        ("device,step,events\na,١,1\n", "step", "column 2"),
        ("device,step,events\na," + "9" * 5000 + ",1\n", "step", "column 2"),
        ("device,step,events\na,,1\n", "step", "column 2"),
        ("device,step,events\na,1,-1\n", "events", "line 2, column 3: must be a whole number of at least 0"),
        ("device,step,events\na,1,yes\n", "events", 'not "yes"'),
        ("device,step,events\n ,1,1\n", "device", "line 2, column 1: must be a name"),
        ("device,step,events\n" + "x" * 201 + ",1,1\n", "device", "column 1"),
        ("device,step,events\na,1\n", "events", "line 2: must have 3 cells"),
        ("device,step,events\na,1,1,1\n", "events", "not 4"),
        ("device,step,events\na\0,1,1\n", "events", "line 2: must be UTF-8 text without NUL"),
        (b"device,step,events\na,1,1\n\xff,1,1\n", "events", "line 3: must be UTF-8"),
        ("device,step,events\na,1,1\n".encode("utf-16"), "events", "line 1: must be UTF-8"),
        ('device,step,events\n"a,1,1\n', "events", "line 2"),
        ("device,step,events\n" + "x" * (1 << 20) + "\n", "events", "line 2: must be shorter"),
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


def test_flights_january_2013_has_the_known_truth():
    counts = [len(happened) for _, happened in flights()]
    assert len(counts) == 3148
    assert sum(count > 0 for count in counts) == 1019
    assert round(sum(min(count, 10) for count in counts) / len(counts), 4) == 0.5314


def test_home_airports_of_january_2013_have_the_known_truth():
    values = Counter(value for _, value in home_airports())
    assert values == {"0": 601, "1": 377, "2": 525}


def test_tail_numbers_are_a_stream_over_those_of_the_year():
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
    assert {frozenset(h) for _, h in poisson(devices=3, steps=4, rate=0, seed=1)} == {frozenset()}


@pytest.mark.parametrize(
    "members", [{"devices": 0}, {"probability": 1.5}, {"probability": -0.1}, {"steps": 0}]
)
def test_bernoulli_impossible_parameters_are_refused(members):
    with pytest.raises(FieldError):
        bernoulli(**({"devices": 1, "steps": 1, "probability": 0.5, "seed": 1} | members))


@pytest.mark.statistical
@pytest.mark.parametrize("make", ["bernoulli", "poisson"])
def test_synthetic_every_step_has_events_with_the_stated_probability(make):
    """Each of 5 steps: a two-sided binomial test; in total it fails with probability at most 1e-6."""
    devices, steps = 4_000, 5
    if make == "bernoulli":
        probability, workload = 0.2, bernoulli(devices=devices, steps=steps, probability=0.2, seed=11)
    else:
        # 1 − e^−0.5
        probability, workload = 0.3934693402873666, poisson(devices=devices, steps=steps, rate=0.5, seed=11)
    tally = Counter(step for _, happened in workload for step in happened)
    tail = 1e-6 / (2 * steps)
    low, high = binom.ppf(tail, devices, probability), binom.isf(tail, devices, probability)
    assert set(tally) == set(range(1, steps + 1))
    assert all(low <= count <= high for count in tally.values())
