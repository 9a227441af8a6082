"""Polynomials as their values at roots of unity, the Lagrange basis (VDAF draft 20, section 6.1.3).

A polynomial of degree below m is given by its values at the first m powers of the principal n-th root of
unity. Here m ≤ n, and n is a power of two. Most often m = n. A gadget polynomial has a degree that is even,
and the draft sends no more values than determine it: there m < n.
"""

import functools
import operator
from collections.abc import Sequence

import gmpy2

from panprivacy.protocols.prio3.field import Field


def next_power_of_2(n: int) -> int:
    """The smallest power of two that is at least `n` ≥ 1."""
    return 1 << (n - 1).bit_length()


def values_at_more_roots(
    field: Field, values: Sequence[Sequence[int]], m: int, n: int
) -> list[Sequence[int]]:
    """The values of many polynomials of degree below m at all n-th roots of unity.

    Each is a sum of the given values, weighed by the Lagrange basis. The values of all polynomials at one
    root are digits of one large integer, so that one multiplication weighs all of them.

    Args:
        values: elements of the field, at the first of the m-th roots, for each root those of all polynomials;
            at the other m-th roots all are 0.
        n: a multiple of m.

    Returns:
        For each n-th root the values of all polynomials, up to multiples of the modulus.
    """
    polynomials = len(values[0])
    # A sum of products of two elements does not overflow into the next digit.
    bits = 2 * field.modulus.bit_length() + len(values).bit_length()
    packed = [gmpy2.pack(list(row), bits) for row in values]
    zeros = [0] * polynomials
    points: list[Sequence[int]] = []
    for root, basis in enumerate(_bases(field, m, n)):
        place, is_between = divmod(root * m, n)
        if not is_between:
            points.append(values[place] if place < len(values) else zeros)
            continue
        digits = gmpy2.unpack(sum(map(operator.mul, basis, packed)), bits)
        points.append([*digits, *zeros[len(digits) :]])
    return points


@functools.cache
def _bases(field: Field, m: int, n: int) -> list[list[gmpy2.mpz]]:
    """For each n-th root, what the values at the m-th roots weigh in the value there."""
    return [[gmpy2.mpz(weight) for weight in lagrange_basis(field, m, m, root)] for root in field.roots(n)]


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
