"""Polynomials over the field of 2^61 − 1."""

import random
from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from panprivacy.streams.four_wise import PRIME, draw_polynomial, evaluate

ELEMENTS = st.one_of(st.integers(0, PRIME - 1), st.sampled_from([0, 1, PRIME - 1, 2**31, 2**60]))


@given(st.lists(ELEMENTS, min_size=4, max_size=4), st.lists(ELEMENTS))
def test_evaluate_is_the_polynomial_in_whole_numbers(polynomial, points):
    a, b, c, d = polynomial
    expected = [(a * x**3 + b * x**2 + c * x + d) % PRIME for x in points]
    values = evaluate(np.array(polynomial, dtype=np.uint64), np.array(points, dtype=np.uint64))
    assert values.tolist() == expected


def test_cubic_polynomials_take_any_four_values_at_four_points_exactly_once():
    # What makes them 4-wise independent, in a field small enough to try all.
    prime, points = 5, (0, 1, 2, 4)
    seen = {
        tuple((a * x**3 + b * x**2 + c * x + d) % prime for x in points)
        for a, b, c, d in product(range(prime), repeat=4)
    }
    assert len(seen) == prime**4


def test_draw_polynomial_has_four_coefficients_of_the_field():
    polynomial = draw_polynomial(random.Random(1))
    assert polynomial.shape == (4,)
    assert len(set(polynomial.tolist())) == 4
    assert (polynomial < PRIME).all()
