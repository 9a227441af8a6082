"""Durations in words."""

from datetime import datetime, timedelta, timezone

import pytest

from panprivacy.formats.display import duration, duration_and_seconds, moment


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 seconds"),
        (1, "1 second"),
        (59, "59 seconds"),
        (60, "1 minute"),
        (5_400, "1 hour 30 minutes"),
        (86_400, "1 day"),
        (2 * 86_400 + 1, "2 days 1 second"),
    ],
)
def test_duration_names_every_unit_that_is_not_0(seconds: int, words: str) -> None:
    assert duration(seconds) == words


@pytest.mark.parametrize(
    ("seconds", "words"), [(7, "7 seconds"), (60, "1 minute (60 s)"), (604_800, "7 days (604,800 s)")]
)
def test_seconds_stand_beside_what_they_are_not_easily_read_from(seconds: int, words: str) -> None:
    assert duration_and_seconds(seconds) == words


def test_moment_is_in_utc_to_the_minute_wherever_it_was_taken() -> None:
    at = datetime(2026, 12, 1, 0, 5, 59, tzinfo=timezone(timedelta(hours=6)))
    assert moment(at) == "2026-11-30 18:05 UTC"
