"""The prime fields of Prio3 (VDAF draft 20, section 6.1). An element is an `int` in [0, modulus)."""

import functools
import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import gmpy2

from panprivacy.protocols.prio3.interface import InvalidShareError


def little_endian(encoded: bytes, size: int) -> list[int]:
    """The numbers of `size` bytes each, one after the other."""
    numbers = gmpy2.unpack(gmpy2.mpz.from_bytes(encoded, "little"), 8 * size)
    count = len(encoded) // size
    # What `unpack` leaves out at the end are zeros.
    return [*map(int, numbers), *[0] * (count - len(numbers))][:count]


@dataclass(frozen=True)
class Field:
    """A prime field whose multiplicative group has a large subgroup of order a power of two (section 6.1.2).

    Attributes:
        modulus: the prime.
        encoded_size: bytes of one encoded element, little-endian.
        generator: generates the subgroup.
        generator_order: the subgroup's order, a power of two.
    """

    modulus: int
    encoded_size: int
    generator: int
    generator_order: int

    def encode(self, elements: Iterable[int]) -> bytes:
        """Elements of [0, modulus), one after the other (`encode_vec`, section 6.1.1)."""
        elements = list(elements)
        size = self.encoded_size
        encoded: bytes = gmpy2.pack(elements, 8 * size).to_bytes(size * len(elements), "little")
        return encoded

    def decode(self, encoded: bytes, length: int, name: str) -> list[int]:
        """The inverse of `encode` for `length` elements (`decode_vec`, section 6.1.1).

        Raises:
            InvalidShareError: another length, or a number that is no element; it names `name`.
        """
        size = self.encoded_size
        if len(encoded) != length * size:
            raise InvalidShareError(f"{name}: must be {length * size} bytes, not {len(encoded)}")
        elements = little_endian(encoded, size)
        if any(element >= self.modulus for element in elements):
            raise InvalidShareError(f"{name}: a field element must be below the modulus {self.modulus}")
        return elements

    def inverse(self, element: int) -> int:
        """1/element, for an element other than 0."""
        return pow(element, -1, self.modulus)

    def add(self, left: Sequence[int], right: Sequence[int]) -> list[int]:
        """Element-wise sum of vectors of one length (`vec_add`)."""
        return [(x + y) % self.modulus for x, y in zip(left, right, strict=True)]

    def subtract(self, left: Sequence[int], right: Sequence[int]) -> list[int]:
        """Element-wise difference of vectors of one length (`vec_sub`)."""
        return [(x - y) % self.modulus for x, y in zip(left, right, strict=True)]

    def inner_product(self, left: Sequence[int], right: Sequence[int]) -> int:
        """Sum of the element-wise products."""
        total: int = sum(map(operator.mul, left, right))
        return total % self.modulus

    @functools.cache  # noqa: B019  # there are two fields, and they live as long as the process
    def roots(self, n: int) -> tuple[int, ...]:
        """The powers 0 to n − 1 of the principal n-th root of unity (`nth_root_powers`, section 6.1.2).

        `n` is a power of two, at most `generator_order`.
        """
        root = pow(self.generator, self.generator_order // n, self.modulus)
        powers = [1]
        for _ in range(n - 1):
            powers.append(powers[-1] * root % self.modulus)
        return tuple(powers)


def _field(odd_part: int, order_bits: int, encoded_size: int) -> Field:
    modulus = 2**order_bits * odd_part + 1
    return Field(modulus, encoded_size, pow(7, odd_part, modulus), 2**order_bits)


# Section 6.1.4.
FIELD64 = _field(4294967295, 32, 8)
FIELD128 = _field(4611686018427387897, 66, 16)
