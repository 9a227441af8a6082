"""Encrypted bits under a joint key: proofs, their rerandomization, sums, and what is refused."""

import itertools
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from panprivacy.encryption.interface import ValueOutOfRangeError
from panprivacy.protocols.joint_key import keys, sums
from panprivacy.protocols.joint_key.groups import (
    G1,
    G2,
    GROUP_ORDER,
    GT,
    G1Point,
    InvalidPointError,
    Pair1,
    Pair2,
    Scalar,
    decode_1,
    decode_2,
    decode_scalar,
    draw_scalar,
    plus_1,
    plus_2,
    scalar,
    times_1,
    times_2,
)
from panprivacy.protocols.joint_key.proven_bits import (
    ProvenBit,
    all_hold,
    fresh,
    public_state,
    rerandomized,
)

SOURCE = random.Random(3838)
CONTEXTS = (b"recipe leader", b"recipe helper")
HALVES = [keys.key_half(context, SOURCE) for context in CONTEXTS]
PUBLIC = [half for half, _ in HALVES]
U1, V1 = keys.key_bases(PUBLIC)
STRINGS = [keys.string_half(context, U1, V1, SOURCE) for context in CONTEXTS]
KEY = keys.JointKey.of(PUBLIC, STRINGS)


class Given(random.Random):
    """A source whose scalars are these, in their order."""

    def __init__(self, *values: Scalar) -> None:
        super().__init__()
        self._values = [int(value) for value in values]

    def getrandbits(self, k: int, /) -> int:
        return self._values.pop(0)


def decrypted(ciphertext: Pair1) -> int:
    """By both secrets at once, which no server has."""
    secret = HALVES[0][1] + HALVES[1][1]
    point = ciphertext[1] + -(ciphertext[0] * secret)
    return next(value for value in range(10) if point == G1 * scalar(value))


def holds_by_definition(bit: ProvenBit) -> bool:
    """All eight equations, one pairing at a time."""
    d_minus_v = plus_2(bit.d, times_2(KEY.v, scalar(-1)))
    equations: list[tuple[list[tuple[Pair1, Pair2]], int]] = [
        ([(bit.c, d_minus_v)], 0),
        ([(bit.c, KEY.v), (times_1(KEY.u, scalar(-1)), bit.d)], 1),
    ]
    for terms, number in equations:
        proof = [
            (times_1(KEY.u1, scalar(-1)), bit.pi[number]),
            (times_1(bit.theta[number], scalar(-1)), KEY.v1),
        ]
        for row, column in itertools.product((0, 1), repeat=2):
            left = [vector[row] for vector, _ in [*terms, *proof]]
            right = [vector[column] for _, vector in [*terms, *proof]]
            if not GT.pairing_check(left, right):
                return False
    return True


@pytest.mark.parametrize("bit", [0, 1])
def test_bit_holds_and_decrypts_after_every_step(bit: int) -> None:
    state = fresh(KEY, bit, SOURCE)
    for _ in range(3):
        assert holds_by_definition(state)
        assert all_hold(KEY, [state], SOURCE)
        assert decrypted(state.c) == bit
        assert ProvenBit.decode(bytes(state)) == state
        state = rerandomized(KEY, state, SOURCE)


@pytest.mark.parametrize("bit", [-2, -1, 2])
def test_what_is_no_bit_is_not_encrypted(bit: int) -> None:
    with pytest.raises(ValueOutOfRangeError, match="bit: must be 0 or 1"):
        fresh(KEY, bit, SOURCE)


@pytest.mark.parametrize("bit", [0, 1])
def test_rerandomized_is_fresh_with_other_randomness(bit: int) -> None:
    """Exactly: a map of scalars, one to one, takes every rerandomization to a fresh state. So an intruder who
    saw the older state sees the distribution of a fresh one."""
    (r0, s0, x0, y0), (r, s, x, y) = ([draw_scalar(SOURCE) for _ in range(4)] for _ in range(2))
    step = rerandomized(KEY, fresh(KEY, bit, Given(r0, s0, x0, y0)), Given(r, s, x, y))
    assert step == fresh(KEY, bit, Given(r0 + r, s0 + s, x0 + x + r * (s0 + s), y0 + y))


@pytest.mark.parametrize("bit", [0, 1])
def test_public_state_is_the_one_of_its_randomness(bit: int) -> None:
    """So that what is made from it is fresh, by the test before this."""
    one, two = scalar(1), scalar(2)
    assert public_state(KEY, bit) == fresh(KEY, bit, Given(one, one, two, one))
    assert all_hold(KEY, [public_state(KEY, bit)], SOURCE)


def proved(x: int, y: int) -> ProvenBit:
    """As the proof's formulas have it for any x and y, whether they satisfy the equations or not."""
    r, s, z1, z2 = (draw_scalar(SOURCE) for _ in range(4))
    c = plus_1(times_1(KEY.u, scalar(x)), times_1(KEY.u1, r))
    d = plus_2(times_2(KEY.v, scalar(y)), times_2(KEY.v1, s))
    d_minus_v = plus_2(d, times_2(KEY.v, scalar(-1)))
    pi_1 = plus_2(times_2(d_minus_v, r), times_2(KEY.v1, z1))
    theta_1 = plus_1(times_1(KEY.u, scalar(x) * s), times_1(KEY.u1, -z1))
    pi_2 = plus_2(times_2(KEY.v, r), times_2(KEY.v1, z2))
    theta_2 = plus_1(times_1(KEY.u, -s), times_1(KEY.u1, -z2))
    return ProvenBit(c, d, (pi_1, pi_2), (theta_1, theta_2))


@pytest.mark.parametrize(("x", "y"), [*itertools.product((-1, 0, 1, 2), repeat=2)])
def test_only_a_bit_is_proved(x: int, y: int) -> None:
    """The formulas give 0 on both sides just if the equations hold."""
    attempt = proved(x, y)
    is_bit = x == y and x in (0, 1)
    assert holds_by_definition(attempt) is is_bit
    assert all_hold(KEY, [attempt], SOURCE) is is_bit


@pytest.mark.parametrize("bit", [0, 1])
def test_validity_of_what_is_made_of_a_copy_tells_nothing(bit: int) -> None:
    """A doubled ciphertext is refused and a complement holds, whichever bit was copied."""
    state = fresh(KEY, bit, SOURCE)
    doubled = ProvenBit(
        times_1(state.c, scalar(2)),
        times_2(state.d, scalar(2)),
        tuple(times_2(each, scalar(2)) for each in state.pi),  # type: ignore[arg-type]
        tuple(times_1(each, scalar(2)) for each in state.theta),  # type: ignore[arg-type]
    )
    assert not all_hold(KEY, [doubled], SOURCE)
    # (1 − x)·((1 − y) − 1) = −y·(1 − x): the same equation with the other sign, plus x − y times v.
    minus = scalar(-1)
    complement = ProvenBit(
        plus_1(KEY.u, times_1(state.c, minus)),
        plus_2(KEY.v, times_2(state.d, minus)),
        (plus_2(state.pi[0], state.pi[1]), times_2(state.pi[1], minus)),
        (plus_1(state.theta[0], state.theta[1]), times_1(state.theta[1], minus)),
    )
    assert all_hold(KEY, [complement], SOURCE)
    assert decrypted(complement.c) == 1 - bit


PARTS = ("c", "d", "pi", "theta")


@pytest.mark.parametrize("part", PARTS)
def test_part_of_another_report_is_refused_anywhere_in_a_batch(part: str) -> None:
    bits = [fresh(KEY, number % 2, SOURCE) for number in range(5)]
    assert all_hold(KEY, bits, SOURCE)
    for place in (0, 4):
        swapped = replace(bits[place], **{part: getattr(bits[2], part)})
        assert not holds_by_definition(swapped)
        assert not all_hold(KEY, [*bits[:place], swapped, *bits[place + 1 :]], SOURCE)


def test_errors_of_two_reports_do_not_cancel() -> None:
    """Each has the other's proof: their sums are right."""
    first, second = fresh(KEY, 0, SOURCE), fresh(KEY, 1, SOURCE)
    crossed = [
        replace(first, pi=second.pi, theta=second.theta),
        replace(second, pi=first.pi, theta=first.theta),
    ]
    assert not all_hold(KEY, crossed, SOURCE)


def test_no_reports_hold() -> None:
    assert all_hold(KEY, [], SOURCE)


OFF_CURVE = bytes([0x80]) + bytes(46) + b"\x01"
IDENTITY = bytes([0xC0]) + bytes(47)


def outside_the_subgroup() -> bytes:
    for x in itertools.count(1):
        encoded = bytes([0x80]) + x.to_bytes(47, "big")
        try:
            point = G1Point.from_compressed_bytes_unchecked(encoded)
        except ValueError:
            continue
        if not point.is_in_subgroup():
            return encoded
    raise AssertionError


@pytest.mark.parametrize(
    "encoded",
    [OFF_CURVE, IDENTITY, outside_the_subgroup(), bytes(48), bytes(G1.to_compressed_bytes()) + b"\0", b""],
)
def test_bytes_that_are_no_point_are_refused(encoded: bytes) -> None:
    with pytest.raises(InvalidPointError, match="G1"):
        decode_1(encoded)
    with pytest.raises(InvalidPointError, match="G2"):
        decode_2(encoded + bytes(48))
    state = bytes(fresh(KEY, 1, SOURCE))
    with pytest.raises(InvalidPointError):
        ProvenBit.decode(encoded + state[48:])


def test_scalar_of_another_length_or_size_is_refused() -> None:
    assert int(decode_scalar((GROUP_ORDER - 1).to_bytes(32, "big"))) == GROUP_ORDER - 1
    for encoded in (GROUP_ORDER.to_bytes(32, "big"), bytes(31), bytes(33)):
        with pytest.raises(InvalidPointError):
            decode_scalar(encoded)


def test_halves_are_proved_in_their_own_context_only() -> None:
    for context, half, string in zip(CONTEXTS, PUBLIC, STRINGS, strict=True):
        keys.KeyHalf.decode(half.encode()).require_proved(context)
        keys.StringHalf.decode(string.encode()).require_proved(context, U1, V1)
        for other in (CONTEXTS[context == CONTEXTS[0]], b""):
            with pytest.raises(keys.ProofRefusedError):
                half.require_proved(other)
            with pytest.raises(keys.ProofRefusedError):
                string.require_proved(other, U1, V1)


@pytest.mark.parametrize("name", ["k1", "k2", "proof_1", "proof_2"])
def test_half_of_a_key_with_a_part_of_another_is_refused(name: str) -> None:
    other, _ = keys.key_half(CONTEXTS[0], SOURCE)
    with pytest.raises(keys.ProofRefusedError):
        replace(PUBLIC[0], **{name: getattr(other, name)}).require_proved(CONTEXTS[0])


@pytest.mark.parametrize("name", ["u", "v", "proof_u", "proof_v"])
def test_half_of_a_string_with_a_part_of_another_is_refused(name: str) -> None:
    other = keys.string_half(CONTEXTS[0], U1, V1, SOURCE)
    with pytest.raises(keys.ProofRefusedError):
        replace(STRINGS[0], **{name: getattr(other, name)}).require_proved(CONTEXTS[0], U1, V1)


def test_half_that_cancels_the_other_cannot_be_proved() -> None:
    """A server that chooses last would make the joint key its own, if it need not know the secret."""
    chosen, _ = keys.key_half(CONTEXTS[1], SOURCE)
    rogue = replace(chosen, k1=chosen.k1 + -PUBLIC[0].k1)
    with pytest.raises(keys.ProofRefusedError):
        rogue.require_proved(CONTEXTS[1])


def test_commitment_is_to_one_half_in_one_context() -> None:
    said = keys.commitment(CONTEXTS[0], PUBLIC[0])
    assert len(said) == 32
    assert said != keys.commitment(CONTEXTS[1], PUBLIC[0])
    assert said != keys.commitment(CONTEXTS[0], PUBLIC[1])


def parts_of(total: Pair1, context: bytes = b"sum") -> list[sums.DecryptionPart]:
    return [sums.DecryptionPart.made(context, total, secret, SOURCE) for _, secret in HALVES]


@pytest.mark.parametrize("ones", range(6))
def test_sum_is_the_number_of_ones(ones: int) -> None:
    bits = [fresh(KEY, int(number < ones), SOURCE) for number in range(5 if ones < 6 else 6)]
    total = sums.ciphertext_sum(bit.c for bit in bits)
    parts = [sums.DecryptionPart.decode(part.encode()) for part in parts_of(total)]
    for part, half in zip(parts, PUBLIC, strict=True):
        part.require_proved(b"sum", total, half)
    assert sums.count_of(total, parts, len(bits)) == ones


@pytest.mark.parametrize("most", [0, 1, 2, 3, 8, 9, 10, 99, 100, 101])
def test_count_is_found_at_both_ends_of_every_range(most: int) -> None:
    nothing: Sequence[sums.DecryptionPart] = []
    for count in {0, most // 2, most}:
        assert sums.count_of((G1, G1 * scalar(count)), nothing, most) == count
    for count in (-1, most + 1):
        with pytest.raises(sums.CountNotFoundError, match=f"from 0 to {most:,}"):
            sums.count_of((G1, G1 * scalar(count)), nothing, most)


@pytest.mark.parametrize("change", ["secret", "sum", "context", "half", "point"])
def test_part_that_is_not_the_servers_is_refused(change: str) -> None:
    total = sums.ciphertext_sum(fresh(KEY, 1, SOURCE).c for _ in range(3))
    (part, other) = parts_of(total)
    arguments: dict[str, Any] = {"context": b"sum", "total": total, "half": PUBLIC[0]}
    if change == "secret":
        part = other
    elif change == "point":
        part = replace(part, point=other.point)
    elif change == "sum":
        arguments["total"] = plus_1(total, total)
    elif change == "context":
        arguments["context"] = b"another sum"
    else:
        arguments["half"] = PUBLIC[1]
    with pytest.raises(keys.ProofRefusedError):
        part.require_proved(**arguments)


def test_generators_are_those_of_the_standard() -> None:
    """draft-irtf-cfrg-pairing-friendly-curves-11, section 4.2.1: the first bytes of both."""
    assert bytes(G1.to_compressed_bytes()).hex().startswith("97f1d3a73197d7942695638c4fa9ac0f")
    assert bytes(G2.to_compressed_bytes()).hex().startswith("93e02b6052719f607dacd3a088274f65")
