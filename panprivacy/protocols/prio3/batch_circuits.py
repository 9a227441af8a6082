"""The validity circuits for shares of the measurements of a batch (VDAF draft 20, section 7.4).

Each is the circuit of `circuits` once more: the wires of all gadget calls, and the outputs, given what the
gadget calls give. Elements are arrays as `batch_field` describes.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import numpy as np

from panprivacy.protocols.prio3.batch_field import BatchField, Limbs
from panprivacy.protocols.prio3.circuits import (
    Circuit,
    CountCircuit,
    HistogramCircuit,
    L1BoundSumCircuit,
    L2BoundSumCircuit,
    MultihotCountVecCircuit,
    SumCircuit,
    SumVecCircuit,
)

CircuitType = TypeVar("CircuitType", bound=Circuit[Any])


class BatchCircuit(ABC, Generic[CircuitType]):
    """One circuit. A measurement is split into two shares, so that each has half of every constant."""

    def __init__(self, circuit: CircuitType, field: BatchField) -> None:
        self.circuit = circuit
        self.field = field

    @abstractmethod
    def wires(self, seeds: Limbs, measurement: Limbs, joint_randomness: Limbs, basis: Limbs, /) -> Limbs:
        """The values of all wire polynomials at the test point, small: shape (limbs, arity, reports).

        Args:
            seeds: decoded shares of the wire seeds, of shape (limbs, arity, reports).
            measurement: shares as decoded, of shape (limbs, measurement_length, reports).
            joint_randomness: as decoded, of shape (limbs, joint_randomness_length, reports).
            basis: what the seed and the wire of each call weigh, small: shape (limbs, 1 + calls, reports).
        """

    @abstractmethod
    def outputs(self, measurement: Limbs, gadget_outputs: Limbs, /) -> Limbs:
        """What the circuit gives, small: shape (limbs, evaluation_length, reports).

        Args:
            measurement: as in `wires`.
            gadget_outputs: as decoded, of shape (limbs, calls, reports).
        """

    @property
    def truncation(self) -> Callable[[Limbs], Limbs] | None:
        """Makes small output shares, of shape (limbs, output_length, reports), of a measurement.

        None if they are the first elements of the measurement, which holds in most circuits.
        """
        return None


class _BatchCount(BatchCircuit[CountCircuit]):
    def wires(self, seeds: Limbs, measurement: Limbs, _joint_randomness: Limbs, basis: Limbs) -> Limbs:
        both = np.repeat(measurement[:, None], 2, axis=1)
        return self.field.inner_product(np.concatenate([seeds[:, :, None], both], axis=2), basis[:, None])

    def outputs(self, measurement: Limbs, gadget_outputs: Limbs) -> Limbs:
        return gadget_outputs - measurement


class _BatchSum(BatchCircuit[SumCircuit]):
    def wires(self, seeds: Limbs, measurement: Limbs, _joint_randomness: Limbs, basis: Limbs) -> Limbs:
        return self.field.inner_product(np.concatenate([seeds, measurement], axis=1), basis)[:, None]

    def outputs(self, _measurement: Limbs, gadget_outputs: Limbs) -> Limbs:
        return gadget_outputs

    @property
    def truncation(self) -> Callable[[Limbs], Limbs]:
        return self._weighed

    def _weighed(self, measurement: Limbs) -> Limbs:
        weights = self.field.constants(self.circuit.digit_weights)
        return self.field.inner_product(weights, measurement)[:, None]


ChunkedType = TypeVar(
    "ChunkedType",
    bound=SumVecCircuit | HistogramCircuit | MultihotCountVecCircuit | L1BoundSumCircuit | L2BoundSumCircuit,
)


class _BatchChunked(BatchCircuit[ChunkedType]):
    """A gadget call checks that `chunk_length` elements x of them are 0 or 1: wires r^j·x and x − 1."""

    def __init__(self, circuit: ChunkedType, field: BatchField) -> None:
        super().__init__(circuit, field)
        self._half = field.constants([field.field.inverse(2)])

    def wires(self, seeds: Limbs, measurement: Limbs, joint_randomness: Limbs, basis: Limbs) -> Limbs:
        field, chunk_length = self.field, self.circuit.chunk_length
        calls = self.circuit.joint_randomness_length
        limbs, length, reports = measurement.shape
        padded = np.zeros((limbs, calls * chunk_length, reports), np.int64)
        padded[:, :length] = measurement
        elements = padded.reshape(limbs, calls, chunk_length, reports).transpose(0, 2, 1, 3)
        # The powers of r go into the weights of the calls, so that they need no products of their own.
        weights = field.geometric(
            field.multiply(basis[:, 1:], joint_randomness), joint_randomness, chunk_length
        )
        weights = np.concatenate([np.repeat(basis[:, None, :1], chunk_length, axis=1), weights], axis=2)
        products = np.concatenate([seeds[:, 0::2, None], elements], axis=2)
        values = np.empty((limbs, chunk_length, 2, reports), np.int64)
        values[:, :, 0] = field.inner_product(products, weights)
        products[:, :, 1:] -= self._half[:, :, None]
        products[:, :, 0] = seeds[:, 1::2]
        values[:, :, 1] = field.inner_product(products, basis[:, None])
        return values.reshape(limbs, 2 * chunk_length, reports)

    def _total(self, elements: Limbs) -> Limbs:
        """Their sum, small: shape (limbs, 1, reports)."""
        return self.field.reduce(elements.sum(axis=1, keepdims=True))


class _BatchSumVec(_BatchChunked[SumVecCircuit]):
    def outputs(self, _measurement: Limbs, gadget_outputs: Limbs) -> Limbs:
        return self._total(gadget_outputs)

    @property
    def truncation(self) -> Callable[[Limbs], Limbs] | None:
        return None if self.circuit.digit_weights == [1] else self._weighed

    def _weighed(self, measurement: Limbs) -> Limbs:
        digit_weights = self.circuit.digit_weights
        weights = self.field.constants(digit_weights)[:, None]
        limbs, _, reports = measurement.shape
        digits = measurement.reshape(limbs, -1, len(digit_weights), reports)
        return self.field.inner_product(weights, digits)


class _BatchHistogram(_BatchChunked[HistogramCircuit]):
    def outputs(self, measurement: Limbs, gadget_outputs: Limbs) -> Limbs:
        sum_check = self._total(measurement) - self._half
        return np.concatenate([self._total(gadget_outputs), sum_check], axis=1)


class _BatchMultihotCountVec(_BatchChunked[MultihotCountVecCircuit]):
    def outputs(self, measurement: Limbs, gadget_outputs: Limbs) -> Limbs:
        length = self.circuit.output_length
        weights = self.field.constants(self.circuit.digit_weights)
        reported = self.field.inner_product(weights, measurement[:, length:])[:, None]
        weight_check = self._total(measurement[:, :length]) - reported
        return np.concatenate([self._total(gadget_outputs), weight_check], axis=1)


class _BatchL1BoundSum(_BatchChunked[L1BoundSumCircuit]):
    def outputs(self, measurement: Limbs, gadget_outputs: Limbs) -> Limbs:
        values = self._values(measurement)
        sum_check = self._total(values[:, :-1]) - values[:, -1:]
        return np.concatenate([self._total(gadget_outputs), sum_check], axis=1)

    @property
    def truncation(self) -> Callable[[Limbs], Limbs]:
        return lambda measurement: self._values(measurement)[:, :-1]

    def _values(self, measurement: Limbs) -> Limbs:
        """What the digits weigh, of the numbers and last of their sum, small."""
        weights = self.field.constants(self.circuit.digit_weights)[:, None]
        limbs, _, reports = measurement.shape
        digits = measurement.reshape(limbs, self.circuit.output_length + 1, -1, reports)
        return self.field.inner_product(weights, digits)


class _BatchL2BoundSum(_BatchChunked[L2BoundSumCircuit]):
    """The last gadget calls square: both wires of a product are the distance of a number from the middle."""

    def wires(self, seeds: Limbs, measurement: Limbs, joint_randomness: Limbs, basis: Limbs) -> Limbs:
        field, circuit = self.field, self.circuit
        before = 1 + circuit.joint_randomness_length
        checked = super().wires(seeds, measurement, joint_randomness, basis[:, :before])
        values = self._values(measurement)
        limbs, length, reports = values.shape
        half = field.constants([circuit.offset * field.field.inverse(2)])
        distances = np.zeros((limbs, circuit.square_calls * circuit.chunk_length, reports), np.int64)
        distances[:, :length] = field.reduce(values - half)
        chunks = distances.reshape(limbs, -1, circuit.chunk_length, reports).transpose(0, 2, 1, 3)
        squared = field.inner_product(chunks, basis[:, None, before:])
        return field.reduce(checked + np.repeat(squared, 2, axis=1))

    def outputs(self, measurement: Limbs, gadget_outputs: Limbs) -> Limbs:
        checks, squares = np.split(gadget_outputs, [self.circuit.joint_randomness_length], axis=1)
        weights = self.field.constants(self.circuit.squares_weights)
        reported = self.field.inner_product(weights, measurement[:, self.circuit.digits_length :])[:, None]
        return np.concatenate([self._total(checks), self._total(squares) - reported], axis=1)

    @property
    def truncation(self) -> Callable[[Limbs], Limbs]:
        return self._values

    def _values(self, measurement: Limbs) -> Limbs:
        """The numbers, small: shape (limbs, length, reports)."""
        weights = self.field.constants(self.circuit.digit_weights)[:, None]
        limbs, _, reports = measurement.shape
        digits = measurement[:, : self.circuit.digits_length]
        return self.field.inner_product(
            weights, digits.reshape(limbs, self.circuit.output_length, -1, reports)
        )


_CIRCUITS: dict[type[Circuit[Any]], type[BatchCircuit[Any]]] = {
    CountCircuit: _BatchCount,
    SumCircuit: _BatchSum,
    SumVecCircuit: _BatchSumVec,
    HistogramCircuit: _BatchHistogram,
    MultihotCountVecCircuit: _BatchMultihotCountVec,
    L1BoundSumCircuit: _BatchL1BoundSum,
    L2BoundSumCircuit: _BatchL2BoundSum,
}


def batch_circuit(circuit: Circuit[Any], field: BatchField) -> BatchCircuit[Any]:
    """The batch form of a circuit of the draft."""
    return _CIRCUITS[type(circuit)](circuit, field)
