"""Limbs against integers, near every edge: 0, the modulus, full limbs, the largest that is allowed."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panprivacy.protocols.prio3.batch_field import SMALL, BatchField
from panprivacy.protocols.prio3.field import FIELD64, FIELD128

BATCH_FIELDS = {FIELD64: BatchField(FIELD64), FIELD128: BatchField(FIELD128)}
fields = st.sampled_from(list(BATCH_FIELDS))
both = pytest.mark.parametrize("field", list(BATCH_FIELDS), ids=["Field64", "Field128"])
some = settings(max_examples=60)


def numbers(field):
    p, bits = field.modulus, 8 * field.encoded_size
    edges = [0, 1, 2, p - 1, p - 2, p // 2, 2 ** (bits - 1), 2**22 - 1, 2**26 - 1, 2**52, 2**32, 2**32 - 1]
    return st.one_of(st.sampled_from([edge % p for edge in edges]), st.integers(0, p - 1))


def limb_bits(field):
    return {FIELD64: 22, FIELD128: 26}[field]


def value(field, limbs):
    """The integer that an array of limbs stands for, without any reduction."""
    return sum(int(limb) << (limb_bits(field) * i) for i, limb in enumerate(limbs))


def array(field, rows):
    """Rows of numbers as decoded elements of shape (limbs, k, rows)."""
    encoded = np.frombuffer(b"".join(field.encode(row) for row in rows), np.uint8).reshape(len(rows), -1)
    return BATCH_FIELDS[field].decode(encoded)


def rows_of(field, elements):
    encoded = BATCH_FIELDS[field].encode(elements)
    length = elements.shape[1]
    return [field.decode(row.tobytes(), length, "row") for row in encoded]


def extreme(field, shape, generator):
    """Elements whose limbs are as large as "small" allows, of either sign."""
    choice = [SMALL, -SMALL, SMALL - 1, 0]
    limbs = BATCH_FIELDS[field].limbs
    return np.array(generator.choices(choice, k=limbs * int(np.prod(shape)))).reshape(limbs, *shape)


@some
@given(field=fields, data=st.data())
def test_encode_of_decoded_numbers_returns_them(field, data):
    width = data.draw(st.integers(1, 3))
    row = st.lists(numbers(field), min_size=width, max_size=width)
    rows = data.draw(st.lists(row, min_size=1, max_size=4))
    elements = array(field, rows)
    assert elements.min() >= 0
    assert elements.max() < 2 ** limb_bits(field)
    assert rows_of(field, elements) == rows


@some
@given(field=fields, data=st.data())
def test_products_sums_and_differences_equal_those_of_integers(field, data):
    left, right = (data.draw(st.lists(numbers(field), min_size=3, max_size=3)) for _ in range(2))
    batch, p = BATCH_FIELDS[field], field.modulus
    a, b = array(field, [left]), array(field, [right])
    product = batch.multiply(a, b)
    assert np.abs(product).max() <= SMALL
    assert rows_of(field, product) == [[x * y % p for x, y in zip(left, right, strict=True)]]
    assert rows_of(field, batch.reduce(a + b)) == [[(x + y) % p for x, y in zip(left, right, strict=True)]]
    assert rows_of(field, a - b) == [[(x - y) % p for x, y in zip(left, right, strict=True)]]
    inner = batch.inner_product(a, b)
    assert rows_of(field, inner[:, None]) == [[field.inner_product(left, right)]]


@both
@pytest.mark.parametrize("terms", [1, 2, 50, 51, 52, 85, 86, 300])
def test_inner_product_of_the_largest_small_elements_does_not_overflow(field, terms):
    generator, batch = random.Random(terms), BATCH_FIELDS[field]
    for left, right in (
        (extreme(field, (terms, 5), generator), extreme(field, (terms, 5), generator)),
        (np.full((batch.limbs, terms, 5), SMALL), np.full((batch.limbs, terms, 5), SMALL)),
        (np.full((batch.limbs, terms, 5), SMALL), np.full((batch.limbs, terms, 5), -SMALL)),
    ):
        found = batch.inner_product(left, right)
        assert np.abs(found).max() <= SMALL
        for report in range(5):
            expected = sum(
                value(field, left[:, k, report]) * value(field, right[:, k, report]) for k in range(terms)
            )
            assert (value(field, found[:, report]) - expected) % field.modulus == 0


@both
@given(seed=st.integers(0, 2**32))
def test_reduce_of_limbs_below_2_to_the_44_gives_small_ones(field, seed):
    generator, batch = random.Random(seed), BATCH_FIELDS[field]
    edge = 2**44 - 1
    limbs = np.array(
        [[[generator.choice([edge, -edge, generator.randint(-edge, edge)])]] for _ in range(batch.limbs)]
    )
    reduced = batch.reduce(limbs)
    assert np.abs(reduced).max() <= SMALL
    assert (value(field, reduced[:, 0, 0]) - value(field, limbs[:, 0, 0])) % field.modulus == 0


@both
@given(seed=st.integers(0, 2**32))
def test_encode_of_any_small_element_is_the_number_below_the_modulus(field, seed):
    elements = extreme(field, (2, 3), random.Random(seed))
    for report, row in enumerate(rows_of(field, elements)):
        assert row == [value(field, elements[:, k, report]) % field.modulus for k in range(2)]


@both
def test_encode_of_multiples_of_the_modulus_is_canonical(field):
    """Where a number has several forms in the range of the limbs: at and around multiples of the modulus."""
    batch, bits = BATCH_FIELDS[field], limb_bits(field)
    for multiple in range(-3, 4):
        for beside in (-1, 0, 1):
            number = multiple * field.modulus + beside
            limbs = []
            for _ in range(batch.limbs - 1):
                limbs.append(number % 2**bits)
                number >>= bits
            elements = np.array([*limbs, number]).reshape(-1, 1, 1)
            assert rows_of(field, elements) == [[beside % field.modulus]]
            assert batch.are_zero(elements).tolist() == [[beside == 0]]


@both
def test_are_elements_is_false_for_rows_with_a_number_from_the_modulus_on(field):
    p, size = field.modulus, field.encoded_size
    largest = 2 ** (8 * size) - 1
    candidates = [0, 1, p - 1, p, p + 1, largest, p ^ (1 << (4 * size)), p - 2**32, largest - 2**40]
    rows = [[0, x, 1] for x in candidates]
    encoded = np.frombuffer(
        b"".join(x.to_bytes(size, "little") for row in rows for x in row), np.uint8
    ).reshape(len(rows), -1)
    assert BATCH_FIELDS[field].are_elements(encoded).tolist() == [x < p for x in candidates]
