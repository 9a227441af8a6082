"""The values suggested in place of those that do not meet a target meet it, and nearly no others do."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panprivacy.formats.errors import FieldError
from panprivacy.planning.value_search import (
    ALL_DIGITS,
    Values,
    keeps_promise,
    largest_number,
    nearest_value,
    remedy_clause,
)
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.statistics.events import MECHANISMS

MEMBERS = {
    "name": "r",
    "question": "q?",
    "steps": 4,
    "epsilon": 4,
    "delta": 1e-6,
    "cohort_size": 10_000,
}
OF = {
    "count_nonzero": {"aggregator_epsilon": 0.2},
    # So few devices that their two coordinates are composed in no time.
    "histogram": {"k": 3, "epsilon": 2, "delta": 1e-2, "cohort_size": 20, "aggregator_epsilon": 1.6},
    "mean": {"k": 3, "guarantee": "local", "aggregator_epsilon": 0.02},
}


def mechanism_of(statistic, **changed):
    statistic_class = MECHANISMS[statistic]
    members = {name: value for name, value in MEMBERS.items() if name not in ("name", "question")}
    parameters = statistic_class.parameters_class.from_mapping({**members, **OF[statistic], **changed})
    return statistic_class(parameters.calibrated())


@pytest.mark.parametrize("statistic", OF)
@pytest.mark.parametrize(("name", "larger"), [("epsilon", False), ("cohort_size", True)])
def test_nearest_value_meets_the_target_and_one_percent_back_does_not(statistic, name, larger):
    refused = mechanism_of(statistic)
    with pytest.raises(FieldError, match="aggregator_epsilon"):
        refused.require_promise()
    found = nearest_value(refused, name, keeps_promise)
    mechanism_of(statistic, **{name: found}).require_promise()
    back = found * (0.9899 if larger else 1.0101)
    with pytest.raises(FieldError, match="aggregator_epsilon"):
        mechanism_of(statistic, **{name: int(back) if larger else back}).require_promise()


def test_remedies_name_no_cohort_size_if_the_noise_is_divided():
    refused = mechanism_of("mean", guarantee="aggregator", aggregator_epsilon=0.2)
    assert remedy_clause(refused, keeps_promise) == "ε = 0.2 would do"


@pytest.mark.parametrize("statistic", OF)
def test_recipe_that_misses_its_target_is_refused_with_what_meets_it(statistic):
    members = {**MEMBERS, **OF[statistic], "statistic": statistic}
    with pytest.raises(FieldError, match=r"is not met.* or a cohort size of .* would do") as refusal:
        RecipeDraft.from_mapping(members).calibrated_statistic()
    assert refusal.value.field == "aggregator_epsilon"


# --- the search itself --------------------------------------------------------------------------------------


@given(st.floats(1e-9, 1e6), st.floats(1.0, 1e6), st.sampled_from([3, 4]))
def test_values_are_all_numbers_with_so_many_digits_in_bounds(low, factor, digits):
    high = low * factor
    values = Values.of(low, high, digits=digits, whole=False)
    if values.length < 1:  # no such number between the bounds
        return
    first, last, apart = values.value(0), values.value(values.length - 1), 1.0001 + 10.0 ** (1 - digits)
    assert low <= first <= low * apart
    assert high / apart <= last <= high
    for index in {0, values.length // 2, values.length - 1}:
        assert float(f"{values.value(index):.{digits - 1}e}") == values.value(index)
        assert values.index(values.value(index)) == index
    if values.length > 1:
        assert first < values.value(1) <= first * apart


@given(st.integers(1, 10**9), st.sampled_from([1, 3, ALL_DIGITS]))
def test_whole_values_are_rounded_to_so_many_digits(number, digits):
    values = Values.of(1, 10**9, digits=digits)
    unit = 10 ** max(len(str(number)) - digits, 0)
    index = values.index(number)
    assert values.value(index) == number // unit * unit
    assert index == 0 or values.value(index - 1) < values.value(index)


@given(st.integers(0, 1_001), st.integers(-1, 999), st.booleans(), st.booleans())
def test_search_finds_the_nearest_value_in_either_direction(threshold, since, up, outwards):
    values = Values.of(1, 1_000)
    tried = []

    def fits(value: float) -> bool:
        return value > threshold if up else value < threshold

    def fits_noted(value: float) -> bool:
        tried.append(values.index(value))
        return fits(value)

    since, until = (since, values.length - 1) if up else (since + 1, 0)
    found = values.nearest(fits_noted, since=since, until=until, outwards=outwards)
    way = range(since + 1, until + 1) if up else range(since - 1, until - 1, -1)
    assert found == next((index for index in way if fits(values.value(index))), None)
    assert found is None or found in tried
    assert {*tried} <= {*way}


def test_search_outwards_doubles_the_value_until_it_fits():
    values, tried = Values.of(1, 10**9), []

    def fits(value: float) -> bool:
        tried.append(value)
        return value >= 1_000

    values.nearest(fits, since=values.index(100), until=values.length - 1, outwards=True)
    assert tried[:4] == [200, 400, 800, 1_600]
    assert max(tried) == 1_600


@given(st.integers(0, 60), st.integers(1, 50), st.integers(0, 50))
def test_largest_number_that_fits_is_found_in_its_bounds(threshold, low, high):
    fitting = [number for number in range(low, high + 1) if number <= threshold]
    found = largest_number(lambda number: number <= threshold, low, high)
    assert found == (fitting[-1] if fitting else None)
