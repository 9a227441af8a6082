"""Arithmetic in the fields of Prio3 for many reports at once, in NumPy.

An element is a number in signed limbs: Σ_i limb_i · 2^(b·i), with b bits a limb, 5 limbs of 26 bits in
Field128 and 3 of 22 in Field64. An array of elements has the shape (limbs, …, reports): whatever NumPy
does, it does to the same limb of neighbouring reports. A limb may be negative or larger than b bits, as long
as it is small enough not to overflow 64 bits in what comes next. "Small" below means at most `SMALL` = 2^27
in absolute value. Every function documents what it takes and gives. A number may have many such forms;
`encode` finds the one below the modulus.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panprivacy.protocols.prio3 import native
from panprivacy.protocols.prio3.batch_turboshake import Bytes
from panprivacy.protocols.prio3.field import FIELD64, FIELD128, Field

Limbs = NDArray[np.int64]
"""Elements in the form of the module's docstring."""

Booleans = NDArray[np.bool_]

SMALL = 2**27
_WORD_BITS = 64
_WORD = np.dtype("<u8")


@dataclass(frozen=True)
class _Shape:
    """How a field's numbers are cut.

    The modulus is 2^bits − (multiplier · 2^(limb_bits · shift) − 1): what exceeds 2^bits comes back as a
    few small products. `bits` is 2 less than the bits of all limbs.
    """

    bits: int
    limb_bits: int
    limbs: int
    shift: int
    multiplier: int


_SHAPES = {
    FIELD64: _Shape(bits=64, limb_bits=22, limbs=3, shift=1, multiplier=2**10),
    FIELD128: _Shape(bits=128, limb_bits=26, limbs=5, shift=2, multiplier=7 * 2**14),
}


class BatchField:
    """The arithmetic of one field. Holds nothing but constants."""

    def __init__(self, field: Field) -> None:
        shape = _SHAPES[field]
        self.field = field
        self.encoded_size = field.encoded_size
        self.limbs = shape.limbs
        self._bits = shape.limb_bits
        self._mask = np.int64(2**shape.limb_bits - 1)
        self._shift = shape.shift
        self._multiplier = shape.multiplier
        self._top_bits = shape.bits - shape.limb_bits * (shape.limbs - 1)
        self._excess = 2 ** (shape.limb_bits * shape.limbs - shape.bits)
        self._words = field.encoded_size * 8 // _WORD_BITS
        # This number of products of small elements can be added up without overflow.
        self._terms = 2**62 // (shape.limbs * SMALL**2)

    # In and out -----------------------------------------------------------------

    def are_elements(self, encoded: Bytes) -> Booleans:
        """For each row of encoded numbers, whether all of them are below the modulus."""
        words = self._words_of(encoded)
        modulus = [self.field.modulus >> (_WORD_BITS * i) & (2**_WORD_BITS - 1) for i in range(self._words)]
        below = words[:, :, 0] < modulus[0]
        for i in range(1, self._words):
            below = (words[:, :, i] < modulus[i]) | ((words[:, :, i] == modulus[i]) & below)
        return np.asarray(below.all(axis=1))

    def decode(self, encoded: Bytes) -> Limbs:
        """Rows of k encoded elements as elements of shape (limbs, k, rows), all limbs in [0, 2^b)."""
        words = np.ascontiguousarray(self._words_of(encoded).astype(np.uint64, copy=False).transpose(2, 1, 0))
        elements = np.empty((self.limbs, *words.shape[1:]), np.int64)
        for i in range(self.limbs):
            word, offset = divmod(self._bits * i, _WORD_BITS)
            limb = words[word] >> np.uint64(offset)
            if offset + self._bits > _WORD_BITS and word + 1 < self._words:
                limb |= words[word + 1] << np.uint64(_WORD_BITS - offset)
            np.bitwise_and(limb.view(np.int64), self._mask, out=elements[i])
        return elements

    def encode(self, elements: Limbs) -> Bytes:
        """The inverse of `decode`, for small elements of shape (limbs, k, rows)."""
        limbs = self._canonical(elements).view(np.uint64)
        words = np.zeros((self._words, *limbs.shape[1:]), np.uint64)
        for i in range(self.limbs):
            word, offset = divmod(self._bits * i, _WORD_BITS)
            words[word] |= limbs[i] << np.uint64(offset)
            if offset + self._bits > _WORD_BITS and word + 1 < self._words:
                words[word + 1] |= limbs[i] >> np.uint64(_WORD_BITS - offset)
        rows = np.ascontiguousarray(words.transpose(2, 1, 0)).astype(_WORD, copy=False)
        return rows.reshape(len(rows), -1).view(np.uint8)

    def constants(self, values: Sequence[int]) -> Limbs:
        """Integers as elements of shape (limbs, k, 1), all limbs in [0, 2^b)."""
        encoded = self.field.encode(value % self.field.modulus for value in values)
        return self.decode(np.frombuffer(encoded, np.uint8).reshape(1, -1))

    def are_zero(self, elements: Limbs) -> Booleans:
        """Which small elements are 0: shape (…, reports)."""
        return np.asarray(~self._canonical(elements).any(axis=0))

    def _words_of(self, encoded: Bytes) -> NDArray[np.uint64]:
        """Rows of encoded numbers as words of shape (rows, k, words of a number)."""
        return np.ascontiguousarray(encoded).view(_WORD).reshape(len(encoded), -1, self._words)

    # Arithmetic -----------------------------------------------------------------

    def multiply(self, left: Limbs, right: Limbs) -> Limbs:
        """Element-wise products, small, of arrays with the same number of axes, which broadcast.

        Products of two limbs must stay below 2^59: both small, or a constant by limbs up to 2^33.
        """
        if native.module is None:
            return self._reduced(self._columns(left, right))
        shape = np.broadcast_shapes(left.shape[1:], right.shape[1:])
        return self._native("multiply", left, right, shape, axis=0)

    def inner_product(self, left: Limbs, right: Limbs) -> Limbs:
        """Σ_k left[:, …, k, :] · right[:, …, k, :], small, of small elements; other axes broadcast."""
        if left.shape[-2] == 0:
            raise ValueError("an inner product needs a term")
        if native.module is not None:
            *axes, _, reports = np.broadcast_shapes(left.shape[1:], right.shape[1:])
            core = [(0, -2), (0, -2), (0,)]
            return self._native("inner_product", left, right, (*axes, reports), axes=core)
        parts = [np.s_[..., at : at + self._terms, :] for at in range(0, left.shape[-2], self._terms)]
        sums = (self._reduced(self._columns(left[part], right[part], summed=True)) for part in parts)
        return functools.reduce(lambda total, summed: self.reduce(total + summed), sums)

    def geometric(self, first: Limbs, ratio: Limbs, count: int) -> Limbs:
        """first, first·ratio, first·ratio², …: small elements of shape (limbs, count, …, reports).

        `first` and `ratio` are small, of shape (limbs, …, reports).
        """
        powers = first[:, None]
        while True:
            missing = count - powers.shape[1]
            if missing <= 0:
                return powers
            further = self.multiply(ratio[:, None], powers[:, :missing])
            powers = np.concatenate([powers, further], axis=1)
            if missing > further.shape[1]:
                ratio = self.multiply(ratio, ratio)

    def reduce(self, elements: Limbs) -> Limbs:
        """Small elements of the same numbers, for limbs below 2^44 in absolute value."""
        columns = np.empty((self.limbs + 1, *elements.shape[1:]), np.int64)
        columns[:-1] = elements
        return self._reduced(columns)

    def _native(self, name: str, left: Limbs, right: Limbs, shape: tuple[int, ...], **core: Any) -> Limbs:
        # Left to itself, NumPy would make an array whose neighbours are the limbs of one element.
        product = np.empty((self.limbs, *shape), np.int64)
        function = getattr(native.module, f"{name}{8 * self.encoded_size}")
        return np.asarray(function(left, right, out=product, **core))

    def _columns(self, left: Limbs, right: Limbs, *, summed: bool = False) -> Limbs:
        """The limbs of products, or of their sums over the last axis but one, without carries.

        There are 2·limbs of them, the last one free. One limb is at most 2^62 for what is promised to
        `multiply` and `inner_product`.
        """
        if left.size < right.size:
            left, right = right, left  # the larger one is not to be cut into limbs
        shape = np.broadcast_shapes(left.shape[1:], right.shape[1:])
        columns = np.empty((2 * self.limbs, *(shape[:-2] + shape[-1:] if summed else shape)), np.int64)
        product = np.empty((self.limbs, *shape), np.int64)
        for i in range(self.limbs):
            np.multiply(right[i], left, out=product)
            part = product.sum(axis=-2) if summed else product
            if i == 0:
                columns[: self.limbs] = part
            else:
                columns[i : i + self.limbs - 1] += part[:-1]
                columns[i + self.limbs - 1] = part[-1]
        return columns

    def _reduced(self, columns: Limbs) -> Limbs:
        """Small elements out of columns; the last column is free. Overwrites them.

        Each limb hands on what exceeds b bits, and what exceeds all limbs comes back below: twice for
        products, and once more for what that brings.
        """
        while True:
            carry = columns[:-1] >> self._bits
            columns[:-1] &= self._mask
            columns[-1] = 0
            columns[1:] += carry
            high = columns[self.limbs :] * self._excess
            count = len(high)
            left = max(self.limbs, count + self._shift)
            columns[self.limbs : left] = 0
            columns[:count] -= high
            high *= self._multiplier
            columns[self._shift : self._shift + count] += high
            if len(columns) == self.limbs + 1:
                break
            columns = columns[: left + 1]
        elements = columns[: self.limbs]
        elements[self._shift + 1] += elements[self._shift] >> self._bits
        elements[self._shift] &= self._mask
        return elements

    def _canonical(self, elements: Limbs) -> Limbs:
        """The limbs, in [0, 2^b), of the number below the modulus."""
        limbs = elements.copy()
        # Small limbs exceed 2^bits by less than 2^8 times; what that brings back exceeds it once at most.
        for _ in range(2):
            self._carry_to_top(limbs)
            self._subtract_excess(limbs, limbs[-1] >> self._top_bits)
        self._carry_to_top(limbs)
        # The value is in [0, 2^bits): subtract the modulus if the value is at least as large.
        less = limbs.copy()
        self._subtract_excess(less, np.int64(1))
        less[-1] += 2**self._top_bits
        self._carry_to_top(less)
        exceeds = less[-1] >> self._top_bits
        less[-1] -= exceeds << self._top_bits
        return np.where(exceeds > 0, less, limbs)

    def _carry_to_top(self, limbs: Limbs) -> None:
        for i in range(self.limbs - 1):
            limbs[i + 1] += limbs[i] >> self._bits
            limbs[i] &= self._mask

    def _subtract_excess(self, limbs: Limbs, times: Limbs | np.int64) -> None:
        """Subtract `times` the modulus."""
        limbs[-1] -= times << self._top_bits
        limbs[0] -= times
        limbs[self._shift] += times * self._multiplier
