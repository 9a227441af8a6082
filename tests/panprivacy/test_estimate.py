import json
import math
from dataclasses import fields

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panprivacy.estimate import Estimate, EstimateFormatError

EVERYTHING = Estimate(
    values=(0.1, -3.0, 2),
    standard_errors=(0.2, 0.3, 1e-300),
    standard_error_note="an upper bound",
    projection=(0.1, 0.0, 2.0),
    error_bounds=(math.pi, 1.0, 0.5),
    confidence=0.95,
    details={"verdict": True, "estimates": [1, 2.5], "none": None},
)

numbers = st.lists(st.floats(allow_nan=False) | st.integers()).map(tuple)
plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@settings(max_examples=30)
@given(
    st.builds(
        Estimate,
        values=numbers,
        standard_errors=numbers,
        standard_error_note=st.text(),
        projection=numbers,
        error_bounds=numbers,
        confidence=st.none() | st.floats(0, 1),
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
