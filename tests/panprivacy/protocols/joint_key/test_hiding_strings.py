"""Computations of the proof in docs/joint-key.md: hiding strings, and a server's part without its secret."""

import random

import pytest

from panprivacy.protocols.joint_key.groups import (
    G1,
    G2,
    G1Point,
    G2Point,
    draw_scalar,
    plus_1,
    plus_2,
    scalar,
    times_1,
    times_2,
)
from panprivacy.protocols.joint_key.keys import JointKey
from panprivacy.protocols.joint_key.proven_bits import ProvenBit, all_hold, fresh
from panprivacy.protocols.joint_key.sums import DecryptionPart, ciphertext_sum
from tests.panprivacy.protocols.joint_key.test_joint_key import Given

SOURCE = random.Random(3839)

SECRETS = tuple(draw_scalar(SOURCE) for _ in range(2))
U1 = (G1, G1 * (SECRETS[0] + SECRETS[1]))
V1 = (G2, G2 * draw_scalar(SOURCE))
T, T_2 = draw_scalar(SOURCE), draw_scalar(SOURCE)
HIDING = JointKey(U1, times_1(U1, T), V1, times_2(V1, T_2))
BINDING = JointKey(
    U1, plus_1(HIDING.u, (G1Point.identity(), G1)), V1, plus_2(HIDING.v, (G2Point.identity(), G2))
)


def test_both_bits_have_the_same_states_under_hiding_strings() -> None:
    """Exactly: a map of scalars, one to one, takes each state of 0 to an equal one of 1. Both hold."""
    r, s, z1, z2 = (draw_scalar(SOURCE) for _ in range(4))
    zero = fresh(HIDING, 0, Given(r, s, z1, z2))
    assert zero == fresh(HIDING, 1, Given(r - T, s - T_2, z1 - r * T_2, z2 + T * T_2))
    assert all_hold(HIDING, [zero], SOURCE)
    assert zero != fresh(BINDING, 1, Given(r - T, s - T_2, z1 - r * T_2, z2 + T * T_2))


@pytest.mark.parametrize(("x", "y"), [(0, 0), (1, 1), (0, 1), (2, 2)])
def test_secrets_of_hiding_strings_prove_anything(x: int, y: int) -> None:
    """So a proof under hiding strings says nothing, and soundness is that of binding ones."""
    r, s, p_1, p_2 = (draw_scalar(SOURCE) for _ in range(4))
    # c = ρ·u1 and d = σ·v1.
    rho, sigma = r + scalar(x) * T, s + scalar(y) * T_2
    simulated = ProvenBit(
        plus_1(times_1(HIDING.u, scalar(x)), times_1(U1, r)),
        plus_2(times_2(HIDING.v, scalar(y)), times_2(V1, s)),
        (times_2(V1, p_1), times_2(V1, p_2)),
        (times_1(U1, rho * (sigma - T_2) - p_1), times_1(U1, rho * T_2 - T * sigma - p_2)),
    )
    assert all_hold(HIDING, [simulated], SOURCE)


def test_part_follows_from_the_count_and_the_other_secret() -> None:
    """So the proof's simulator needs no secret of the honest server."""
    bits = (1, 0, 1, 1)
    total = ciphertext_sum(fresh(BINDING, bit, SOURCE).c for bit in bits)
    part = DecryptionPart.made(b"sum", total, SECRETS[1], SOURCE)
    known = total[0] * SECRETS[0] + G1 * scalar(sum(bits))
    assert part.point == total[1] + -known
