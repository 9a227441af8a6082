"""Devices of a recipe that asks by segment: where each one's segment comes from, and what it sends."""

import json
from collections import Counter

import numpy as np
import pytest
from scipy.stats import binom

from devices_sim.__main__ import main
from devices_sim.devices import simulated_class
from devices_sim.fleet import run_fleet
from devices_sim.workloads.events_file import events_csv
from devices_sim.workloads.segments import checked_weights
from devices_sim.workloads.synthetic import bernoulli
from panprivacy.formats import base64_text
from panprivacy.formats.errors import FieldError
from tests.panprivacy.device.server import VERIFICATION_KEY, listening
from tests.refusals import field_refused

SEGMENTS = ("2.0", "2.1", "nightly")


def run(server, workload, **options):
    members = {"served": server.served, "verification_key": VERIFICATION_KEY, "workload": workload}
    return run_fleet(**members, transport=server.transport, **options)


def truths(server, result):
    return list(simulated_class(server.recipe)(server.recipe.calibrated_statistic).truth(result).segments)


def cells(server):
    return np.sum(server.decrypted(), axis=0).reshape(len(SEGMENTS), -1).tolist()


@pytest.mark.parametrize("eager", [False, pytest.param(True, marks=pytest.mark.long)])
def test_devices_without_a_segment_are_spread_evenly_by_the_seed(make_server, eager):
    """At ε = 20 one of these 360 cells flips with less than 7.5e-7."""
    server = make_server(segments=SEGMENTS, epsilon=20)
    result = run(server, bernoulli(devices=60, steps=4, probability=0.15, seed=3), seed=5, eager=eager)
    true = truths(server, result)
    assert [(segment["label"], sum(segment["answers"])) for segment in true] == [
        (label, ones) for label, (_, ones) in zip(SEGMENTS, cells(server), strict=True)
    ]
    assert [segment["devices"] for segment in true] == [sum(row) for row in cells(server)]
    assert min(segment["devices"] for segment in true) > 8
    again, other = (
        run(
            make_server(segments=SEGMENTS),
            bernoulli(devices=60, steps=4, probability=0.15, seed=3),
            seed=seed,
        )
        for seed in (5, 6)
    )
    assert again.devices_by_answer == result.devices_by_answer != other.devices_by_answer


def test_devices_are_spread_by_the_weights_of_the_segments(make_server):
    """A segment of a tenth of 600 devices has 21 to 109 of them but for 1e-9, the binomial tails below; the
    seed makes it the same every time."""
    server = make_server(segments=SEGMENTS, epsilon=20)
    workload = bernoulli(devices=600, steps=4, probability=0.5, seed=3)
    sizes = [one["devices"] for one in truths(server, run(server, workload, seed=5, weights=(9, 0, 1)))]
    assert sizes[1] == 0
    assert sum(sizes) == 600
    assert 21 <= sizes[2] <= 109
    assert binom(600, 0.1).cdf(20) + binom(600, 0.1).sf(109) < 1e-9


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ((1, 1), "must be 3 numbers, one for each of the segments 2.0, 2.1, nightly"),
        ((0, 0, 0), "must not all be 0"),
        ((1, -1, 1), "must be a number of at least 0"),
        ((1, float("nan"), 1), "must be a number of at least 0"),
        ((1, "2", 1), "must be a number of at least 0"),
        ("111", "must be 3 numbers"),
        ({}, "must be 3 numbers"),
    ],
)
def test_weights_that_are_no_sizes_of_the_segments_are_refused(weights, message):
    with field_refused("weights", match=message):
        checked_weights("weights", weights, SEGMENTS)


def test_weights_without_segments_are_refused():
    assert checked_weights("weights", None, ()) is None
    with pytest.raises(FieldError, match="the recipe has no segments"):
        checked_weights("weights", [1], ())


def read(tmp_path, content, segments=SEGMENTS):
    path = tmp_path / "events.csv"
    path.write_text(content)
    with events_csv(path, 4, segments) as workload:
        return dict(workload)


def test_file_may_say_the_segment_of_every_device(tmp_path, make_server):
    rows = "device,step,events,segment\na,1,1,2.1\na,2,1,2.1\nb,1,0, 2.0\nc,1,1,\n"
    given = read(tmp_path, rows)
    assert {name: (set(one.steps), one.segment) for name, one in given.items()} == {
        "a": ({1, 2}, "2.1"),
        "b": (set(), "2.0"),
        "c": ({1}, None),
    }
    server = make_server(segments=SEGMENTS, epsilon=20)
    with events_csv(tmp_path / "events.csv", 4, SEGMENTS) as workload:
        result = run(server, workload)
    assert result.devices_by_answer == Counter({("2.1", 2): 1, ("2.0", 0): 1, (None, 1): 1})
    assert cells(server) == [[1, 0], [0, 1], [0, 0]]
    assert read(tmp_path, "device,step,events\na,1,1\n") == {"a": {1}}


@pytest.mark.parametrize(
    ("rows", "segments", "message"),
    [
        ("a,1,1,3.0\n", SEGMENTS, 'line 2, column 4: must be one of 2.0, 2.1, nightly, or empty, not "3.0"'),
        ("a,1,1,2.0\na,2,1,2.1\n", SEGMENTS, 'must be the same in all rows of device "a"'),
        ("a,1,1\n", SEGMENTS, "line 2: must have 4 cells"),
        ("a,1,1,2.0\n", (), "line 1: must be the header device,step,events, not"),
    ],
)
def test_file_with_an_impossible_segment_is_refused_by_line(tmp_path, rows, segments, message):
    with pytest.raises(FieldError, match=message):
        read(tmp_path, "device,step,events,segment\n" + rows, segments)


@pytest.mark.parametrize(("segment", "hot"), [("2.1", [0, 0, 0, 1, 0, 0]), ("", [0] * 6)])
def test_real_device_says_its_segment_when_it_sends(make_server, tmp_path, capsys, segment, hot):
    """At ε = 20 one of 6 cells flips with probability 1.3e-8."""
    server, state = make_server(segments=SEGMENTS, epsilon=20, steps=1), str(tmp_path / "state")
    key = base64_text.encode(VERIFICATION_KEY)
    with listening(server) as url:
        joined = ["join", url, server.recipe.identifier, "--verification-key", key, "--state", state]
        assert main([*joined, "--simulation"]) == 0
        assert "segments: 2.0; 2.1; nightly" in capsys.readouterr().out
        assert main(["step", "--state", state, "--event"]) == 0
        for wrong in ([], ["--segment", "3.0"]):
            assert main(["send", "--state", state, *wrong]) == 2
            assert "must be one of 2.0; 2.1; nightly, or empty" in capsys.readouterr().err
        assert main(["send", "--state", state, "--segment", segment]) == 0
    assert server.decrypted() == [tuple(hot)]


def test_main_fleet_prints_what_is_true_of_each_segment(make_server, capsys):
    server = make_server(segments=SEGMENTS)
    with listening(server) as url:
        fleet = ["fleet", "--server", url, "--recipe", server.recipe.identifier, "--devices", "30"]
        assert main([*fleet, "--rate", "1", "--seed", "1", "--processes", "1"]) == 0
    printed = json.loads(capsys.readouterr().out)["segments"]
    assert sum(segment["devices"] for segment in printed) == 30
    assert all(segment["answers"] == [segment["devices"]] for segment in printed)
