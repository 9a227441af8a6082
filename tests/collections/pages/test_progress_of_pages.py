from itertools import pairwise

import pytest

from panprivacy.coarse import coarse, coarse_beyond, coarse_rejections, coarse_step
from releases.progress import progress_text


@pytest.mark.parametrize(
    ("cohort_size", "step"),
    [
        (2, 10),
        (100, 10),
        (999, 10),
        (1_000, 20),
        (10_000, 200),
        (25_000, 500),
        (1_000_000, 20_000),
        (10**9, 2 * 10**7),
    ],
)
def test_step_is_about_a_fiftieth_of_the_cohort(cohort_size: int, step: int) -> None:
    assert coarse_step(cohort_size) == step


def test_progress_is_rounded_down_to_the_step() -> None:
    assert progress_text(6_399, 10_000) == "about 6,200 of 10,000"
    assert progress_text(6_400, 10_000) == "about 6,400 of 10,000"


def test_most_joining_devices_change_nothing_that_is_shown() -> None:
    shown = [progress_text(count, 10_000) for count in range(10_001)]
    changes = sum(before != after for before, after in pairwise(shown))
    assert changes == 50


def test_few_reports_are_shown_as_fewer_than_the_first_step() -> None:
    assert {progress_text(count, 10_000) for count in range(200)} == {"fewer than 200 of 10,000"}
    assert progress_text(1, 5) == "fewer than 5"


def test_beyond_the_cohort_size_only_bands_are_shown() -> None:
    assert progress_text(10_000, 10_000) == progress_text(19_999, 10_000) == "at least 10,000 of 10,000"
    assert coarse(17_345, 10_000) == 10_000
    assert progress_text(20_000, 10_000) == progress_text(49_999, 10_000) == "at least 20,000"
    shown = {coarse_beyond(count, 800) for count in range(800, 120_000)}
    assert sorted(shown) == [800, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000]


@pytest.mark.parametrize("cohort_size", [2, 5, 8, 10, 25, 160, 999, 1_000, 1_234, 4_100, 9_995])
def test_no_band_is_finer_than_the_steps_below_the_cohort_size(cohort_size: int) -> None:
    shown = [coarse_beyond(count, cohort_size) for count in range(30 * cohort_size)]
    assert shown[:cohort_size] == [coarse(count, cohort_size) for count in range(cohort_size)]
    assert all(value <= count for count, value in enumerate(shown))
    bands = sorted(set(shown[cohort_size:]))
    widths = [following - band for band, following in pairwise(bands)]
    assert all(width >= max(10, coarse_step(cohort_size), cohort_size // 4) for width in widths)
    assert len(bands) > 2


@pytest.mark.parametrize("cohort_size", [2, 5, 25, 1_234])
def test_bar_is_full_exactly_where_the_words_say_at_least(cohort_size: int) -> None:
    for count in range(cohort_size + 3):
        is_full = coarse(count, cohort_size) == cohort_size
        assert is_full == progress_text(count, cohort_size).startswith("at least")


def test_rare_rejections_are_not_shown_while_it_is_open() -> None:
    assert coarse_rejections({"duplicate_nonce": 1, "invalid_ciphertext": 450}, 10_000) == {
        "invalid_ciphertext": 400
    }
