"""The gadgets for the reports of a batch (VDAF draft 20, appendix A)."""

from collections.abc import Callable, Mapping

from panprivacy.protocols.prio3.batch_field import BatchField, Limbs
from panprivacy.protocols.prio3.gadgets import Gadget, Multiplication, ParallelProducts, PolynomialEvaluation


def _products(field: BatchField, wires: Limbs) -> Limbs:
    """x_0·y_0 + x_1·y_1 + …"""
    return field.inner_product(wires[:, 0::2], wires[:, 1::2])[:, None]


def _range_check(field: BatchField, wires: Limbs) -> Limbs:
    """x² − x, the one polynomial that a variant of the draft evaluates."""
    return field.multiply(wires, wires) - wires


BATCH_GADGETS: Mapping[type[Gadget], Callable[[BatchField, Limbs], Limbs]] = {
    Multiplication: _products,
    ParallelProducts: _products,
    PolynomialEvaluation: _range_check,
}
"""Gadget → what it gives for small wires of shape (limbs, arity, reports): limbs below 2^28, one element."""
