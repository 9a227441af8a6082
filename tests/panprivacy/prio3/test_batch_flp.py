"""Queries and decisions for batches against those of the definition, where reports cannot lead them."""

import random

import numpy as np
import pytest

from panprivacy.prio3.batch_circuits import batch_circuit
from panprivacy.prio3.batch_field import BatchField
from panprivacy.prio3.batch_flp import BatchProof
from panprivacy.prio3.interface import VerificationError
from tests.panprivacy.prio3.variants import VARIANTS

REPORTS = 5


@pytest.mark.parametrize("name", VARIANTS)
def test_query_of_arbitrary_shares_at_any_point_equals_the_definition(name):
    vdaf, generator = VARIANTS[name][0], random.Random(3)
    field, flp, circuit = vdaf.field, vdaf.flp, vdaf.circuit
    batch_field = BatchField(field)
    proof = BatchProof(flp, batch_field, batch_circuit(circuit, batch_field))

    def vectors(length):
        edges = [0, 1, field.modulus - 1, generator.randrange(field.modulus)]
        return [[generator.choice(edges) for _ in range(length)] for _ in range(REPORTS)]

    def decoded(rows):
        encoded = b"".join(field.encode(row) for row in rows)
        return batch_field.decode(np.frombuffer(encoded, np.uint8).reshape(REPORTS, -1))

    measurements, proofs = vectors(circuit.measurement_length), vectors(flp.proof_length)
    joint, query = vectors(circuit.joint_randomness_length), vectors(flp.query_randomness_length)
    for row, point in enumerate(
        [1, field.roots(flp.wire_length)[-1], field.roots(2 * flp.wire_length)[1], 0]
    ):
        query[row][-1] = point
    verifiers, revealing = proof.query(*(decoded(rows) for rows in (measurements, proofs, query, joint)))
    encoded = batch_field.encode(verifiers)
    for row in range(REPORTS):
        arguments = measurements[row], proofs[row], query[row], joint[row], 2
        if revealing[row]:
            with pytest.raises(VerificationError, match="root of unity"):
                flp.query(*arguments)
        else:
            assert encoded[row].tobytes() == field.encode(flp.query(*arguments))
    assert revealing[:2].all()
    assert not revealing[2:4].any()
