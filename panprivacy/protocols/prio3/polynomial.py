"""Polynomials as their values at roots of unity, the Lagrange basis (VDAF draft 20, section 6.1.3).

A polynomial of degree below m is given by its values at the first m powers of the principal n-th root of
unity. Here m ≤ n, and n is a power of two. Most often m = n. A gadget polynomial has a degree that is even,
and the draft sends no more values than determine it: there m < n.
"""

import functools
from collections.abc import Sequence

from panprivacy.protocols.prio3.field import Field


def next_power_of_2(n: int) -> int:
    """The smallest power of two that is at least `n` ≥ 1."""
    return 1 << (n - 1).bit_length()


def values_at_roots(field: Field, coefficients: Sequence[int], n: int) -> list[int]:
    """The values of a polynomial at all n-th roots of unity: the number theoretic transform.

    p(x) = even(x²) + x·odd(x²), and the squares of the n-th roots are the roots of half the order.
    """
    if n == 1:
        return [coefficients[0] if coefficients else 0]
    half, modulus = n // 2, field.modulus
    if half == 1:
        # Most calls are this small.
        first, second = (*coefficients, 0, 0)[:2]
        return [(first + second) % modulus, (first - second) % modulus]
    even = values_at_roots(field, coefficients[0::2], half)
    odd = values_at_roots(field, coefficients[1::2], half)
    turned = [root * value % modulus for root, value in zip(field.roots(n), odd, strict=False)]
    return [(x + y) % modulus for x, y in zip(even, turned, strict=True)] + [
        (x - y) % modulus for x, y in zip(even, turned, strict=True)
    ]


def coefficients_of(field: Field, values: Sequence[int]) -> list[int]:
    """The inverse of `values_at_roots`, for one value for each root."""
    n = len(values)
    transformed = values_at_roots(field, values, n)
    scale = field.inverse(n)
    # The inverse transform is the transform at the inverse roots, which are the roots in reverse order.
    return [scale * value % field.modulus for value in transformed[:1] + transformed[:0:-1]]


@functools.cache
def _weights(field: Field, m: int, n: int) -> tuple[int, ...]:
    """1 / Π_{j ≠ i} (x_i − x_j) for the first m of the n-th roots x_0, x_1, …"""
    nodes = field.roots(n)[:m]
    weights = []
    for i, node in enumerate(nodes):
        product = 1
        for j, other in enumerate(nodes):
            if i != j:
                product = product * (node - other) % field.modulus
        weights.append(field.inverse(product))
    return tuple(weights)


def lagrange_basis(field: Field, m: int, n: int, x: int) -> list[int]:
    """What the values at the first m of the n-th roots weigh in the value at `x`, any field element.

    p(x) = Σ_i p(x_i) · Π_{j ≠ i} (x − x_j)/(x_i − x_j) for every polynomial of degree below m. The
    products without one factor multiply the products of the preceding and of the following factors: nothing
    is inverted.
    """
    modulus = field.modulus
    factors = [x - node for node in field.roots(n)[:m]]
    basis = list(_weights(field, m, n))
    before = behind = 1
    for i in range(m):
        basis[i] = basis[i] * before % modulus
        before = before * factors[i] % modulus
    for i in reversed(range(m)):
        basis[i] = basis[i] * behind % modulus
        behind = behind * factors[i] % modulus
    return basis
