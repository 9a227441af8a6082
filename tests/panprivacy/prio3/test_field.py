import pytest
from hypothesis import given
from hypothesis import strategies as st

from panprivacy.prio3.field import FIELD64, FIELD128
from panprivacy.prio3.interface import InvalidShareError

fields = pytest.mark.parametrize("field", [FIELD64, FIELD128], ids=["Field64", "Field128"])


@fields
def test_generator_has_the_order_that_is_claimed(field):
    assert pow(field.generator, field.generator_order, field.modulus) == 1
    assert pow(field.generator, field.generator_order // 2, field.modulus) == field.modulus - 1


@fields
@pytest.mark.parametrize("n", [1, 2, 8, 64])
def test_roots_are_the_powers_of_a_root_of_that_order(field, n):
    roots = field.roots(n)
    assert len(set(roots)) == n
    assert all(pow(root, n, field.modulus) == 1 for root in roots)


@fields
@given(data=st.data())
def test_decode_of_encoded_elements_returns_them(field, data):
    elements = data.draw(st.lists(st.integers(0, field.modulus - 1), max_size=5))
    encoded = field.encode(elements)
    assert len(encoded) == len(elements) * field.encoded_size
    assert field.decode(encoded, len(elements), "elements") == elements


@fields
def test_decode_of_a_number_from_the_modulus_on_raises(field):
    largest = 2 ** (8 * field.encoded_size) - 1
    for number in (field.modulus, field.modulus + 1, largest):
        with pytest.raises(InvalidShareError, match=r"some share: .* below the modulus"):
            field.decode(number.to_bytes(field.encoded_size, "little"), 1, "some share")


@fields
def test_decode_of_another_length_raises(field):
    for length in (0, field.encoded_size - 1, field.encoded_size + 1, 2 * field.encoded_size):
        with pytest.raises(InvalidShareError, match="some share: must be"):
            field.decode(bytes(length), 1, "some share")
