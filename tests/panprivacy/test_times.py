"""Times that people enter, and all that are computed from them: readable, or refused by name."""

import json
from datetime import UTC, datetime

import pytest

from panprivacy.errors import FieldError
from panprivacy.recipe_draft import RecipeDraft
from panprivacy.rounds.draft import RoundsDraft
from panprivacy.series import SeriesDraft
from panprivacy.times import EARLIEST, LATEST, format_time, parse_time
from tests.factories import recipe_members

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)

READ = {
    "1970-01-01T00:00:00Z": "1970-01-01T00:00:00Z",
    "1969-12-31T23:00:00-01:00": "1970-01-01T00:00:00Z",
    "2024-02-29T12:00:00.9+00:00": "2024-02-29T12:00:00Z",
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
    "",
    None,
    17,
]
RANGES = ("1970 to 2999", "at most", "at least", "later than", "above", "more than", "must come after")
CORNERS = [*READ, *REFUSED[:-5]]


@pytest.mark.parametrize(("entered", "read"), READ.items())
def test_parse_time_reads_what_it_would_write(entered: str, read: str) -> None:
    time = parse_time("at", entered)
    assert format_time(time) == read
    assert EARLIEST <= time <= LATEST


@pytest.mark.parametrize("entered", REFUSED)
def test_parse_time_outside_of_the_range_names_field_and_range(entered: object) -> None:
    with pytest.raises(FieldError, match="in the years 1970 to 2999") as refused:
        parse_time("at", entered)
    assert refused.value.field == "at"


def _require_names(refusal: FieldError, *fields: str) -> None:
    assert refusal.field in fields
    assert any(range_ in refusal.message for range_ in RANGES)


@pytest.mark.parametrize("closes_at", [None, *CORNERS])
@pytest.mark.parametrize("opens_at", [None, *CORNERS])
@pytest.mark.parametrize(("steps", "step_seconds"), [(1, 1), (7, 86_400), (100_000, 2_678_400)])
def test_window_of_corner_times_is_readable_or_refused(
    opens_at: str | None, closes_at: str | None, steps: int, step_seconds: int
) -> None:
    members = recipe_members(opens_at=opens_at, closes_at=closes_at, steps=steps, step_seconds=step_seconds)
    try:
        draft = RecipeDraft.from_mapping(members)
        window = draft.window(NOW)
    except FieldError as refusal:
        _require_names(refusal, "opens_at", "closes_at", "step_seconds")
        return
    assert [parse_time("at", format_time(time)) for time in window] == list(window)
    assert window[1] - window[0] > draft.steps_last
    assert RecipeDraft.from_mapping(json.loads(json.dumps(draft.as_dict()))) == draft


@pytest.mark.parametrize("opens_at", [None, *CORNERS])
@pytest.mark.parametrize("until", [None, *CORNERS])
@pytest.mark.parametrize("every", ["month", 60, 366 * 86_400])
def test_rounds_at_corner_times_are_readable_or_refused(
    opens_at: str | None, until: str | None, every: str | int
) -> None:
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
        for time in (opening, series.closes(opening, NOW)):
            assert parse_time("at", format_time(time)) == time


@pytest.mark.parametrize("opens_at", [None, *CORNERS])
@pytest.mark.parametrize("round_seconds", [61, 31 * 86_400])
def test_first_round_at_corner_times_is_readable_or_refused(opens_at: str | None, round_seconds: int) -> None:
    members = recipe_members(
        opens_at=opens_at, rounds=3, round_seconds=round_seconds, steps=1, step_seconds=60
    )
    try:
        draft = RoundsDraft.from_mapping(members)
    except FieldError as refusal:
        _require_names(refusal, "opens_at")
        return
    closes_at = draft.closes(draft.openings(NOW)[0], NOW)
    assert parse_time("at", format_time(closes_at)) == closes_at


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"closes_at": "2026-02-04T12:00:00Z", "opens_at": "2026-01-31T12:00:00Z"}, "closes_at"),
        ({"closes_at": "2026-02-04T12:00:00Z"}, "closes_at"),
        ({"rounds": 3, "round_seconds": 4 * 86_400}, "round_seconds"),
    ],
)
def test_recipe_that_closes_when_its_steps_end_is_refused(changes: dict[str, object], field: str) -> None:
    members = recipe_members(**changes)
    with pytest.raises(
        FieldError, match=r"(more than|above) 4 days \(345,600 s\), which the steps take"
    ) as refused:
        _ = RoundsDraft.from_mapping(members) if "rounds" in members else None
        RecipeDraft.from_mapping(members).window(NOW)
    assert refused.value.field == field


def test_recipe_that_closes_a_second_after_its_steps_is_taken() -> None:
    members = recipe_members(opens_at="2026-01-31T12:00:00Z", closes_at="2026-02-04T12:00:01Z")
    assert RecipeDraft.from_mapping(members).window(NOW)[0] == NOW
