"""Polynomials over the field of 2^61 − 1."""

import random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from panprivacy.statistics.streams.four_wise import PRIME, draw_polynomial, evaluate

ELEMENTS = st.one_of(st.integers(0, PRIME - 1), st.sampled_from([0, 1, PRIME - 1, 2**31, 2**60]))


@given(st.lists(ELEMENTS, min_size=4, max_size=4), st.lists(ELEMENTS))
def test_evaluate_is_the_polynomial_in_whole_numbers(polynomial, points):
    a, b, c, d = polynomial
    expected = [(a * x**3 + b * x**2 + c * x + d) % PRIME for x in points]
    values = evaluate(np.array(polynomial, dtype=np.uint64), np.array(points, dtype=np.uint64))
    assert values.tolist() == expected


def test_draw_polynomial_has_four_coefficients_of_the_field():
    polynomial = draw_polynomial(random.Random(1))
    assert polynomial.shape == (4,)
    assert len(set(polynomial.tolist())) == 4
    assert (polynomial < PRIME).all()
