"""When rounds open, and which files are refused."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from panprivacy.errors import FieldError
from panprivacy.series import MOST_ROUNDS, SeriesDraft
from tests.factories import recipe_members

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)


def draft(**changes):
    return SeriesDraft.from_mapping(recipe_members(**{"every": "week", "rounds": 3, **changes}))


def test_months_end_on_their_last_day_and_the_next_one_begins_where_the_first_did():
    days = [opening.strftime("%m-%d %H") for opening in draft(every="month", rounds=5).openings(NOW)]
    assert days == ["01-31 12", "02-28 12", "03-31 12", "04-30 12", "05-31 12"]


@pytest.mark.parametrize(("every", "apart"), [("day", 86_400), ("week", 604_800), (400_000, 400_000)])
def test_rounds_open_one_after_the_other_from_the_time_in_the_file(every, apart):
    openings = draft(every=every, steps=1, opens_at="2026-02-01T00:00:00Z").openings(NOW)
    assert openings[0] == datetime(2026, 2, 1, tzinfo=UTC)
    assert [(b - a).total_seconds() for a, b in pairwise(openings)] == [apart] * 2


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
    with pytest.raises(FieldError) as refusal:
        draft(**changes)
    assert refusal.value.field == field


@pytest.mark.parametrize("until", ["2026-01-31T12:00:00Z", "2099-01-01T00:00:00Z"])
def test_until_that_allows_no_round_or_too_many_is_refused(until):
    with pytest.raises(FieldError) as refusal:
        draft(rounds=None, until=until).openings(NOW)
    assert refusal.value.field == "until"


def test_rounds_beyond_the_calendar_are_refused():
    with pytest.raises(FieldError) as refusal:
        draft(rounds=400, every="month", opens_at="9990-01-01T00:00:00Z").openings(NOW)
    assert refusal.value.field == "every"
