"""Times that people enter, and all that are computed from them: readable, or refused by name."""

import json
from datetime import UTC, datetime

import pytest

from panprivacy.formats.errors import FieldError
from panprivacy.formats.times import EARLIEST, LATEST, format_time, parse_time
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.recipe.rounds.draft import RoundsDraft
from panprivacy.recipe.series import SeriesDraft
from tests.factories import recipe_members
from tests.refusals import field_refused

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)

READ = {
    "1970-01-01T00:00:00Z": "1970-01-01T00:00:00Z",
    "1969-12-31T23:00:00-01:00": "1970-01-01T00:00:00Z",
    "2024-02-29T12:00:00.9+00:00": "2024-02-29T12:00:00Z",
    "2024-02-29t12:00:00.123456789z": "2024-02-29T12:00:00Z",
    "2999-12-31T23:59:59Z": "2999-12-31T23:59:59Z",
    "3000-01-01T00:59:59+01:00": "2999-12-31T23:59:59Z",
}
REFUSED = [
    "0001-01-01T00:00:00Z",
    "0001-01-01T00:00:00+23:59",  # before all times that there are
    "1969-12-31T23:59:59Z",
    "1970-01-01T00:00:00+00:01",
    "2999-12-31T23:59:59-00:01",
    "3000-01-01T00:00:00Z",
    "9998-12-31T00:00:00Z",
    "9998-12-31T23:59:59-01:00",
    "9999-12-31T23:59:59Z",
    "9999-12-31T23:59:59-23:59",  # after all times that there are
    "2026-01-31T12:00:00",
    "2026-01-31",
    "2026-W05-6T12:00:00Z",
    "20260131T120000Z",
    "2026-01-31 12:00:00Z",
    "2026-01-31T12:00Z",
    "2026-01-31T12:00:00,5Z",
    "2026-01-31T12:00:00+01",
    "٢٠٢٦-01-31T12:00:00Z",
    "",
    None,
    17,
]
RANGES = ("1970 to 2999", "at most", "at least", "later than", "above", "more than", "must come after")
CORNERS = [None, *READ, *REFUSED[:-12]]


@pytest.mark.parametrize(("entered", "read"), READ.items())
def test_parse_time_reads_what_it_would_write(entered, read):
    time = parse_time("at", entered)
    assert format_time(time) == read
    assert EARLIEST <= time <= LATEST


@pytest.mark.parametrize("entered", REFUSED)
def test_parse_time_outside_of_the_range_names_field_and_range(entered):
    with field_refused("at", match="in the years 1970 to 2999"):
        parse_time("at", entered)


def _require_names(refusal: FieldError, *fields: str) -> None:
    assert refusal.field in fields
    assert any(range_ in refusal.message for range_ in RANGES)


@pytest.mark.parametrize("closes_at", CORNERS)
@pytest.mark.parametrize("opens_at", [None, "1970-01-01T00:00:00Z", "9999-12-31T23:59:59-23:59"])
@pytest.mark.parametrize(("steps", "step_seconds"), [(1, 1), (100_000, 2_678_400)])
def test_window_of_corner_times_is_readable_or_refused(opens_at, closes_at, steps, step_seconds):
    members = recipe_members(opens_at=opens_at, closes_at=closes_at, steps=steps, step_seconds=step_seconds)
    try:
        draft = RecipeDraft.from_mapping(members)
        window = draft.window(NOW)
    except FieldError as refusal:
        _require_names(refusal, "opens_at", "closes_at", "step_seconds")
        return
    assert [parse_time("at", format_time(time)) for time in window] == list(window)
    assert window[1] - window[0] > draft.steps_duration
    assert RecipeDraft.from_mapping(json.loads(json.dumps(draft.as_dict()))) == draft


@pytest.mark.parametrize("opens_at", CORNERS)
@pytest.mark.parametrize("until", [None, "2999-12-31T23:59:59Z", "0001-01-01T00:00:00+23:59"])
@pytest.mark.parametrize("every", ["month", 60, 366 * 86_400])
def test_rounds_at_corner_times_are_readable_or_refused(opens_at, until, every):
    members = recipe_members(
        opens_at=opens_at, until=until, every=every, steps=1, step_seconds=60, rounds=None if until else 400
    )
    try:
        series = SeriesDraft.from_mapping(members)
        openings = series.openings(NOW)
    except FieldError as refusal:
        _require_names(refusal, "opens_at", "until", "rounds")
        return
    for opening in openings:
        for time in (opening, series.closes(opening)):
            assert parse_time("at", format_time(time)) == time


@pytest.mark.parametrize("opens_at", CORNERS)
@pytest.mark.parametrize("round_seconds", [61, 31 * 86_400])
def test_first_round_at_corner_times_is_readable_or_refused(opens_at, round_seconds):
    members = recipe_members(
        opens_at=opens_at, rounds=3, round_seconds=round_seconds, steps=1, step_seconds=60
    )
    try:
        draft = RoundsDraft.from_mapping(members)
    except FieldError as refusal:
        _require_names(refusal, "opens_at")
        return
    closes_at = draft.closes(draft.openings(NOW)[0])
    assert parse_time("at", format_time(closes_at)) == closes_at


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"closes_at": "2026-02-04T12:00:00Z", "opens_at": "2026-01-31T12:00:00Z"}, "closes_at"),
        ({"closes_at": "2026-02-04T12:00:00Z"}, "closes_at"),
        ({"rounds": 3, "round_seconds": 4 * 86_400}, "round_seconds"),
    ],
)
def test_recipe_that_closes_when_its_steps_end_is_refused(changes, field):
    members = recipe_members(**changes)
    with pytest.raises(
        FieldError, match=r"(more than|above) 4 days \(345,600 s\), which the steps take"
    ) as refused:
        _ = RoundsDraft.from_mapping(members) if "rounds" in members else None
        RecipeDraft.from_mapping(members).window(NOW)
    assert refused.value.field == field
    later = recipe_members(opens_at="2026-01-31T12:00:00Z", closes_at="2026-02-04T12:00:01Z")
    assert RecipeDraft.from_mapping(later).window(NOW)[0] == NOW
