"""Fully linear proofs that a circuit is 0 for a measurement (VDAF draft 20, section 7.3).

The wire polynomial of an input wire takes, at the p-th roots of unity, a random seed and then the wire's
values in one gadget call after the other. The gadget applied to the wire polynomials is a polynomial
too, and the proof is its values. The holder of a share of the measurement and of the proof computes a share
of the circuit's output: everything is linear but the gadget, whose outputs the proof contains. Whether it
contains the right ones is tested at a random point.
"""

from collections.abc import Sequence
from typing import Any

from panprivacy.protocols.prio3.circuits import Circuit
from panprivacy.protocols.prio3.interface import VerificationError
from panprivacy.protocols.prio3.polynomial import (
    lagrange_basis,
    next_power_of_2,
    values_at_more_roots,
)


class FullyLinearProof:
    """Proofs for one circuit.

    Attributes:
        prove_randomness_length, query_randomness_length, proof_length, verifier_length: in elements
            (section 7.3.2).
        wire_length: values of a wire polynomial, a power of two.
        gadget_length: values of the gadget polynomial in a proof.
        gadget_order: these are its values at the first `gadget_length` roots of unity of this order.
    """

    def __init__(self, circuit: Circuit[Any]) -> None:
        self.circuit = circuit
        self.field = circuit.field
        gadget = circuit.gadget
        self.wire_length = next_power_of_2(1 + circuit.gadget_calls)
        self.gadget_length = gadget.degree * (self.wire_length - 1) + 1
        self.gadget_order = next_power_of_2(self.gadget_length)
        self.prove_randomness_length = gadget.arity
        self.reduces_output = circuit.evaluation_length > 1
        self.query_randomness_length = 1 + circuit.evaluation_length * self.reduces_output
        self.proof_length = gadget.arity + self.gadget_length
        self.verifier_length = 1 + gadget.arity + 1

    def prove(
        self, measurement: Sequence[int], prove_randomness: Sequence[int], joint_randomness: Sequence[int]
    ) -> list[int]:
        """A proof for an encoded measurement (section 7.3.3): wire seeds, then the gadget polynomial."""
        field, gadget = self.field, self.circuit.gadget
        # `ProveGadget` (appendix A.4): record the input wires of each call, behind the wire seeds.
        calls: list[Sequence[int]] = [prove_randomness]

        def call(inputs: Sequence[int]) -> int:
            calls.append(inputs)
            return gadget.evaluate(field, inputs)

        # Evaluate the validity circuit on the measurement itself.
        self.circuit.evaluate(measurement, joint_randomness, 1, call)
        # The wire polynomials, from their values at the p-th roots of unity to those at the n-th.
        points = values_at_more_roots(field, calls, self.wire_length, self.gadget_order)
        # The gadget polynomial: the gadget on the wire polynomials' values. Proof: seeds, then these values.
        values = (int(gadget.evaluate(field, inputs)) for inputs in points[: self.gadget_length])
        return [*prove_randomness, *values]

    def query(
        self,
        measurement: Sequence[int],
        proof: Sequence[int],
        query_randomness: Sequence[int],
        joint_randomness: Sequence[int],
        shares: int,
    ) -> list[int]:
        """(A share of) the verifier message, from (shares of) measurement and proof (section 7.3.4).

        Returns:
            The circuit's output, the value of every wire polynomial at the test point, and that of the
            gadget polynomial.

        Raises:
            VerificationError: the test point is a root of unity: the values there would reveal wires.
        """
        field, circuit = self.field, self.circuit
        # `QueryGadget` (appendix A.4): record input wires, and take outputs from the gadget polynomial.
        seeds, gadget_values = proof[: circuit.gadget.arity], proof[circuit.gadget.arity :]
        calls: list[Sequence[int]] = [seeds]

        def call(inputs: Sequence[int]) -> int:
            calls.append(inputs)
            return self._gadget_output(gadget_values, len(calls) - 1)

        outputs = circuit.evaluate(measurement, joint_randomness, shares, call)
        # Reduce several outputs to a random linear combination.
        *output_randomness, point = query_randomness
        output = field.inner_product(output_randomness, outputs) if self.reduces_output else outputs[0]

        # Abort if the test point t is among the inputs that define the wire polynomials: t^p = 1.
        if pow(point, self.wire_length, field.modulus) == 1:
            raise VerificationError("the test point is a root of unity")
        # The gadget test, to be completed by `decide`: wire polynomials and gadget polynomial at t.
        wire_basis = lagrange_basis(field, self.wire_length, self.wire_length, point)
        gadget_basis = lagrange_basis(field, self.gadget_length, self.gadget_order, point)
        return [
            output,
            *(field.inner_product(wire_basis, wire) for wire in self._wires(calls)),
            field.inner_product(gadget_basis, gadget_values),
        ]

    def decide(self, verifier: Sequence[int]) -> bool:
        """Whether a verifier message, the sum of its shares, shows a valid measurement (section 7.3.5)."""
        # The circuit's output is 0. The gadget on the wire polynomials at t is the gadget polynomial at t.
        output, *wires, gadget_value = verifier
        return output == 0 and self.circuit.gadget.evaluate(self.field, wires) == gadget_value

    def _wires(self, calls: Sequence[Sequence[int]]) -> list[list[int]]:
        """The values of every wire polynomial: seed, wires of all calls, zeros."""
        padding = [0] * (self.wire_length - len(calls))
        return [[*wire, *padding] for wire in zip(*calls, strict=True)]

    def _gadget_output(self, gadget_values: Sequence[int], call: int) -> int:
        """The gadget polynomial at the `call`-th of the p-th roots of unity, which are some of the n-th."""
        index = call * (self.gadget_order // self.wire_length)
        if index < self.gadget_length:
            return gadget_values[index]
        # Gadgets of a degree above 2 have fewer values in the proof than roots up to here.
        root = self.field.roots(self.gadget_order)[index]
        basis = lagrange_basis(self.field, self.gadget_length, self.gadget_order, root)
        return self.field.inner_product(basis, gadget_values)
