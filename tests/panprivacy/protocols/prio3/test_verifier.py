"""The verifier of batches: the contract, and that it does what the definition does, byte for byte."""

import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panprivacy.protocols.prio3 import verifier as fast
from panprivacy.protocols.prio3.batch_xof import WORTH_A_BATCH
from panprivacy.protocols.prio3.interface import ReportInput, Transition
from panprivacy.protocols.prio3.reference_verifier import ReferenceVerifier
from panprivacy.protocols.prio3.verifier import Prio3Verifier
from tests.panprivacy.protocols.prio3.contract import CHEATS, VerifierContract
from tests.panprivacy.protocols.prio3.variants import (
    CONTEXT,
    VARIANTS,
    VERIFY_KEY,
    Sharded,
    cheating_report_of,
    misleading_report_of,
    report_of,
)

some = settings(max_examples=8)


class TestPrio3Verifier(VerifierContract):
    verifier_class = Prio3Verifier


def verifiers(name: str) -> tuple[ReferenceVerifier, Prio3Verifier]:
    vdaf = VARIANTS[name][0]
    return ReferenceVerifier(vdaf, VERIFY_KEY, CONTEXT), Prio3Verifier(vdaf, VERIFY_KEY, CONTEXT)


def plain(outcomes: list[Any]) -> list[Any]:
    """Outcomes that compare by what they say; two errors of one text are not equal."""
    return [
        outcome if isinstance(outcome, Transition | bytes) else (type(outcome), str(outcome))
        for outcome in outcomes
    ]


def damaged(report: ReportInput, generator: random.Random) -> ReportInput:
    """One random change: a bit, many bits, a length, a number that is no element."""
    part = generator.choice(["nonce", "public_share", "input_share"])
    content = bytearray(getattr(report, part))
    match generator.randrange(5):
        case 0:
            content = content[: generator.randint(0, len(content))]
        case 1:
            content += generator.randbytes(generator.randint(1, 40))
        case 2 if content:
            at = generator.randrange(len(content))
            content[at : at + 16] = b"\xff" * len(content[at : at + 16])
        case 3:
            content = bytearray(generator.randbytes(len(content)))
        case _ if content:
            content[generator.randrange(len(content))] ^= 1 << generator.randrange(8)
    return replace(report, **{part: bytes(content)})


def assert_equal_to_the_end(name: str, reports: list[Sharded], generator: random.Random) -> None:
    """Both verifiers say the same of reports, of the messages of which some are damaged on the way."""
    reference, batch = verifiers(name)
    leader_inputs = [report.leader for report in reports]
    leader = reference.leader_init(leader_inputs)
    assert plain(batch.leader_init(leader_inputs)) == plain(leader)

    messages = [p.outbound if isinstance(p, Transition) else generator.randbytes(37) for p in leader]
    if messages and generator.random() < 0.5:
        at = generator.randrange(len(messages))
        messages[at] = damaged(ReportInput(b"", b"", messages[at]), generator).input_share
    helper_inputs = [report.helper for report in reports]
    helper = reference.helper_init(helper_inputs, messages)
    assert plain(batch.helper_init(helper_inputs, messages)) == plain(helper)

    states = [p.state if isinstance(p, Transition) else b"" for p in leader]
    answers = [p.outbound if isinstance(p, Transition) else b"" for p in helper]
    finished = reference.leader_finish(states, answers)
    assert plain(batch.leader_finish(states, answers)) == plain(finished)

    shares = [share for share in finished if isinstance(share, bytes)]
    assert batch.aggregate(shares) == reference.aggregate(shares)


def some_reports(name: str, count: int, generator: random.Random) -> list[Sharded]:
    vdaf, draw = VARIANTS[name]
    cheats = [encoded for of, encoded in CHEATS.values() if of == name]
    reports = []
    for _ in range(count):
        report = report_of(vdaf, draw(generator), generator)
        if cheats and generator.random() < 0.2:
            report = cheating_report_of(vdaf, generator.choice(cheats), generator)
        if name == "sumvec of bits" and generator.random() < 0.2:
            report = misleading_report_of(vdaf, generator)
        if generator.random() < 0.2:
            report = replace(report, leader=damaged(report.leader, generator))
        if generator.random() < 0.2:
            report = replace(report, helper=damaged(report.helper, generator))
        reports.append(report)
    return reports


# The others by the test that follows.
@pytest.mark.parametrize(
    "name", [n for n in VARIANTS if n not in ("sum of large", "histogram of many chunks")]
)
@some
@given(count=st.integers(0, 6), seed=st.integers(0, 2**64))
def test_verification_of_any_small_batch_equals_the_definition(name, count, seed):
    generator = random.Random(seed)
    assert_equal_to_the_end(name, some_reports(name, count, generator), generator)


@pytest.mark.parametrize("name", VARIANTS)
def test_verification_of_a_batch_that_numpy_hashes_equals_the_definition(name):
    generator = random.Random(7)
    assert_equal_to_the_end(name, some_reports(name, WORTH_A_BATCH + 5, generator), generator)


@pytest.mark.parametrize("limit", ["BATCH_REPORTS", "BATCH_ELEMENTS"])
@pytest.mark.parametrize("name", ["count", "histogram"])
def test_verification_of_a_batch_cut_into_blocks_equals_the_definition(name, limit, monkeypatch):
    monkeypatch.setattr(fast, limit, 4)  # of elements not even one report's: these go one by one
    generator = random.Random(8)
    assert_equal_to_the_end(name, some_reports(name, 13, generator), generator)


@pytest.mark.parametrize("count", [5, 130])
def test_verification_under_contexts_of_the_nonces_equals_the_definition(count):
    generator = random.Random(9)
    vdaf = VARIANTS["histogram"][0]
    nonces = [generator.randbytes(16) for _ in range(count // 2)]
    reports = [report_of(vdaf, 3, generator, CONTEXT + nonce, nonce) for nonce in nonces * 2]
    outcomes = []
    for verifier_class in (ReferenceVerifier, Prio3Verifier):
        verifier = verifier_class(vdaf, VERIFY_KEY, b"not used", context_of=lambda nonce: CONTEXT + nonce)
        leader = verifier.leader_init([report.leader for report in reports])
        messages = [prepared.outbound for prepared in leader]
        outcomes.append((leader, verifier.helper_init([report.helper for report in reports], messages)))
    assert outcomes[0] == outcomes[1]
    assert all(isinstance(prepared, Transition) for prepared in outcomes[0][1])


@pytest.mark.parametrize("name", ["count", "sumvec"])
def test_aggregation_of_thousands_of_extreme_shares_equals_the_definition(name):
    reference, batch = verifiers(name)
    field = VARIANTS[name][0].field
    length = VARIANTS[name][0].circuit.output_length
    shares = [field.encode([field.modulus - 1 - i % 2] * length) for i in range(2500)]
    assert batch.aggregate(shares) == reference.aggregate(shares)
