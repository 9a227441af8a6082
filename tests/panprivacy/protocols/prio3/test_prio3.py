"""The definition: sizes, errors, and that what it makes stays what it is."""

import hashlib
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panprivacy.formats.errors import FieldError
from panprivacy.protocols.prio3 import xof
from panprivacy.protocols.prio3.circuits import Circuit, CountCircuit, digit_weights, digits
from panprivacy.protocols.prio3.field import FIELD64, FIELD128, Field, little_endian
from panprivacy.protocols.prio3.gadgets import PolynomialEvaluation
from panprivacy.protocols.prio3.interface import InvalidShareError, VerificationError
from panprivacy.protocols.prio3.polynomial import values_at_more_roots
from panprivacy.protocols.prio3.prio3 import (
    Prio3,
    Prio3Count,
    Prio3Histogram,
    Prio3L1BoundSum,
    Prio3L2BoundSum,
    Prio3MultihotCountVec,
    Prio3Sum,
    Prio3SumVec,
)
from tests.panprivacy.protocols.prio3.variants import CONTEXT, VARIANTS, VERIFY_KEY
from tests.refusals import field_refused

NONCE = bytes(range(16))

# SHA-256 over everything that one report of each brings about, from shares to the aggregate. They are what
# they were when all official vectors held, so that no machine without the vectors lets the wire change.
DIGESTS = {
    "count": "bb6d77bf23aa9883382095fbd026e03d88a628be703f90ff375e8b54c5b65a8a",
    "sum": "05293ae9b93ab18e519624bbad7b4b0e0810f926e9dc9335d60227664fe6bb3e",
    "sumvec": "d85a08b7d1ffe5ebe2235070733052430938110be59c51135632bd11d5d2d6f6",
    "histogram": "3c66ea71db12717a775cec8609329e8baa7daff88bb4b6fa97012a8ffa2ec0b4",
    "multihot": "3bd782ada3ac4cdf28dc8ecaafe4677dc78a2c0242ead7fa548307c5f99023e8",
    "several proofs": "3a9f8a0f228289365c02e09de8c7989c0e0fd9fc1ebc48ca05e6718c88ce94fa",
}
MEASUREMENTS = {
    "count": 1,
    "sum": 777,
    "sumvec": [200, 0, 129],
    "histogram": 10,
    "multihot": [True, False] * 3 + [False] * 5,
    "several proofs": [3, 0, 1, 2],
}


def views_of(
    vdaf: Prio3, public: bytes, inputs: list[bytes], context: bytes = CONTEXT, nonce: bytes = NONCE
) -> list[tuple[bytes, bytes]]:
    """State and verifier share of each aggregator."""
    return [
        vdaf.verify_init(VERIFY_KEY, context, aggregator, nonce, public, share)
        for aggregator, share in enumerate(inputs)
    ]


def everything_of(vdaf: Prio3, measurement: object, context: bytes = CONTEXT) -> list[bytes]:
    rand = bytes(i % 256 for i in range(vdaf.rand_size))
    public, inputs = vdaf.shard(context, measurement, NONCE, rand)
    views = views_of(vdaf, public, inputs, context)
    message = vdaf.verifier_shares_to_message(context, [share for _, share in views])
    out_shares = [vdaf.verify_next(state, message) for state, _ in views]
    return [public, *inputs, *(share for _, share in views), message, *out_shares]


@pytest.mark.parametrize("name", DIGESTS)
def test_everything_of_a_fixed_report_is_what_it_was(name):
    digest = hashlib.sha256(b"|".join(everything_of(VARIANTS[name][0], MEASUREMENTS[name]))).hexdigest()
    assert digest == DIGESTS[name]


def test_everything_of_l1_bound_sum_is_what_its_draft_publishes():
    """The five reports of `Prio3L1BoundSum_0.json` in the repository of draft-ietf-ppm-l1-bound-sum-02.

    Its reports have the nonce, randomness and verification key of these tests. SHA-256 over all shares and
    messages of the file, in its order.
    """
    vdaf = Prio3L1BoundSum(length=10, max_value=240, chunk_length=9)
    zeros = [0] * 9
    measurements = [list(range(10)), [240, *zeros], [*zeros, 240], [0, *zeros], [1] * 10]
    found = [part for measured in measurements for part in everything_of(vdaf, measured, b"some application")]
    assert hashlib.sha256(b"|".join(found)).hexdigest() == (
        "2ac6048ca87ff7c5e6a076e0c236ed8efaf117564dea8260cc2e85db24891bd2"
    )


class HigherDegreeCircuit(Circuit[list[int]]):
    """Three numbers of 0, 1 or 2, by a gadget of degree 3: x·(x − 1)·(x − 2).

    Unlike in the draft's variants, its third call is at a root of unity for which a proof has no value.
    """

    field = FIELD64
    gadget = PolynomialEvaluation((0, 2, -3, 1))
    measurement_length = output_length = evaluation_length = gadget_calls = 3
    joint_randomness_length = 0
    largest_output = 2

    def encode(self, measurement):
        return list(measurement)

    def evaluate(self, measurement, _joint_randomness, _shares, call, /):
        return [call([number]) for number in measurement]

    def truncate(self, measurement):
        return list(measurement)


def test_gadget_of_degree_3_accepts_what_is_valid_and_nothing_else():
    """An invalid report passes with a probability below 2^−60."""
    vdaf = Prio3(0xFFFFFFFF, HigherDegreeCircuit())
    leader, helper = everything_of(vdaf, [0, 1, 2])[-2:]
    assert vdaf.unshard([leader, helper]) == (0, 1, 2)
    for invalid in ([3, 0, 0], [0, 3, 0], [0, 0, 3]):
        with pytest.raises(VerificationError):
            everything_of(vdaf, invalid)


@pytest.mark.parametrize(
    ("vdaf", "measurement"),
    [
        (Prio3Count(), 2),
        (Prio3Count(), -1),
        (Prio3Count(), 0.0),
        (Prio3Count(), "1"),
        (Prio3Count(), None),
        (Prio3Sum(5), 6),
        (Prio3Sum(5), -1),
        (Prio3SumVec(2, 5, 1), [1, 6]),
        (Prio3SumVec(2, 5, 1), [1]),
        (Prio3SumVec(2, 5, 1), 3),
        (Prio3Histogram(3, 1), 3),
        (Prio3Histogram(3, 1), -1),
        (Prio3MultihotCountVec(3, 1, 1), [True, True, False]),
        (Prio3MultihotCountVec(3, 1, 1), [True, False]),
        (Prio3MultihotCountVec(3, 1, 1), [2, 0, 0]),
        (Prio3L2BoundSum(2, 5, 30, 1), [10, 8]),
        (Prio3L2BoundSum(2, 5, 30, 1), [11, 5]),
        (Prio3L1BoundSum(2, 5, 1), [3, 3]),
        (Prio3L1BoundSum(2, 5, 1), [6, 0]),
        (Prio3L1BoundSum(2, 5, 1), [6, -1]),
    ],
)
def test_shard_of_what_is_no_measurement_raises_without_telling_it(vdaf, measurement):
    with pytest.raises(FieldError, match=r"^measurement: ") as caught:
        vdaf.shard(CONTEXT, measurement, NONCE, bytes(vdaf.rand_size))
    assert f"not {measurement!r}" not in str(caught.value)


def test_shard_with_lengths_of_arguments_that_do_not_fit_raises():
    vdaf = Prio3Count()
    with pytest.raises(FieldError, match="nonce"):
        vdaf.shard(CONTEXT, 1, NONCE[:-1], bytes(vdaf.rand_size))
    with pytest.raises(FieldError, match="rand"):
        vdaf.shard(CONTEXT, 1, NONCE, bytes(vdaf.rand_size - 1))
    with pytest.raises(FieldError, match="encoded"):
        vdaf.shard_encoded(CONTEXT, [1, 1], NONCE, bytes(vdaf.rand_size))
    vdaf.shard(bytes(65527), 1, NONCE, bytes(vdaf.rand_size))
    with pytest.raises(FieldError, match="context"):
        vdaf.shard(bytes(65528), 1, NONCE, bytes(vdaf.rand_size))
    with pytest.raises(FieldError, match="seed"):
        xof.derive_seed(bytes(256), b"", b"")
    with pytest.raises(FieldError, match="dst"):
        xof.derive_seed(bytes(32), bytes(65536), b"")


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: Prio3Sum(0), "max_measurement"),
        (lambda: Prio3Sum(FIELD64.modulus), "max_measurement"),
        (lambda: Prio3SumVec(0, 1, 1), "length"),
        (lambda: Prio3SumVec(1, 0, 1), "max_measurement"),
        (lambda: Prio3SumVec(1, 1, 0), "chunk_length"),
        (lambda: Prio3Histogram(0, 1), "length"),
        (lambda: Prio3Histogram(1, 0), "chunk_length"),
        (lambda: Prio3Histogram(1, "1"), "chunk_length"),
        (lambda: Prio3MultihotCountVec(3, 4, 1), "max_weight"),
        (lambda: Prio3MultihotCountVec(3, 0, 1), "max_weight"),
        (lambda: Prio3L1BoundSum(3, 0, 1), "max_value"),
        (lambda: Prio3L2BoundSum(4, 0, 1, 1), "offset"),
        (lambda: Prio3L2BoundSum(4, 2**63, 1, 1), "offset"),
        (lambda: Prio3L2BoundSum(4, 5, 0, 1), "max_squares"),
        (lambda: Prio3L2BoundSum(4, 5, 101, 1), "max_squares"),
        (lambda: Prio3L1BoundSum(3, FIELD128.modulus // 2, 1), "max_value"),
        (lambda: Prio3Count(shares=1), "shares"),
        (lambda: Prio3Count(shares=256), "shares"),
        (lambda: Prio3(1, CountCircuit(FIELD64), proofs=0), "proofs"),
    ],
)
def test_variant_with_a_parameter_out_of_range_raises_and_names_it(make, field):
    with field_refused(field):
        make()


@given(largest=st.integers(1, 2**64), data=st.data())
def test_digits_weigh_their_number_and_no_digits_exceed_the_largest(largest, data):
    value = data.draw(st.integers(0, largest))
    weights = digit_weights(largest)
    found = digits(value, weights)
    assert set(found) <= {0, 1}
    assert sum(d * w for d, w in zip(found, weights, strict=True)) == value
    assert sum(weights) == largest
    assert min(weights) > 0
    assert len(weights) == largest.bit_length()


@pytest.mark.parametrize("shares", [3, 5])
def test_verification_among_more_aggregators_ends_in_shares(shares):
    vdaf = Prio3Histogram(5, 2, shares=shares)
    out_shares = everything_of(vdaf, 4)[-shares:]
    assert vdaf.unshard([vdaf.aggregate([share]) for share in out_shares]) == (0, 0, 0, 0, 1)


def test_steps_that_need_a_share_of_every_aggregator_raise_for_fewer():
    vdaf = Prio3Count(shares=3)
    with pytest.raises(InvalidShareError, match="must be 3"):
        vdaf.verifier_shares_to_message(CONTEXT, [bytes(32)] * 2)
    with pytest.raises(InvalidShareError, match="must be 3"):
        vdaf.unshard([bytes(8)] * 2)


def test_verification_of_a_changed_part_ignores_the_public_share():
    """Each side computes its own part of the joint randomness, whatever the public share says of it."""
    vdaf, generator = VARIANTS["histogram"][0], random.Random(4)
    public, (_, helper) = vdaf.shard(CONTEXT, 1, NONCE, generator.randbytes(vdaf.rand_size))
    changed = public[:32] + generator.randbytes(32)
    views = [vdaf.verify_init(VERIFY_KEY, CONTEXT, 1, NONCE, share, helper) for share in (public, changed)]
    assert views[0] == views[1]


def test_verifier_shares_in_the_wrong_order_are_refused():
    vdaf = VARIANTS["histogram"][0]
    views = views_of(vdaf, *vdaf.shard(CONTEXT, 1, NONCE, bytes(range(128))))
    message = vdaf.verifier_shares_to_message(CONTEXT, [share for _, share in reversed(views)])
    with pytest.raises(VerificationError, match="joint randomness"):
        vdaf.verify_next(views[0][0], message)


@pytest.mark.parametrize("field", [FIELD64, FIELD128])
def test_values_at_more_roots_are_those_of_the_coefficients(field: Field) -> None:
    generator = random.Random(1)
    polynomials = [[generator.randrange(field.modulus) for _ in range(4)] for _ in range(3)]
    largest = [field.modulus - 1] * 4  # the digits of the packed sums at their largest

    def value(coefficients: list[int], at: int) -> int:
        return sum(c * pow(at, power, field.modulus) for power, c in enumerate(coefficients)) % field.modulus

    known = [[*(value(p, root) for p in polynomials), 0] for root in field.roots(4)]
    for row, at in zip(known, largest, strict=True):
        row[3] = at
    found = values_at_more_roots(field, known, 4, 16)
    expected = [[*(value(p, root) for p in polynomials), field.modulus - 1] for root in field.roots(16)]
    assert [[v % field.modulus for v in row] for row in found] == expected


def test_numbers_of_bytes_are_kept_when_they_are_zeros_or_none() -> None:
    assert little_endian(bytes(24), 8) == [0, 0, 0]
    assert little_endian(b"", 8) == []
    assert FIELD128.encode([1, 0]) == b"\1" + bytes(31)
    assert FIELD128.encode([]) == b""
