"""The variants of Prio3 that tests run on, and honest reports of each."""

import copy
import random
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from panprivacy.protocols.prio3.circuits import SumVecCircuit
from panprivacy.protocols.prio3.field import FIELD64
from panprivacy.protocols.prio3.interface import ReportInput
from panprivacy.protocols.prio3.prio3 import (
    NONCE_SIZE,
    Prio3,
    Prio3Count,
    Prio3Histogram,
    Prio3L1BoundSum,
    Prio3L2BoundSum,
    Prio3MultihotCountVec,
    Prio3Sum,
    Prio3SumVec,
)
from panprivacy.protocols.prio3.xof import SEED_SIZE

VERIFY_KEY = bytes(range(32))
CONTEXT = b"a task"


def _multihot(generator: random.Random, length: int, most: int) -> list[bool]:
    true = generator.sample(range(length), generator.randint(0, most))
    return [i in true for i in range(length)]


def _bounded(generator: random.Random, length: int, largest: int) -> list[int]:
    """Often of the largest sum, which is allowed."""
    cuts = sorted(generator.choices(range(largest + 1), k=length))
    return [end - start for start, end in zip([0, *cuts], cuts, strict=False)]


def _in_a_ball(generator: random.Random, length: int, offset: int, squares: int) -> list[int]:
    """Often near the border."""
    while True:
        vector = [generator.randint(0, 2 * offset) for _ in range(length)]
        if squares / 2 <= sum((x - offset) ** 2 for x in vector) <= squares:
            return vector


VARIANTS: dict[str, tuple[Prio3[Any], Any]] = {
    "count": (Prio3Count(), lambda g: g.randint(0, 1)),
    "sum of bits": (Prio3Sum(1), lambda g: g.randint(0, 1)),
    "sum": (Prio3Sum(1000), lambda g: g.randint(0, 1000)),
    "sum of large": (Prio3Sum(2**63 + 5), lambda g: g.randint(0, 2**63 + 5)),
    "sumvec of bits": (Prio3SumVec(11, 1, 4), lambda g: [g.randint(0, 1) for _ in range(11)]),
    "sumvec": (Prio3SumVec(3, 200, 7), lambda g: [g.randint(0, 200) for _ in range(3)]),
    "sumvec of one chunk": (Prio3SumVec(2, 1, 5), lambda g: [g.randint(0, 1) for _ in range(2)]),
    "histogram": (Prio3Histogram(11, 4), lambda g: g.randint(0, 10)),
    "histogram of many chunks": (Prio3Histogram(40, 1), lambda g: g.randint(0, 39)),
    "multihot": (Prio3MultihotCountVec(11, 3, 4), lambda g: _multihot(g, 11, 3)),
    "l1 bound sum": (Prio3L1BoundSum(4, 9, 5), lambda g: _bounded(g, 4, 9)),
    "l2 bound sum": (Prio3L2BoundSum(4, 5, 30, 3), lambda g: _in_a_ball(g, 4, 5, 30)),
    "several proofs": (
        Prio3(0xFFFFFFFF, SumVecCircuit(FIELD64, 4, 3, 3), proofs=3),
        lambda g: [g.randint(0, 3) for _ in range(4)],
    ),
}
"""Name → variant with parameters, and how a seeded generator draws a measurement of it."""


@dataclass(frozen=True)
class Sharded:
    """One report: what it is of, and what each side gets."""

    measurement: Any
    leader: ReportInput
    helper: ReportInput


def report_of(
    vdaf: Prio3[Any], measurement: Any, generator: random.Random, context: bytes = CONTEXT, nonce: bytes = b""
) -> Sharded:
    nonce = nonce or generator.randbytes(NONCE_SIZE)
    public, (leader, helper) = vdaf.shard(context, measurement, nonce, generator.randbytes(vdaf.rand_size))
    return Sharded(measurement, ReportInput(nonce, public, leader), ReportInput(nonce, public, helper))


def cheating_report_of(vdaf: Prio3[Any], encoded: list[int], generator: random.Random) -> Sharded:
    """A report of elements that are no measurement, with the best proof there is for them."""
    nonce = generator.randbytes(NONCE_SIZE)
    rand = generator.randbytes(vdaf.rand_size)
    public, (leader, helper) = vdaf.shard_encoded(CONTEXT, encoded, nonce, rand)
    return Sharded(None, ReportInput(nonce, public, leader), ReportInput(nonce, public, helper))


def misleading_report_of(
    vdaf: Prio3SumVec, generator: random.Random, context: bytes = CONTEXT, nonce: bytes = b""
) -> Sharded:
    """A vector of ones whose public share names another part of the joint randomness for the helper than
    the helper's share gives.

    So leader and helper draw different joint randomness. The proof is made for both at once: it is the
    gadget's values at what their wires add up to. That it is about ones makes the outputs 0 under any.
    """
    field, circuit, flp = vdaf.field, vdaf.circuit, copy.copy(vdaf.flp)
    nonce = nonce or generator.randbytes(NONCE_SIZE)
    helper_seed, leader_blind, helper_blind, other_part = (generator.randbytes(SEED_SIZE) for _ in range(4))
    helper_share = vdaf._helper_measurement_share(context, 1, helper_seed)
    leader_share = field.subtract([1] * circuit.measurement_length, helper_share)
    parts = [
        vdaf._joint_randomness_part(context, side, blind, field.encode(share), nonce)
        for side, blind, share in ((0, leader_blind, leader_share), (1, helper_blind, helper_share))
    ]
    public = parts[0] + other_part

    wires: list[list[list[int]]] = []
    for share, of in ((leader_share, [parts[0], other_part]), (helper_share, parts)):
        randomness = vdaf._joint_randomness(context, vdaf._joint_randomness_seed(context, of))
        calls: list[list[int]] = []
        circuit.evaluate(share, randomness, 2, lambda inputs, calls=calls: calls.append(list(inputs)) or 0)
        wires.append(calls)
    total = [field.add(*inputs) for inputs in zip(*wires, strict=True)]
    flp.circuit = SimpleNamespace(
        gadget=circuit.gadget, evaluate=lambda *arguments: [arguments[-1](inputs) for inputs in total]
    )
    seeds = [generator.randrange(field.modulus) for _ in range(flp.prove_randomness_length)]
    proof = field.subtract(flp.prove([], seeds, []), vdaf._helper_proofs_share(context, 1, helper_seed))
    return Sharded(
        None,
        ReportInput(nonce, public, field.encode(leader_share + proof) + leader_blind),
        ReportInput(nonce, public, helper_seed + helper_blind),
    )


def reports_of(name: str, count: int, seed: int = 0) -> list[Sharded]:
    vdaf, draw = VARIANTS[name]
    generator = random.Random(seed)
    return [report_of(vdaf, draw(generator), generator) for _ in range(count)]


def expected_sum(vdaf: Prio3[Any], measurements: list[Any]) -> tuple[int, ...]:
    """What the sum of valid measurements is, found without shares."""
    total = [0] * vdaf.circuit.output_length
    for measurement in measurements:
        output = vdaf.circuit.truncate(vdaf.circuit.encode(measurement))
        total = [(x + y) % vdaf.field.modulus for x, y in zip(total, output, strict=True)]
    return tuple(total)
