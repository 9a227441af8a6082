"""Queries to the proofs of a batch (VDAF draft 20, sections 7.3.4 and 7.3.5), the same as in `flp`.

All gadgets of the draft's variants are of degree 2. So the gadget polynomial of a proof has 2p − 1 values if
its wire polynomials have p. That is one less than there are roots of unity of the order 2p.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from panprivacy.protocols.prio3.batch_circuits import BatchCircuit
from panprivacy.protocols.prio3.batch_field import BatchField, Booleans, Limbs
from panprivacy.protocols.prio3.flp import FullyLinearProof
from panprivacy.protocols.prio3.gadgets import Gadget, Multiplication, ParallelProducts, PolynomialEvaluation


def _products(field: BatchField, wires: Limbs) -> Limbs:
    """x_0·y_0 + x_1·y_1 + …"""
    return field.inner_product(wires[:, 0::2], wires[:, 1::2])[:, None]


def _range_check(field: BatchField, wires: Limbs) -> Limbs:
    """x² − x, the one polynomial that a variant of the draft evaluates."""
    return field.multiply(wires, wires) - wires


_GADGETS: Mapping[type[Gadget], Callable[[BatchField, Limbs], Limbs]] = {
    Multiplication: _products,
    ParallelProducts: _products,
    PolynomialEvaluation: _range_check,
}
"""Gadget (appendix A) → its output for small wires of shape (limbs, arity, reports): limbs below 2^28, one
element."""


class BatchProof:
    """The verifier's side of `FullyLinearProof`, for one share of two of every measurement and proof."""

    def __init__(self, flp: FullyLinearProof, field: BatchField, circuit: BatchCircuit[Any]) -> None:
        self._flp = flp
        self._field = field
        self._circuit = circuit
        n = flp.gadget_order
        roots = field.field.roots(n)
        self._one_nth = field.constants([field.field.inverse(n)])
        self._completing = field.constants([-root for root in roots[1:]])
        # The inverse transform is the transform at the inverse roots.
        inverse_roots = (roots[0], *roots[:0:-1])
        self._inverse_roots = {
            order: field.constants(inverse_roots[:: n // order][: order // 2])
            for order in (2**i for i in range(2, n.bit_length()))
        }

    def query(
        self, measurement: Limbs, proof: Limbs, query_randomness: Limbs, joint_randomness: Limbs
    ) -> tuple[Limbs, Booleans]:
        """Shares of the verifier messages (section 7.3.4).

        Args:
            measurement, proof, query_randomness, joint_randomness: as decoded, each of shape
                (limbs, its length, reports).

        Returns:
            Small elements of shape (limbs, verifier_length, reports), and for which reports they must not
            be used, because the test point is a root of unity.
        """
        field, flp, circuit = self._field, self._flp, self._circuit.circuit
        seeds, gadget_values = np.split(proof, [circuit.gadget.arity], axis=1)
        step = flp.gadget_order // flp.wire_length
        gadget_outputs = gadget_values[:, step::step][:, : circuit.gadget_calls]
        outputs = self._circuit.outputs(measurement, gadget_outputs)
        if flp.reduces_output:
            output = field.inner_product(query_randomness[:, :-1], outputs)[:, None]
        else:
            output = outputs

        wire_basis, gadget_basis, revealing = self._bases(query_randomness[:, -1])
        wire_basis = wire_basis[:, : 1 + circuit.gadget_calls]
        wire_values = self._circuit.wires(seeds, measurement, joint_randomness, wire_basis)
        gadget_value = field.inner_product(gadget_values, gadget_basis)[:, None]
        return np.concatenate([output, wire_values, gadget_value], axis=1), revealing

    def decide(self, verifiers: Limbs) -> Booleans:
        """Which sums of verifier shares, small, show a valid measurement (section 7.3.5)."""
        output, wires, gadget_value = np.split(verifiers, [1, self._flp.verifier_length - 1], axis=1)
        expected = _GADGETS[type(self._circuit.circuit.gadget)](self._field, wires)
        checks = np.concatenate([output, expected - gadget_value], axis=1)
        return np.asarray(self._field.are_zero(self._field.reduce(checks)).all(axis=0))

    def _bases(self, point: Limbs) -> tuple[Limbs, Limbs, Booleans]:
        """What the values of wire and gadget polynomials weigh in the value at a point.

        The inverse transform turns values into coefficients, and coefficients c_j into Σ_j c_j·t^j. Turned
        around, it makes the weights out of the powers of t. A gadget polynomial has the degree 2p − 2, so
        that its 2p-th coefficient is 0 and the substitute for t^(2p − 1) is free. It is chosen such that the
        value that the proof leaves out weighs nothing.

        Args:
            point: test points, shape (limbs, reports).

        Returns:
            Weights of shape (limbs, p, reports) and (limbs, 2p − 1, reports), small, and whether a point
            is one of the roots of unity.
        """
        field, p, n = self._field, self._flp.wire_length, self._flp.gadget_order
        first = np.broadcast_to(self._one_nth[:, 0], point.shape)
        powers = field.geometric(first, point, n)
        revealing = field.are_zero(powers[:, p] - self._one_nth[:, 0])
        powers[:, n - 1] = field.inner_product(self._completing, powers[:, : n - 1])
        gadget_basis = field.reduce(self._transformed(powers))[:, : n - 1]
        powers[:, n - 1] = 0
        wire_basis = field.reduce((n // p) * self._transformed(powers[:, :p]))
        return wire_basis, gadget_basis, revealing

    def _transformed(self, values: Limbs) -> Limbs:
        """The transform at the inverse roots, of shape (limbs, order, reports).

        Small values give limbs below 2^27 · (1 + log₂ order).
        """
        order = values.shape[1]
        if order == 1:
            return values
        even = self._transformed(values[:, 0::2])
        odd = self._transformed(values[:, 1::2])
        if order > 2:
            odd = self._field.multiply(self._inverse_roots[order], odd)
        return np.concatenate([even + odd, even - odd], axis=1)
