"""What leader and helper make of pan-private reports, honest and not."""

import functools
import random
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from panprivacy.formats.errors import FieldError
from panprivacy.protocols.encrypted_shares.configuration import VDAF, open_part
from panprivacy.protocols.encrypted_shares.shared_key import SharedCiphertext
from panprivacy.protocols.encrypted_shares.verifier import PanPrivateVerifier
from panprivacy.protocols.prio3 import ping_pong
from panprivacy.protocols.prio3.field import FIELD64
from panprivacy.protocols.prio3.interface import (
    InexactSumError,
    InvalidShareError,
    ReportInput,
    Transition,
    VerificationError,
)
from panprivacy.protocols.prio3.reference_verifier import HELPER, LEADER, ReferenceVerifier
from tests.panprivacy.protocols.encrypted_shares.conftest import CONTEXT, VERIFY_KEY
from tests.refusals import field_refused

BITS = (1, 0, 1)
LENGTH = len(BITS)
HUGE = 2**63 + 12345


def nonce_of(number):
    return bytes([number]) * 16


@functools.cache
def honest(servers, number, bits=BITS):
    key, source = servers.unbound.bound_to(nonce_of(number)), random.Random(number)
    return servers.sent([key.encrypt(bit, source) for bit in bits], nonce_of(number))


def sealed(servers, shares, source):
    """A sharing with these two input shares, whatever they are."""
    leader, helper = shares
    return SharedCiphertext(
        servers.key.leader.encrypt_bytes(leader, source), servers.key.helper.encrypt_bytes(helper, source)
    )


def with_coordinate(servers, report, index, sharing):
    """The report with another sharing in one place."""

    def with_part(whole, part):
        return whole[: index * len(part)] + part + whole[(index + 1) * len(part) :]

    leader, helper = servers.unbound.split(bytes(sharing))
    return replace(report, leader=with_part(report.leader, leader), helper=with_part(report.helper, helper))


# What a dishonest device may put in the place of a sharing; each takes servers, nonce and a random source.


def cheat_with_a_proof_of(value):
    """The best proof there is for something that is not a bit."""

    def cheat(servers, nonce, source):
        shares = VDAF.shard_encoded(CONTEXT + nonce, [value], nonce, source.randbytes(VDAF.rand_size))[1]
        return sealed(servers, shares, source)

    return cheat


def cheat_that_adds(summand):
    """The sharing of a bit with its honest proof, and something added to one share."""

    def cheat(servers, nonce, source):
        leader, helper = VDAF.shard(CONTEXT + nonce, 1, nonce, source.randbytes(VDAF.rand_size))[1]
        share = FIELD64.decode(leader[:8], 1, "share")[0]
        changed = FIELD64.encode([(share + summand) % FIELD64.modulus])
        return sealed(servers, (changed + leader[8:], helper), source)

    return cheat


def cheat_with_two_sharings(servers, nonce, source):
    """The leader's part of one, the helper's part of another, both of 1."""
    key = servers.unbound.bound_to(nonce)
    return SharedCiphertext(key.encrypt(1, source).leader, key.encrypt(1, source).helper)


def cheat_with_a_stolen_sharing(servers, nonce, source):
    """An honest sharing that is bound to another report."""
    return servers.unbound.bound_to(bytes(reversed(nonce[:-1] + b"\x99"))).encrypt(1, source)


def integers(servers, nonce, source):
    """Encryptions of the integer 1, as a single server would take them."""
    leader, helper = servers.key.leader, servers.key.helper
    return SharedCiphertext(
        [leader.encrypt(1, source) for _ in range(leader.byte_ciphertexts(48))],
        [helper.encrypt(1, source) for _ in range(helper.byte_ciphertexts(32))],
    )


def no_field_element(servers, nonce, source):
    shares = VDAF.shard(CONTEXT + nonce, 1, nonce, source.randbytes(VDAF.rand_size))[1]
    return sealed(servers, (b"\xff" * 8 + shares[0][8:], shares[1]), source)


INVALID = {"integers": integers, "no-field-element": no_field_element}
UNVERIFIABLE = {
    **{f"proof-of-{value}": cheat_with_a_proof_of(value) for value in (2, HUGE, -1)},
    **{f"adds-{value}": cheat_that_adds(value) for value in (1, HUGE, -2)},
    "two-sharings": cheat_with_two_sharings,
    "stolen": cheat_with_a_stolen_sharing,
}
CHEATS = UNVERIFIABLE | INVALID


@pytest.mark.parametrize("name", CHEATS)
def test_report_with_one_bad_coordinate_is_rejected_alone(servers, name):
    index, source = list(CHEATS).index(name) % LENGTH, random.Random(name)
    sharing = CHEATS[name](servers, nonce_of(1), source)
    bad = with_coordinate(servers, honest(servers, 1), index, sharing)
    reports = [honest(servers, 0), bad, honest(servers, 2)]
    outcomes = servers.out_shares(reports, LENGTH)
    assert isinstance(outcomes[0], tuple)
    assert isinstance(outcomes[1], VerificationError if name in UNVERIFIABLE else InvalidShareError)
    assert isinstance(outcomes[2], tuple)
    assert servers.sum(outcomes, LENGTH) == tuple(2 * bit for bit in BITS)


@settings(
    max_examples=8,
    suppress_health_check=[HealthCheck.differing_executors, HealthCheck.function_scoped_fixture],
)
@given(choices=st.lists(st.sampled_from([None, *CHEATS]), max_size=6), data=st.data())
def test_any_mixture_of_reports_counts_the_honest_ones_only(servers_of, choices, data):
    servers = servers_of("elgamal-secp256k1")
    reports = []
    for number, name in enumerate(choices):
        report = honest(servers, number)
        if name is not None:
            index = data.draw(st.integers(0, LENGTH - 1))
            sharing = CHEATS[name](servers, nonce_of(number), random.Random(number))
            report = with_coordinate(servers, report, index, sharing)
        reports.append(report)
    outcomes = servers.out_shares(reports, LENGTH)
    assert [isinstance(one, tuple) for one in outcomes] == [name is None for name in choices]
    assert servers.sum(outcomes, LENGTH) == tuple(choices.count(None) * bit for bit in BITS)


def bad_parts(part):
    """Encodings that are no ciphertexts, of the right length and of others."""
    return [b"", part[:-1], part + b"\0", part[: len(part) // 2], bytes(len(part)), b"\xff" * len(part)]


def inputs_of(server, *reports):
    return [ReportInput(report.nonce, b"", getattr(report, server)) for report in reports]


def require_only_first_rejected(outcomes, accepted=Transition):
    assert isinstance(outcomes[0], InvalidShareError)
    assert isinstance(outcomes[1], accepted)


def test_bad_parts_messages_or_nonces_reject_only_their_report(servers):
    leader, helper = servers.verifiers(LENGTH)
    reports = [honest(servers, 0), honest(servers, 1)]
    bad, good = reports
    prepared = leader.leader_init(inputs_of("leader", *reports))
    messages = [one.outbound for one in prepared]
    for part in bad_parts(bad.leader):
        require_only_first_rejected(leader.leader_init(inputs_of("leader", replace(bad, leader=part), good)))
    for part in bad_parts(bad.helper):
        inputs = inputs_of("helper", replace(bad, helper=part), good)
        require_only_first_rejected(helper.helper_init(inputs, messages))
    for nonce, public_share in ((bad.nonce, b"\0"), (bad.nonce[:-1], b"")):
        first = ReportInput(nonce, public_share, bad.leader)
        require_only_first_rejected(leader.leader_init([first, *inputs_of("leader", good)]))
        first = ReportInput(nonce, public_share, bad.helper)
        require_only_first_rejected(helper.helper_init([first, *inputs_of("helper", good)], messages))
    for message in (
        b"",
        b"\x00",
        ping_pong.encode_finish(bytes(32 * LENGTH)),
        ping_pong.encode_initialize(bytes(32 * LENGTH - 1)),
        ping_pong.encode_initialize(bytes(32 * LENGTH + 32)),
        ping_pong.encode_initialize(b"\xff" * 32 * LENGTH),
        ping_pong.encode_initialize(bytes(32 * LENGTH)) + b"\0",
    ):
        outcomes = helper.helper_init(inputs_of("helper", *reports), [message, messages[1]])
        require_only_first_rejected(outcomes)
    state, finish = prepared[0].state, ping_pong.encode_finish(b"")
    for wrong_state, message in (
        (state, b""),
        (state, ping_pong.encode_initialize(b"")),
        (state, ping_pong.encode_finish(b"\0")),
        (state, finish + b"\0"),
        (state[:-1], finish),
        (state + bytes(8), finish),
    ):
        outcomes = leader.leader_finish([wrong_state, state], [message, finish])
        require_only_first_rejected(outcomes, bytes)
        assert len(outcomes[1]) == leader.out_share_bytes == 8 * LENGTH


def test_messages_and_shares_are_those_of_prio3_count_of_each_coordinate(servers):
    report = honest(servers, 4)
    context = CONTEXT + report.nonce
    count = ReferenceVerifier(VDAF, VERIFY_KEY, context)
    leader, helper = servers.verifiers(LENGTH)

    def shares(key, part, side):
        size = len(part) // LENGTH
        opened = [open_part(key, part[at : at + size], side) for at in range(0, len(part), size)]
        return [ReportInput(report.nonce, b"", share) for share in opened]

    firsts = count.leader_init(shares(servers.leader, report.leader, LEADER))
    helper_shares = shares(servers.helper, report.helper, HELPER)
    seconds = count.helper_init(helper_shares, [one.outbound for one in firsts])
    (ours,) = leader.leader_init(inputs_of("leader", report))
    verifier_share = b"".join(ping_pong.decode_initialize(one.outbound) for one in firsts)
    assert ping_pong.decode_initialize(ours.outbound) == verifier_share
    assert ours.state == b"".join(one.state for one in firsts)
    (theirs,) = helper.helper_init(inputs_of("helper", report), [ours.outbound])
    assert ping_pong.decode_finish(theirs.outbound) == b""
    assert theirs.out_share == b"".join(one.out_share for one in seconds)


def test_verifiers_with_different_verification_keys_reject(servers):
    leader, _ = servers.verifiers(LENGTH)
    _, helper = servers.verifiers(LENGTH, verify_key=bytes(32))
    report = honest(servers, 0)
    (prepared,) = leader.leader_init(inputs_of("leader", report))
    (outcome,) = helper.helper_init(inputs_of("helper", report), [prepared.outbound])
    assert isinstance(outcome, VerificationError)


def test_empty_batch_gives_nothing_and_an_aggregate_of_zeros(servers):
    leader, helper = servers.verifiers(LENGTH)
    assert leader.leader_init([]) == helper.helper_init([], []) == leader.leader_finish([], []) == []
    assert leader.aggregate([]) == bytes(8 * LENGTH)
    assert leader.unshard(leader.aggregate([]), helper.aggregate([]), 0) == (0, 0, 0)


def test_aggregate_of_a_share_that_does_not_decode_raises(servers):
    leader, _ = servers.verifiers(LENGTH)
    modulus = FIELD64.modulus.to_bytes(8, "little")
    for wrong in (b"", bytes(8 * LENGTH - 1), bytes(8 * LENGTH + 8), modulus * LENGTH):
        with pytest.raises(InvalidShareError):
            leader.aggregate([bytes(8 * LENGTH), wrong])
        with pytest.raises(InvalidShareError):
            leader.unshard(bytes(8 * LENGTH), wrong, 1)


def test_unshard_of_more_reports_than_the_field_can_count_is_refused(servers):
    leader, _ = servers.verifiers(LENGTH)
    zero = leader.aggregate([])
    assert leader.unshard(zero, zero, FIELD64.modulus - 1) == (0, 0, 0)
    with pytest.raises(InexactSumError):
        leader.unshard(zero, zero, FIELD64.modulus)


def test_steps_of_the_other_aggregator_and_unequal_batches_are_refused(servers):
    leader, helper = servers.verifiers(LENGTH)
    for step in (
        lambda: leader.helper_init([], []),
        lambda: helper.leader_init([]),
        lambda: helper.leader_finish([], []),
    ):
        with pytest.raises(ValueError, match="other aggregator"):
            step()
    for step in (lambda: leader.leader_finish([], [b""]), lambda: helper.helper_init([], [b""])):
        with pytest.raises(FieldError):
            step()


@pytest.mark.parametrize(
    ("field", "arguments"),
    [
        ("length", (0, LEADER, VERIFY_KEY)),
        ("side", (1, 2, VERIFY_KEY)),
        ("verify_key", (1, HELPER, VERIFY_KEY[1:])),
    ],
)
def test_verifier_with_an_argument_out_of_range_raises(servers, field, arguments):
    length, side, verify_key = arguments
    with field_refused(field):
        PanPrivateVerifier(length, servers.leader, side, verify_key, CONTEXT)
