import json
import math
from dataclasses import fields
from statistics import NormalDist
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panprivacy.statistics.intervals.estimate import Estimate, EstimateFormatError, Interval

EVERYTHING = Estimate(
    values=(0.1, -3.0, 2),
    standard_errors=(0.2, 0.3, 1e-300),
    standard_error_note="an upper bound",
    projection=(0.1, 0.0, 2.0),
    error_bounds=(math.pi, 1.0, 0.5),
    confidence=0.95,
    intervals=(Interval(0.95, (None, -4.0, 0.0), (0.25, 1.0, None)),),
    details={"verdict": True, "estimates": [1, 2.5], "none": None},
)

numbers = st.lists(st.floats(allow_nan=False) | st.integers()).map(tuple)
ends = st.lists(st.none() | st.floats(allow_nan=False)).map(tuple)
plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@settings(max_examples=settings.default.max_examples // 4)
@given(
    st.builds(
        Estimate,
        values=numbers,
        standard_errors=numbers,
        standard_error_note=st.text(),
        projection=numbers,
        error_bounds=numbers,
        confidence=st.none() | st.floats(0, 1),
        intervals=st.lists(st.builds(Interval, st.floats(0, 1), ends, ends)).map(tuple),
        details=st.dictionaries(st.text(), plain),
    )
)
def test_serialized_estimate_comes_back_to_the_last_bit(estimate: Estimate) -> None:
    read = Estimate.from_bytes(estimate.to_bytes())
    assert read == estimate
    assert repr(read) == repr(estimate), "-0.0 equals 0.0, and 2 equals 2.0"


def test_serialized_estimate_has_every_attribute() -> None:
    for attribute in fields(Estimate):
        assert getattr(EVERYTHING, attribute.name), "a default would come back by itself"
    assert Estimate.from_bytes(EVERYTHING.to_bytes()) == EVERYTHING


FORM = json.loads(EVERYTHING.to_bytes())


@pytest.mark.parametrize(
    "encoded",
    [
        b"",
        b"\xff",
        b"[]",
        b"7",
        b"{}",
        json.dumps({**FORM, "format": "panapp-estimate-2"}).encode(),
        json.dumps({**FORM, "values": 1}).encode(),
        json.dumps({name: value for name, value in FORM.items() if name != "details"}).encode(),
    ],
)
def test_bytes_that_are_no_estimate_are_refused(encoded: bytes) -> None:
    with pytest.raises(EstimateFormatError, match="not an estimate"):
        Estimate.from_bytes(encoded)


def plainly(values: int, **members: Any) -> Estimate:
    return Estimate(
        values=(5.0,) * values,
        standard_errors=(2.0,) * values,
        standard_error_note="",
        projection=(5.0,) * values,
        **members,
    )


def test_interval_of_one_value_is_its_normal_approximation() -> None:
    wide, narrow = plainly(1).stated_intervals()
    assert (wide.level, narrow.level) == (0.95, 0.66)
    assert (wide.low[0], wide.high[0]) == pytest.approx((5 - 1.96 * 2, 5 + 1.96 * 2), rel=1e-4)
    assert 1.9 < 2 * (narrow.high[0] - 5) / 2 < 2


def test_interval_of_several_values_is_of_all_together() -> None:
    """The chance that one of 20 independent estimates lies outside is at most 5%, and more than 4.8%."""
    (wide, _) = plainly(20).stated_intervals()
    outside = 2 * NormalDist().cdf((wide.low[7] - 5) / 2)
    assert 0.048 < 1 - (1 - outside) ** 20 < 0.05


def test_error_bounds_are_the_interval_where_nothing_better_is_stated() -> None:
    bounded = plainly(3, error_bounds=(1.0, 2.0, 3.0), confidence=0.9)
    assert bounded.stated_intervals() == (Interval(0.9, (4.0, 3.0, 2.0), (6.0, 7.0, 8.0)),)
    # The result of a test has none.
    assert plainly(1, details={"verdict": "not_uniform"}).stated_intervals() == ()


def test_margin_reaches_to_the_further_end_of_an_interval() -> None:
    interval = Interval(0.95, (0.0, -4.0, 1.0), (3.0, 4.0, None))
    assert interval.margins((1.0, -5.0, 2.0)) == [2.0, 9.0, None]
    assert interval.at([2, 0]) == Interval(0.95, (1.0, 0.0), (None, 3.0))
