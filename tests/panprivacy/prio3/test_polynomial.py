from hypothesis import given
from hypothesis import strategies as st

from panprivacy.prio3.field import FIELD64, FIELD128
from panprivacy.prio3.polynomial import coefficients_of, lagrange_basis, next_power_of_2, values_at_roots

fields = st.sampled_from([FIELD64, FIELD128])


def value_at(field, coefficients, x):
    return sum(c * pow(x, i, field.modulus) for i, c in enumerate(coefficients)) % field.modulus


@given(field=fields, log=st.integers(0, 5), data=st.data())
def test_values_at_roots_are_those_of_the_polynomial(field, log, data):
    n = 2**log
    coefficients = data.draw(st.lists(st.integers(0, field.modulus - 1), min_size=1, max_size=n))
    values = values_at_roots(field, coefficients, n)
    assert values == [value_at(field, coefficients, root) for root in field.roots(n)]
    assert coefficients_of(field, values) == coefficients + [0] * (n - len(coefficients))


@given(field=fields, log=st.integers(0, 4), data=st.data())
def test_lagrange_basis_weighs_any_known_values_to_the_value_anywhere(field, log, data):
    """For as many values as the degree needs, at any point, roots of unity included."""
    n = 2**log
    m = data.draw(st.integers(1, n))
    coefficients = data.draw(st.lists(st.integers(0, field.modulus - 1), min_size=m, max_size=m))
    x = data.draw(st.one_of(st.integers(0, field.modulus - 1), st.sampled_from(field.roots(n))))
    known = values_at_roots(field, coefficients, n)[:m]
    basis = lagrange_basis(field, m, n, x)
    assert field.inner_product(basis, known) == value_at(field, coefficients, x)


def test_next_power_of_2_is_the_smallest_that_suffices():
    assert [next_power_of_2(n) for n in (1, 2, 3, 4, 5, 8, 9)] == [1, 2, 4, 4, 8, 8, 16]
