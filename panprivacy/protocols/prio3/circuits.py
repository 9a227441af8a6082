"""Validity circuits: which measurements there are, and what is 0 for these alone (VDAF draft 20, 7.4)."""

import math
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Generic, SupportsIndex, TypeVar

from panprivacy.formats.errors import FieldError
from panprivacy.protocols.prio3.field import Field
from panprivacy.protocols.prio3.gadgets import Gadget, Multiplication, ParallelProducts, PolynomialEvaluation

Measurement = TypeVar("Measurement")

GadgetCall = Callable[[Sequence[int]], int]
"""How a circuit calls its gadget: input wires to output. Prover and verifiers each pass their own."""

_RANGE_CHECK = (0, -1, 1)
"""x² − x, which is 0 for 0 and 1 only."""


class Circuit(ABC, Generic[Measurement]):
    """A circuit with one gadget, like all variants of section 7.4 (section 7.3.2).

    Attributes:
        field: of all numbers.
        gadget: the only part that is not affine.
        gadget_calls: how often one evaluation calls it.
        measurement_length: elements of an encoded measurement.
        joint_randomness_length: random elements of an evaluation.
        evaluation_length: elements of an evaluation, all 0 for a valid measurement.
        output_length: elements of what is summed over measurements.
        largest_output: the most that one valid measurement adds to any of these.
    """

    field: Field
    gadget: Gadget
    gadget_calls: int
    measurement_length: int
    joint_randomness_length: int
    evaluation_length: int
    output_length: int
    largest_output: int = 1

    @abstractmethod
    def encode(self, measurement: Measurement) -> list[int]:
        """A measurement as `measurement_length` elements. FieldError("measurement", …) for an invalid one."""

    @abstractmethod
    def evaluate(
        self, measurement: Sequence[int], joint_randomness: Sequence[int], shares: int, call: GadgetCall, /
    ) -> list[int]:
        """The circuit's outputs, or a share of them for a share of the measurement.

        Args:
            measurement: encoded, or one additive share of it.
            joint_randomness: elements that the client cannot choose.
            shares: into how many the measurement is split, so that the shares' constants sum to the
                circuit's; 1 for the measurement itself.
            call: calls the gadget.
        """

    @abstractmethod
    def truncate(self, measurement: Sequence[int]) -> list[int]:
        """What is summed, out of (a share of) an encoded measurement: a linear map to `output_length`."""


class CountCircuit(Circuit[int]):
    """0 or 1 (section 7.4.1): x·x − x."""

    measurement_length = output_length = evaluation_length = gadget_calls = 1
    joint_randomness_length = 0

    def __init__(self, field: Field) -> None:
        self.field = field
        self.gadget = Multiplication()

    def encode(self, measurement: int) -> list[int]:
        return [_integer(measurement, 1)]

    def evaluate(
        self, measurement: Sequence[int], _joint_randomness: Sequence[int], _shares: int, call: GadgetCall, /
    ) -> list[int]:
        (x,) = measurement
        return [(call([x, x]) - x) % self.field.modulus]

    def truncate(self, measurement: Sequence[int]) -> list[int]:
        return list(measurement)


class SumCircuit(Circuit[int]):
    """An integer from 0 to `max_measurement` (section 7.4.2): every digit is 0 or 1."""

    joint_randomness_length = 0
    output_length = 1

    def __init__(self, field: Field, max_measurement: int) -> None:
        self.field = field
        self.max_measurement = _parameter("max_measurement", max_measurement, field.modulus - 1)
        self.largest_output = max_measurement
        self.digit_weights = digit_weights(max_measurement)
        bits = len(self.digit_weights)
        self.gadget = PolynomialEvaluation(_RANGE_CHECK)
        self.gadget_calls = self.measurement_length = self.evaluation_length = bits

    def encode(self, measurement: int) -> list[int]:
        return digits(_integer(measurement, self.max_measurement), self.digit_weights)

    def evaluate(
        self, measurement: Sequence[int], _joint_randomness: Sequence[int], _shares: int, call: GadgetCall, /
    ) -> list[int]:
        return [call([digit]) for digit in measurement]

    def truncate(self, measurement: Sequence[int]) -> list[int]:
        return [self.field.inner_product(self.digit_weights, measurement)]


class _ChunkedCircuit(Circuit[Measurement]):
    """A circuit whose first output checks that every element is 0 or 1, `chunk_length` of them in one gadget
    call, each with a random element of its own."""

    def __init__(self, field: Field, measurement_length: int, chunk_length: int) -> None:
        self.field = field
        self.measurement_length = measurement_length
        self.chunk_length = _parameter("chunk_length", chunk_length)
        self.gadget = ParallelProducts(chunk_length)
        self.gadget_calls = self.joint_randomness_length = -(-measurement_length // chunk_length)

    def _range_check(
        self, measurement: Sequence[int], joint_randomness: Sequence[int], shares: int, call: GadgetCall
    ) -> int:
        """Σ r^j·x·(x − 1) over the elements x, with an r of its own for each chunk and j = 1, 2, … in it."""
        modulus = self.field.modulus
        share_of_one = self.field.inverse(shares)
        padding = [0] * (self.joint_randomness_length * self.chunk_length - len(measurement))
        elements = [*measurement, *padding]
        total = 0
        for chunk, r in enumerate(joint_randomness):
            inputs = []
            power = 1
            for x in elements[chunk * self.chunk_length : (chunk + 1) * self.chunk_length]:
                power = power * r % modulus
                inputs += [power * x % modulus, (x - share_of_one) % modulus]
            total += call(inputs)
        return total % modulus


class SumVecCircuit(_ChunkedCircuit[Sequence[int]]):
    """`length` integers from 0 to `max_measurement` (section 7.4.3)."""

    evaluation_length = 1

    def __init__(self, field: Field, length: int, max_measurement: int, chunk_length: int) -> None:
        self.output_length = _parameter("length", length)
        self.max_measurement = _parameter("max_measurement", max_measurement, field.modulus - 1)
        self.largest_output = max_measurement
        self.digit_weights = digit_weights(max_measurement)
        super().__init__(field, length * len(self.digit_weights), chunk_length)

    def encode(self, measurement: Sequence[int]) -> list[int]:
        encoded = []
        for value in _vector(measurement, self.output_length, self.max_measurement):
            encoded += digits(value, self.digit_weights)
        return encoded

    def evaluate(
        self, measurement: Sequence[int], joint_randomness: Sequence[int], shares: int, call: GadgetCall
    ) -> list[int]:
        return [self._range_check(measurement, joint_randomness, shares, call)]

    def truncate(self, measurement: Sequence[int]) -> list[int]:
        bits = len(self.digit_weights)
        return [
            self.field.inner_product(self.digit_weights, measurement[at : at + bits])
            for at in range(0, self.measurement_length, bits)
        ]


class HistogramCircuit(_ChunkedCircuit[int]):
    """One bucket of `length`, by its index (section 7.4.4): elements of 0 and 1 whose sum is 1."""

    evaluation_length = 2

    def __init__(self, field: Field, length: int, chunk_length: int) -> None:
        self.output_length = _parameter("length", length)
        super().__init__(field, length, chunk_length)

    def encode(self, measurement: int) -> list[int]:
        bucket = _integer(measurement, self.output_length - 1)
        return [int(i == bucket) for i in range(self.output_length)]

    def evaluate(
        self, measurement: Sequence[int], joint_randomness: Sequence[int], shares: int, call: GadgetCall
    ) -> list[int]:
        sum_check = sum(measurement) - self.field.inverse(shares)
        return [
            self._range_check(measurement, joint_randomness, shares, call),
            sum_check % self.field.modulus,
        ]

    def truncate(self, measurement: Sequence[int]) -> list[int]:
        return list(measurement)


class MultihotCountVecCircuit(_ChunkedCircuit[Sequence[bool]]):
    """`length` truth values, at most `max_weight` of them true (section 7.4.5).

    Their number follows them, in digits, and the second output compares it with their sum.
    """

    evaluation_length = 2

    def __init__(self, field: Field, length: int, max_weight: int, chunk_length: int) -> None:
        self.output_length = _parameter("length", length)
        self.max_weight = _parameter("max_weight", max_weight, length)
        self.digit_weights = digit_weights(max_weight)
        super().__init__(field, length + len(self.digit_weights), chunk_length)

    def encode(self, measurement: Sequence[bool]) -> list[int]:
        flags = _vector(measurement, self.output_length, 1)
        if sum(flags) > self.max_weight:
            raise FieldError("measurement", f"at most {self.max_weight} elements may be true")
        return flags + digits(sum(flags), self.digit_weights)

    def evaluate(
        self, measurement: Sequence[int], joint_randomness: Sequence[int], shares: int, call: GadgetCall
    ) -> list[int]:
        weight = sum(self.truncate(measurement))
        reported = self.field.inner_product(self.digit_weights, measurement[self.output_length :])
        return [
            self._range_check(measurement, joint_randomness, shares, call),
            (weight - reported) % self.field.modulus,
        ]

    def truncate(self, measurement: Sequence[int]) -> list[int]:
        return list(measurement[: self.output_length])


class L1BoundSumCircuit(_ChunkedCircuit[Sequence[int]]):
    """`length` integers from 0 whose sum is at most `max_value` (draft-ietf-ppm-l1-bound-sum-02, section 3).

    Their sum follows them, in digits of the same weights, and the second output compares it with what they
    add up to.
    """

    evaluation_length = 2

    def __init__(self, field: Field, length: int, max_value: int, chunk_length: int) -> None:
        self.output_length = _parameter("length", length)
        # Of larger numbers, the sum could wrap round the field to one that is allowed.
        self.max_value = _parameter("max_value", max_value, (field.modulus - 1) // length)
        self.largest_output = max_value
        self.digit_weights = digit_weights(max_value)
        super().__init__(field, (length + 1) * len(self.digit_weights), chunk_length)

    def encode(self, measurement: Sequence[int]) -> list[int]:
        values = _vector(measurement, self.output_length, self.max_value)
        if sum(values) > self.max_value:
            raise FieldError("measurement", f"must add up to at most {self.max_value}")
        return [digit for value in [*values, sum(values)] for digit in digits(value, self.digit_weights)]

    def evaluate(
        self, measurement: Sequence[int], joint_randomness: Sequence[int], shares: int, call: GadgetCall
    ) -> list[int]:
        reported = measurement[self.output_length * len(self.digit_weights) :]
        sum_check = sum(self.truncate(measurement)) - self.field.inner_product(self.digit_weights, reported)
        return [
            self._range_check(measurement, joint_randomness, shares, call),
            sum_check % self.field.modulus,
        ]

    def truncate(self, measurement: Sequence[int]) -> list[int]:
        bits = len(self.digit_weights)
        return [
            self.field.inner_product(self.digit_weights, measurement[at : at + bits])
            for at in range(0, self.output_length * bits, bits)
        ]


class L2BoundSumCircuit(_ChunkedCircuit[Sequence[int]]):
    """`length` integers from 0 to 2·`offset`, whose squared distances from `offset` add up to at most
    `max_squares`: vectors of a bounded Euclidean length (SAA section 4.5).

    The digits of all integers are followed by those of the sum of squares. The last gadget calls square, and
    the second output compares what they add up to with these digits. Each integer is in 0..2·`offset`, so the
    sum of squares is at most length·offset², which must be below the modulus: it cannot wrap.

    Raises FieldError: `offset` is not in 1..√((p − 1)/length), or `max_squares` not in 1..length·offset².
    """

    evaluation_length = 2

    def __init__(self, field: Field, length: int, offset: int, max_squares: int, chunk_length: int) -> None:
        self.output_length = _parameter("length", length)
        self.offset = _parameter("offset", offset, math.isqrt((field.modulus - 1) // length))
        self.max_squares = _parameter("max_squares", max_squares, length * offset**2)
        self.largest_output = 2 * offset
        self.digit_weights = digit_weights(2 * offset)
        self.squares_weights = digit_weights(max_squares)
        self.digits_length = length * len(self.digit_weights)
        super().__init__(field, self.digits_length + len(self.squares_weights), chunk_length)
        self.square_calls = -(-length // chunk_length)
        self.gadget_calls += self.square_calls

    def encode(self, measurement: Sequence[int]) -> list[int]:
        values = _vector(measurement, self.output_length, 2 * self.offset)
        squares = sum((value - self.offset) ** 2 for value in values)
        if squares > self.max_squares:
            raise FieldError("measurement", f"must be at most √{self.max_squares} away from the middle")
        encoded = [digit for value in values for digit in digits(value, self.digit_weights)]
        return encoded + digits(squares, self.squares_weights)

    def evaluate(
        self, measurement: Sequence[int], joint_randomness: Sequence[int], shares: int, call: GadgetCall
    ) -> list[int]:
        modulus = self.field.modulus
        range_check = self._range_check(measurement, joint_randomness, shares, call)
        share_of_offset = self.offset * self.field.inverse(shares) % modulus
        padding = [0] * (self.square_calls * self.chunk_length - self.output_length)
        distances = [(x - share_of_offset) % modulus for x in self.truncate(measurement)] + padding
        squares = 0
        for at in range(0, len(distances), self.chunk_length):
            squares += call([y for y in distances[at : at + self.chunk_length] for _ in range(2)])
        reported = self.field.inner_product(self.squares_weights, measurement[self.digits_length :])
        return [range_check, (squares - reported) % modulus]

    def truncate(self, measurement: Sequence[int]) -> list[int]:
        bits = len(self.digit_weights)
        return [
            self.field.inner_product(self.digit_weights, measurement[at : at + bits])
            for at in range(0, self.digits_length, bits)
        ]


def digit_weights(largest: int) -> list[int]:
    """What the digits of a number from 0 to `largest` ≥ 1 weigh: 1, 2, 4, …, and a rest.

    The rest makes the sum of all weights `largest`, so that no digits of 0 and 1 exceed it
    (`encode_range_checked_int`, section 7.4.2).
    """
    powers = [2**i for i in range(largest.bit_length() - 1)]
    return [*powers, largest - sum(powers)]


def digits(value: int, weights: Sequence[int]) -> list[int]:
    """Digits of 0 and 1 that weigh `value`; the rest is used only if the powers do not reach."""
    *powers, rest = weights
    last = int(value > sum(powers))
    binary = value - last * rest
    return [(binary >> i) & 1 for i in range(len(powers))] + [last]


def _parameter(name: str, value: int, largest: int | None = None) -> int:
    """`value`, an integer from 1 to `largest`, otherwise FieldError."""
    if not isinstance(value, int) or value < 1 or (largest is not None and value > largest):
        allowed = "must be an integer from 1" + ("" if largest is None else f" to {largest}")
        raise FieldError(name, f"{allowed}, not {value!r}")
    return value


def _integer(measurement: SupportsIndex, largest: int) -> int:
    """A measurement from 0 to `largest`; otherwise FieldError without the value, because measurements are
    secret."""
    message = f"must be an integer from 0 to {largest}"
    try:
        value = operator.index(measurement)
    except TypeError:
        raise FieldError("measurement", message) from None
    if not 0 <= value <= largest:
        raise FieldError("measurement", message)
    return value


def _vector(measurement: Iterable[SupportsIndex], length: int, largest: int) -> list[int]:
    try:
        values = list(measurement)
    except TypeError:
        raise FieldError("measurement", f"must be {length} numbers") from None
    if len(values) != length:
        raise FieldError("measurement", f"must be {length} numbers, not {len(values)}")
    return [_integer(value, largest) for value in values]
