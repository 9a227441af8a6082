"""Gadgets: the parts of a circuit that are not affine (VDAF draft 20, appendix A)."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from panprivacy.protocols.prio3.field import Field


class Gadget(ABC):
    """An arithmetic circuit with several input wires and one output (section 7.3.2).

    Only its values are needed: the values of the gadget applied to polynomials are the gadget applied
    to their values, and polynomials are kept as values (`polynomial`).

    Attributes:
        arity: number of input wires.
        degree: of the polynomial that the gadget computes.
    """

    arity: int
    degree: int

    @abstractmethod
    def evaluate(self, field: Field, inputs: Sequence[int]) -> int:
        """The output for `arity` inputs."""


class Multiplication(Gadget):
    """x·y (appendix A.1)."""

    arity = 2
    degree = 2

    def evaluate(self, field: Field, inputs: Sequence[int]) -> int:
        return inputs[0] * inputs[1] % field.modulus


class PolynomialEvaluation(Gadget):
    """p(x) for a fixed polynomial p (appendix A.2)."""

    arity = 1

    def __init__(self, coefficients: Sequence[int]) -> None:
        """`coefficients`: of p, the constant first, the last not 0; integers, negative ones too."""
        self.coefficients = tuple(coefficients)
        self.degree = len(coefficients) - 1

    def evaluate(self, field: Field, inputs: Sequence[int]) -> int:
        value = 0
        for coefficient in reversed(self.coefficients):
            value = (value * inputs[0] + coefficient) % field.modulus
        return value


class ParallelProducts(Gadget):
    """x_0·y_0 + x_1·y_1 + …: the draft's `ParallelSum` of `count` multiplications (appendix A.3)."""

    degree = 2

    def __init__(self, count: int) -> None:
        self.count = count
        self.arity = 2 * count

    def evaluate(self, field: Field, inputs: Sequence[int]) -> int:
        return field.inner_product(inputs[0::2], inputs[1::2])
