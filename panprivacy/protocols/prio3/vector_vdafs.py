"""Which VDAF a file of test vectors is of, with its parameters (VDAF draft 20, appendix "Test Vectors")."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from panprivacy.protocols.prio3.circuits import SumVecCircuit
from panprivacy.protocols.prio3.field import FIELD64
from panprivacy.protocols.prio3.prio3 import (
    Prio3,
    Prio3Count,
    Prio3Histogram,
    Prio3L1BoundSum,
    Prio3MultihotCountVec,
    Prio3Sum,
    Prio3SumVec,
)

Vector = Mapping[str, Any]

PRIVATE_IDENTIFIER = 0xFFFFFFFF
"""What the draft's authors take for VDAFs that are in no registry."""

XOF = "XofTurboShake128"


def _sum_vec_with_multiproof(vector: Vector) -> Prio3[Any]:
    """SumVec in the smaller field, which is sound with three proofs."""
    circuit = SumVecCircuit(FIELD64, vector["length"], vector["max_measurement"], vector["chunk_length"])
    return Prio3(PRIVATE_IDENTIFIER, circuit, shares=vector["shares"], proofs=3)


def _of_the_draft(vdaf: Callable[..., Prio3[Any]], vector: Vector) -> Prio3[Any]:
    """A VDAF whose parameters are the fields common to all vectors, and its own."""
    return vdaf(**{name: vector[name] for name in (*_PARAMETERS[vdaf], "shares")})


_PARAMETERS: Mapping[Callable[..., Prio3[Any]], tuple[str, ...]] = {
    Prio3Count: (),
    Prio3Sum: ("max_measurement",),
    Prio3SumVec: ("length", "max_measurement", "chunk_length"),
    Prio3Histogram: ("length", "chunk_length"),
    Prio3MultihotCountVec: ("length", "max_weight", "chunk_length"),
    Prio3L1BoundSum: ("length", "max_value", "chunk_length"),
}
VDAFS: Mapping[str, Callable[[Vector], Prio3[Any]]] = {
    **{vdaf.__name__: partial(_of_the_draft, vdaf) for vdaf in _PARAMETERS},
    "Prio3SumVecWithMultiproof": _sum_vec_with_multiproof,
}
"""Name of a VDAF in the names of files → the VDAF that a vector of it describes."""

_COMMON = {"agg_param", "agg_result", "agg_shares", "ctx", "operations", "reports", "shares", "verify_key"}
_DESCRIBED = {frozenset(names): vdaf.__name__ for vdaf, names in _PARAMETERS.items()}
_XOF_MEMBERS = {"binder", "derived_seed", "dst", "expanded_vec_field128", "length", "seed"}


def name_of(stem: str, vector: Vector) -> str | None:
    """A key of `VDAFS`, or `XOF`; None for anything else.

    The name is the part of the file's name up to the first underscore. A file without one is read as the
    variant of the draft whose parameters it has.
    """
    name = stem.split("_")[0]
    if name in VDAFS or name == XOF:
        return name
    if vector.keys() == _XOF_MEMBERS:
        # Another function's vectors have the same fields.
        return None if stem.startswith("Xof") else XOF
    return _DESCRIBED.get(frozenset(vector.keys() - _COMMON)) if vector.keys() >= _COMMON else None
