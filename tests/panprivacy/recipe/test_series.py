"""When rounds open, and which files are refused."""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo, available_timezones

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panprivacy.formats.errors import FieldError
from panprivacy.recipe.series import MOST_ROUNDS, SeriesDraft, zone_warning
from tests.factories import recipe_members
from tests.refusals import field_refused

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)


def draft(**changes):
    return SeriesDraft.from_mapping(recipe_members(**{"every": "week", "rounds": 3, **changes}))


def opened(zone, first, every, rounds, **changes):
    """When rounds open, each as the clocks of the zone show it, with their distance from UTC in hours."""
    file = draft(every=every, rounds=rounds, time_zone=zone, opens_at=first, **changes)
    local = [opening.astimezone(ZoneInfo(zone)) for opening in file.openings(NOW)]
    return [f"{time:%m-%d %H:%M} {time.utcoffset().total_seconds() / 3600:+g}" for time in local]


BERLIN = "Europe/Berlin"


@pytest.mark.parametrize(("zone", "first", "every", "expected"), [
    # In UTC this opens on 28 February and then on the 28th of each month.
    (BERLIN, "2027-03-01T00:00:00+01:00", "month", "03-01 00:00 +1, 04-01 00:00 +2, 05-01 00:00 +2"),
    (BERLIN, "2027-03-24T09:00:00+01:00", "week", "03-24 09:00 +1, 03-31 09:00 +2"),
    # 02:30 is skipped on 28 March, and comes twice on 31 October.
    (BERLIN, "2027-03-27T02:30:00+01:00", "day", "03-27 02:30 +1, 03-28 03:00 +2, 03-29 02:30 +2"),
    (BERLIN, "2027-10-30T02:30:00+02:00", "day", "10-30 02:30 +2, 10-31 02:30 +2, 11-01 02:30 +1"),
    (BERLIN, "2027-10-31T02:30:00+01:00", "day", "10-31 02:30 +1, 11-01 02:30 +1"),
    ("Australia/Lord_Howe", "2027-10-02T02:15:00+10:30", "day", "10-02 02:15 +10.5, 10-03 02:30 +11"),
    (BERLIN, "2027-12-31T23:30:00+01:00", "month", "12-31 23:30 +1, 01-31 23:30 +1, 02-29 23:30 +1"),
    ("UTC", "2028-02-29T12:00:00Z", "month", "02-29 12:00 +0, 03-29 12:00 +0, 04-29 12:00 +0"),
    ("UTC", "2028-02-28T00:00:00Z", "day", "02-28 00:00 +0, 02-29 00:00 +0, 03-01 00:00 +0"),
])  # fmt: skip
def test_rounds_open_at_the_same_time_of_the_day_in_their_zone(zone, first, every, expected):
    assert ", ".join(opened(zone, first, every, expected.count(",") + 1, steps=1)) == expected


ZONES = sorted(available_timezones() - {"Factory", "localtime"})


@given(
    zone=st.sampled_from(ZONES),
    seconds=st.integers(0, 14 * 366 * 86_400),
    every=st.sampled_from(["day", "week", "month"]),
)
def test_openings_increase_and_show_the_same_time_but_where_it_is_skipped(zone, seconds, every):
    first = NOW + timedelta(seconds=seconds)
    file = draft(every=every, steps=1, rounds=60, time_zone=zone, opens_at=first.isoformat())
    openings = file.openings(NOW)
    assert openings[0] == first
    begun = first.astimezone(ZoneInfo(zone))
    for one, following in pairwise(openings):
        apart = following - one
        least, most = {"day": (1, 1), "week": (7, 7), "month": (28, 31)}[every]
        assert timedelta(days=least, hours=-3) <= apart <= timedelta(days=most, hours=3)
        local = following.astimezone(ZoneInfo(zone))
        if local.time() != begun.time():
            # Clocks jumped over it: a second before, they showed an earlier time.
            before = (following - timedelta(seconds=1)).astimezone(ZoneInfo(zone))
            assert before.utcoffset() < local.utcoffset()
            assert before.time() < begun.time() < local.time() or local.time() < before.time()
        else:
            assert local.fold == 0  # of two, the first


def test_a_zone_is_kept_and_is_utc_unless_named():
    assert draft().as_dict()["time_zone"] == "UTC"
    file = draft(time_zone=BERLIN)
    assert file.as_dict()["time_zone"] == BERLIN
    assert SeriesDraft.from_mapping(file.as_dict()) == file


def test_zones_are_known_where_the_machine_has_none():
    members = draft(every="month", rounds=2, time_zone="Europe/Berlin", opens_at="2027-03-01T00:00:00+01:00")
    program = (
        "import json, sys; from datetime import UTC, datetime; "
        "from panprivacy.recipe.series import SeriesDraft; "
        "print(SeriesDraft.from_mapping(json.loads(sys.argv[1])).openings(datetime.now(UTC))[1])"
    )
    answer = subprocess.run(
        [sys.executable, "-c", program, json.dumps(members.as_dict())],
        env={**os.environ, "PYTHONTZPATH": "", "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert answer.stdout == "2027-03-31 22:00:00+00:00\n"


def test_a_round_is_asked_until_the_next_one_opens():
    file = draft(every="day", steps=1, time_zone="Europe/Berlin", opens_at="2027-03-27T23:00:00Z")
    first, second, last = file.openings(NOW)
    assert second - first == timedelta(hours=23)
    assert file.latest(file.round(1, 3, first), first, second) == second
    assert file.latest(file.round(3, 3, last), last, None) == last + timedelta(days=1)


@pytest.mark.parametrize(("every", "apart"), [("day", 86_400), ("week", 604_800), (400_000, 400_000)])
def test_rounds_open_one_after_the_other_from_the_time_in_the_file(every, apart):
    openings = draft(every=every, steps=1, rounds=400, opens_at="2026-02-01T00:00:00Z").openings(NOW)
    assert openings[0] == datetime(2026, 2, 1, tzinfo=UTC)
    assert {(b - a).total_seconds() for a, b in pairwise(openings)} == {apart}


def test_until_ends_a_series_before_it():
    file = draft(every="day", steps=1, rounds=None, until="2026-02-03T12:00:00Z")
    assert len(file.openings(NOW)) == 3  # the fourth would open just then
    assert file.as_dict()["until"] == "2026-02-03T12:00:00Z"
    assert SeriesDraft.from_mapping(file.as_dict()) == file


def test_each_round_is_a_recipe_that_says_which_it_is_and_ends_by_itself():
    found = draft().round(2, 3, NOW)
    assert (found.name, found.opens_at, found.closes_at) == ("Crash counter, round 2 of 3", NOW, None)
    assert found.window(NOW)[1] == NOW + timedelta(days=4 + 1)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"every": None}, "every"),
        ({"every": "year"}, "every"),
        ({"every": 59}, "every"),
        ({"every": True}, "every"),
        ({"every": "day"}, "every"),  # the recipe has four steps of a day
        ({"every": 366 * 86_400 + 1}, "every"),
        ({"time_zone": "Berlin"}, "time_zone"),
        ({"time_zone": "europe/berlin"}, "time_zone"),
        ({"time_zone": "+01:00"}, "time_zone"),
        ({"time_zone": "../../etc/passwd"}, "time_zone"),
        ({"time_zone": "localtime"}, "time_zone"),
        ({"time_zone": ""}, "time_zone"),
        ({"time_zone": 1}, "time_zone"),
        ({"time_zone": "Europe/Berlin", "every": 400_000}, "time_zone"),
        ({"rounds": 0}, "rounds"),
        ({"rounds": MOST_ROUNDS + 1}, "rounds"),
        ({"rounds": None}, "rounds"),
        ({"until": "2026-02-03T12:00:00Z"}, "rounds"),
        ({"rounds": None, "until": "soon"}, "until"),
        ({"closes_at": "2026-02-03T12:00:00Z"}, "closes_at"),
        ({"name": "x" * 110}, "name"),
        ({"steps": 0}, "steps"),
    ],
)
def test_a_file_that_is_no_series_is_refused_by_the_field(changes, field):
    with field_refused(field):
        draft(**changes)


@pytest.mark.parametrize("until", ["2026-01-31T12:00:00Z", "2099-01-01T00:00:00Z"])
def test_until_that_allows_no_round_or_too_many_is_refused(until):
    with field_refused("until"):
        draft(rounds=None, until=until).openings(NOW)


@pytest.mark.parametrize(
    ("changes", "field", "allowed"),
    [
        ({"rounds": 400, "opens_at": "2990-01-01T00:00:00Z"}, "rounds", "at most 120:"),
        # Four days of steps and one to report: a round that opens on the 27th closes in the year 3000.
        (
            {"rounds": None, "until": "2999-12-31T00:00:00Z", "opens_at": "2999-10-27T00:00:00Z"},
            "until",
            "at most 2999-12-27T00:00:00Z:",
        ),
        ({"rounds": 1, "opens_at": "2999-12-28T00:00:00Z"}, "opens_at", "at most 2999-12-26T23:59:59Z:"),
    ],
)
def test_rounds_beyond_the_last_year_are_refused(changes, field, allowed):
    with pytest.raises(FieldError) as refusal:
        draft(every="month", **changes).openings(NOW)
    assert refusal.value.field == field
    assert allowed in refusal.value.message


def test_offset_without_a_time_zone_is_warned_of():
    berlin = {"every": "month", "opens_at": "2027-03-01T00:00:00+01:00"}
    assert "offset +01:00, but each month is counted in UTC" in zone_warning(berlin)
    for change in ({"time_zone": "Europe/Berlin"}, {"every": 3600}, {"opens_at": "2027-03-01T00:00:00Z"}):
        assert zone_warning(berlin | change) == ""


def test_refusals_name_the_zone_that_is_meant_and_the_shortest_month():
    with pytest.raises(FieldError, match="such as Europe/Berlin, not"):
        draft(time_zone="europe/berlin")
    with pytest.raises(FieldError, match="such as America/New_York, not"):
        draft(time_zone="america/new_york")
    with pytest.raises(FieldError, match="a month may have only 28 days"):
        draft(every="month", steps=30)
