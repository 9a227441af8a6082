"""Waits double, up to the longest, however often something failed."""

from datetime import timedelta

import pytest

from storage.waits import wait_after

SECOND = timedelta(seconds=1)


@pytest.mark.parametrize(
    ("failures", "seconds"), [(0, 1), (1, 2), (8, 256), (9, 300), (40, 300), (10**9, 300)]
)
def test_wait_doubles_up_to_the_longest(failures: int, seconds: int) -> None:
    wait = wait_after(failures, first=SECOND, longest=timedelta(minutes=5))
    assert wait == timedelta(seconds=seconds)
    assert wait_after(0, first=timedelta(days=10_000), longest=SECOND) == SECOND
