"""What every verifier of Prio3 must do. A verifier's test class inherits `VerifierContract`."""

import random
from dataclasses import replace
from typing import Any, ClassVar

import pytest

from panprivacy.formats.errors import FieldError
from panprivacy.protocols.prio3 import xof
from panprivacy.protocols.prio3.interface import (
    InexactSumError,
    InvalidShareError,
    Transition,
    VerificationError,
    Verifier,
)
from panprivacy.protocols.prio3.prio3 import Prio3Count
from tests.panprivacy.protocols.prio3.variants import (
    CONTEXT,
    VARIANTS,
    VERIFY_KEY,
    Sharded,
    cheating_report_of,
    expected_sum,
    misleading_report_of,
    report_of,
    reports_of,
)

CHEATS = {
    "a count of 2": ("count", [2]),
    "a count of −1": ("count", [-1]),
    "a huge count": ("count", [2**63]),
    "a digit of 2": ("sum", [2] + [0] * 9),
    "an element of 2": ("sumvec of bits", [0] * 10 + [2]),
    "an element of −1": ("sumvec of bits", [-1] + [0] * 10),
    "two buckets": ("histogram", [1, 1] + [0] * 9),
    "no bucket": ("histogram", [0] * 11),
    "buckets that cancel": ("histogram", [2, -1] + [0] * 9),
    "more than the largest weight": ("multihot", [1] * 4 + [0] * 7 + [1, 1]),
    "another weight": ("multihot", [1] * 2 + [0] * 9 + [1, 0]),
    "more than the largest sum": ("l1 bound sum", [1] * 4 + [1, 0, 0, 0] + [0] * 8 + [1] * 4),
    "another sum": ("l1 bound sum", [1] * 4 + [0] * 12 + [0] + [1] * 3),
    "a sum by a digit of 2": ("l1 bound sum", [0, 1] + [0] * 14 + [2, 0, 0, 0]),
    # 10, 0, 0, 0 have squares of 100 around the middle 5; at most 30 are allowed, in digits 1, 2, 4, 8, 15.
    "longer than allowed": ("l2 bound sum", [1] * 4 + [0] * 12 + [1] * 5),
    "another length": ("l2 bound sum", [1, 0, 1, 0] * 4 + [1, 0, 0, 0, 0]),
    "a length by a digit of 2": ("l2 bound sum", [1] * 4 + [0] * 12 + [0, 0, 2, 4, 4]),
    "a negative length": ("l2 bound sum", [1, 0, 1, 0] * 4 + [1, -1, 0, 0, 0]),
    "a digit of 2 at the right length": ("l2 bound sum", [2, 0, 1, 0] + [1, 0, 1, 0] * 3 + [1, 0, 0, 0, 0]),
    "a digit of 2 with several proofs": ("several proofs", [2] + [0] * 7),
}


LARGEST_OUTPUTS = {
    "sum": 1000,
    "sum of large": 2**63 + 5,
    "sumvec": 200,
    "l1 bound sum": 9,
    "l2 bound sum": 10,
    "several proofs": 3,
}
"""The largest number that a measurement may hold, where that is not 1."""


class VerifierContract:
    verifier_class: ClassVar[type[Any]]

    def verifier(self, name: str, **options: Any) -> Verifier:
        return self.verifier_class(VARIANTS[name][0], VERIFY_KEY, CONTEXT, **options)

    def run(
        self, verifier: Verifier, reports: list[Sharded]
    ) -> tuple[list[Transition | Exception], list[Transition | Exception], list[bytes | Exception]]:
        """Leader and helper to the end; a report that the leader refuses goes no further."""
        leader = verifier.leader_init([report.leader for report in reports])
        sent = [(r.helper, p) for r, p in zip(reports, leader, strict=True) if isinstance(p, Transition)]
        helper = verifier.helper_init([report for report, _ in sent], [p.outbound for _, p in sent])
        answered = [
            (p.state, h.outbound) for (_, p), h in zip(sent, helper, strict=True) if isinstance(h, Transition)
        ]
        finished = verifier.leader_finish([state for state, _ in answered], [m for _, m in answered])
        return leader, helper, finished

    # Honest reports -------------------------------------------------------------

    @pytest.mark.parametrize("name", VARIANTS)
    @pytest.mark.parametrize("count", [1, 5])
    def test_verification_of_honest_reports_ends_in_shares_of_their_sum(self, name, count):
        verifier, reports = self.verifier(name), reports_of(name, count)
        _, helper, finished = self.run(verifier, reports)
        leader_share = verifier.aggregate(finished)
        helper_share = verifier.aggregate([prepared.out_share for prepared in helper])
        result = VARIANTS[name][0].unshard([leader_share, helper_share])
        assert result == expected_sum(VARIANTS[name][0], [report.measurement for report in reports])
        if count <= verifier.largest_batch:
            assert verifier.unshard(leader_share, helper_share, count) == result

    @pytest.mark.parametrize("name", VARIANTS)
    def test_sum_of_no_reports_is_0_and_one_that_may_have_wrapped_is_refused(self, name):
        """One report more than fit, each as large as it may be: their sum is no element any more."""
        verifier, vdaf = self.verifier(name), VARIANTS[name][0]
        assert (
            verifier.leader_init([]) == verifier.helper_init([], []) == verifier.leader_finish([], []) == []
        )
        largest = LARGEST_OUTPUTS.get(name, 1)
        assert verifier.largest_batch * largest < vdaf.field.modulus
        assert (verifier.largest_batch + 1) * largest >= vdaf.field.modulus
        zero = verifier.aggregate([])
        assert zero == bytes(verifier.out_share_bytes)
        for reports in (0, verifier.largest_batch):
            assert set(verifier.unshard(zero, zero, reports)) == {0}
        with pytest.raises(InexactSumError):
            verifier.unshard(zero, zero, verifier.largest_batch + 1)

    @pytest.mark.parametrize("name", VARIANTS)
    def test_aggregation_of_aggregates_equals_aggregation_of_all_in_any_order(self, name):
        verifier = self.verifier(name)
        _, helper, _ = self.run(verifier, reports_of(name, 9))
        shares = [prepared.out_share for prepared in helper]
        parts = [verifier.aggregate(iter(shares[4:])), verifier.aggregate(shares[:4])]
        assert verifier.aggregate(parts) == verifier.aggregate(shares) == verifier.aggregate(shares[::-1])
        assert len(parts[0]) == len(shares[0]) == verifier.out_share_bytes

    def test_verification_under_contexts_of_the_nonces_takes_them(self):
        vdaf, generator = VARIANTS["count"][0], random.Random(1)
        nonces = [generator.randbytes(16) for _ in range(3)]
        # As coordinates of one report have it: nonces repeat, and contexts are of different lengths.
        contexts = {nonce: CONTEXT + nonce * i for i, nonce in enumerate(nonces)}
        reports = [
            report_of(vdaf, 1, generator, context=contexts[nonce], nonce=nonce) for nonce in nonces * 2
        ]
        _, helper, finished = self.run(self.verifier("count", context_of=contexts.__getitem__), reports)
        assert all(isinstance(prepared, Transition) for prepared in helper)
        assert len(finished) == 6
        _, helper, _ = self.run(self.verifier("count"), reports)
        assert [type(prepared) for prepared in helper] == [
            Transition,
            VerificationError,
            VerificationError,
        ] * 2

    # Cheats ---------------------------------------------------------------------

    @pytest.mark.parametrize("cheat", CHEATS)
    def test_verification_of_what_is_no_measurement_fails_at_the_helper_alone(self, cheat):
        name, encoded = CHEATS[cheat]
        report = cheating_report_of(VARIANTS[name][0], encoded, random.Random(2))
        honest = reports_of(name, 2)
        leader, helper, finished = self.run(self.verifier(name), [honest[0], report, honest[1]])
        assert all(isinstance(prepared, Transition) for prepared in leader)
        assert [type(prepared) for prepared in helper] == [
            Transition,
            VerificationError,
            Transition,
        ]
        assert all(isinstance(share, bytes) for share in finished)

    @pytest.mark.parametrize("side", ["leader", "helper"])
    @pytest.mark.parametrize("part", ["nonce", "public_share", "input_share"])
    @pytest.mark.parametrize("name", ["count", "histogram"])
    def test_verification_of_shares_changed_on_one_side_is_refused(self, name, side, part):
        report = reports_of(name, 1)[0]
        shares = getattr(report, side)
        if not getattr(shares, part):
            return  # without joint randomness there is no public share to change
        changed = bytearray(getattr(shares, part))
        changed[-1 if side == "leader" else 0] ^= 1  # in a public share: what the other side contributes
        report = replace(report, **{side: replace(shares, **{part: bytes(changed)})})
        leader, helper, _ = self.run(self.verifier(name), [report])
        assert not isinstance((helper or leader)[0], Transition)

    def test_verification_with_a_public_share_changed_for_both_is_refused(self):
        [report] = reports_of("histogram", 1)
        sides = (replace(side, public_share=bytes(64)) for side in (report.leader, report.helper))
        _, helper, _ = self.run(self.verifier("histogram"), [Sharded(report.measurement, *sides)])
        assert isinstance(helper[0], VerificationError)

    @pytest.mark.parametrize("name", ["sumvec of bits", "sumvec of one chunk"])
    def test_verification_the_leader_would_refuse_is_refused_by_the_helper(self, name):
        """What the helper has added up by then, the leader would not: their batch could not be collected."""
        vdaf, generator = VARIANTS[name][0], random.Random(3)
        honest = reports_of(name, 2)
        reports = [honest[0], misleading_report_of(vdaf, generator), honest[1]]
        leader, helper, finished = self.run(self.verifier(name), reports)
        assert all(isinstance(prepared, Transition) for prepared in leader)
        assert [type(prepared) for prepared in helper] == [
            Transition,
            VerificationError,
            Transition,
        ]
        assert "joint randomness" in str(helper[1])
        assert all(isinstance(share, bytes) for share in finished)

    def test_verification_under_another_key_or_context_is_refused(self):
        reports = reports_of("count", 1)
        leader = self.verifier("count").leader_init([reports[0].leader])
        vdaf = VARIANTS["count"][0]
        for other in (
            self.verifier_class(vdaf, bytes(32), CONTEXT),
            self.verifier_class(vdaf, VERIFY_KEY, b"another task"),
        ):
            outcome = other.helper_init([reports[0].helper], [leader[0].outbound])
            assert isinstance(outcome[0], VerificationError)

    def test_leader_finish_with_other_joint_randomness_is_refused(self):
        verifier = self.verifier("histogram")
        leader = verifier.leader_init([reports_of("histogram", 1)[0].leader])
        outcome = verifier.leader_finish([leader[0].state], [b"\x02" + (32).to_bytes(4, "big") + bytes(32)])
        assert isinstance(outcome[0], VerificationError)

    # What does not decode -------------------------------------------------------

    @pytest.mark.parametrize("name", ["count", "sum", "histogram", "several proofs"])
    @pytest.mark.parametrize("part", ["nonce", "public_share", "input_share"])
    @pytest.mark.parametrize("change", [lambda b: b + b"\0", lambda b: b[:-1], lambda b: b""])
    def test_verification_of_wrong_lengths_is_invalid_and_others_stand(self, name, part, change):
        verifier, reports = self.verifier(name), reports_of(name, 3)
        messages = [p.outbound for p in verifier.leader_init([report.leader for report in reports])]
        for side, step in (
            ("leader", verifier.leader_init),
            ("helper", lambda inputs: verifier.helper_init(inputs, messages)),
        ):
            inputs = [getattr(report, side) for report in reports]
            changed = change(getattr(inputs[1], part))
            if changed == getattr(inputs[1], part):
                continue  # what is empty anyway
            inputs[1] = replace(inputs[1], **{part: changed})
            outcomes = step(inputs)
            assert [type(outcome) for outcome in outcomes] == [
                Transition,
                InvalidShareError,
                Transition,
            ]
            assert part.replace("_", " ") in str(outcomes[1])

    @pytest.mark.parametrize("name", ["count", "histogram"])
    def test_verification_of_numbers_that_are_no_elements_is_invalid(self, name):
        vdaf, report = VARIANTS[name][0], reports_of(name, 1)[0]
        verifier, size = self.verifier(name), VARIANTS[name][0].field.encoded_size
        modulus = vdaf.field.modulus.to_bytes(size, "little")
        for at in (0, len(report.leader.input_share) // size * size - size - 32 * vdaf.has_joint_randomness):
            share = report.leader.input_share
            leader = replace(report.leader, input_share=share[:at] + modulus + share[at + size :])
            assert isinstance(verifier.leader_init([leader])[0], InvalidShareError)
        message = verifier.leader_init([report.leader])[0].outbound
        bad = message[:5] + modulus + message[5 + size :]
        assert isinstance(verifier.helper_init([report.helper], [bad])[0], InvalidShareError)

    @pytest.mark.parametrize("name", ["count", "histogram"])
    @pytest.mark.parametrize(
        "change",
        [
            lambda m: b"",
            lambda m: m[:4],
            lambda m: m + b"\0",
            lambda m: m[:-1],
            lambda m: b"\x01" + m[1:],
            lambda m: b"\x03" + m[1:],
            lambda m: m[:4] + bytes([m[4] ^ 1]) + m[5:],
            lambda m: m[:1] + (len(m) - 4).to_bytes(4, "big") + m[5:] + b"\0",
        ],
    )
    def test_message_that_does_not_decode_is_invalid_on_either_side(self, name, change):
        verifier, reports = self.verifier(name), reports_of(name, 3)
        leader, helper, _ = self.run(verifier, reports)
        messages = [prepared.outbound for prepared in leader]
        messages[1] = change(messages[1])
        outcomes = verifier.helper_init([report.helper for report in reports], messages)
        assert [type(outcome) for outcome in outcomes] == [
            Transition,
            InvalidShareError,
            Transition,
        ]
        answers = [prepared.outbound for prepared in helper]
        answers[1] = change(answers[1])
        outcomes = verifier.leader_finish([prepared.state for prepared in leader], answers)
        assert [type(outcome) for outcome in outcomes] == [bytes, InvalidShareError, bytes]

    def test_leader_finish_of_a_cut_state_or_its_own_message_is_invalid(self):
        verifier, reports = self.verifier("histogram"), reports_of("histogram", 1)
        [leader], [helper], _ = self.run(verifier, reports)
        for state, answer in ((leader.state[:-1], helper.outbound), (leader.state, leader.outbound)):
            [outcome] = verifier.leader_finish([state], [answer])
            assert isinstance(outcome, InvalidShareError)

    @pytest.mark.parametrize("name", ["count", "histogram"])
    def test_aggregation_of_a_share_that_does_not_decode_raises(self, name):
        verifier, size = self.verifier(name), VARIANTS[name][0].field.encoded_size
        good = bytes(verifier.out_share_bytes)
        modulus = VARIANTS[name][0].field.modulus.to_bytes(size, "little")
        for bad in (b"", good + b"\0", good[:-1], modulus + good[size:], b"\xff" * len(good)):
            with pytest.raises(InvalidShareError):
                verifier.aggregate([good, bad, good])
            with pytest.raises(InvalidShareError):
                verifier.unshard(good, bad, 1)

    # Arguments ------------------------------------------------------------------

    def test_verifier_of_three_shares_or_with_a_short_key_is_refused(self):
        with pytest.raises(FieldError, match="shares"):
            self.verifier_class(Prio3Count(shares=3), VERIFY_KEY, CONTEXT)
        with pytest.raises(FieldError, match="verify_key"):
            self.verifier_class(Prio3Count(), VERIFY_KEY[:-1], CONTEXT)

    def test_steps_with_more_or_fewer_messages_than_reports_are_refused(self):
        verifier, reports = self.verifier("count"), reports_of("count", 1)
        with pytest.raises(FieldError, match="inbound"):
            verifier.helper_init([reports[0].helper], [])
        with pytest.raises(FieldError, match="inbound"):
            verifier.leader_finish([], [b""])

    @pytest.mark.parametrize(("order", "place", "revealing"), [(1, 0, True), (1, -1, True), (2, 1, False)])
    def test_verification_at_a_root_of_unity_is_refused(self, monkeypatch, order, place, revealing):
        """Of the order of the wires' points. One of twice that order shows nothing."""
        vdaf, verifier, reports = VARIANTS["count"][0], self.verifier("count"), reports_of("count", 3)
        point = vdaf.field.roots(order * vdaf.flp.wire_length)[place]
        messages = [p.outbound for p in verifier.leader_init([report.leader for report in reports])]
        chosen_output(monkeypatch, reports[1].leader.nonce, point.to_bytes(8, "little"))
        middle = VerificationError if revealing else Transition
        outcomes = verifier.leader_init([report.leader for report in reports])
        assert [type(outcome) for outcome in outcomes] == [Transition, middle, Transition]
        assert ("root of unity" in str(outcomes[1])) is revealing
        if revealing:
            outcomes = verifier.helper_init([report.helper for report in reports], messages)
            assert [type(outcome) for outcome in outcomes] == [
                Transition,
                VerificationError,
                Transition,
            ]

    def test_output_of_the_xof_that_is_no_element_is_left_out(self, monkeypatch):
        """Both sides skip it, so that they go on to the same test point, and the report verifies."""
        verifier, reports = self.verifier("count"), reports_of("count", 3)
        plain = verifier.leader_init([report.leader for report in reports])
        too_large = VARIANTS["count"][0].field.modulus.to_bytes(8, "little")
        chosen_output(monkeypatch, reports[1].leader.nonce, too_large + (12345).to_bytes(8, "little"))
        leader, _, finished = self.run(verifier, reports)
        assert [share for share in finished if isinstance(share, bytes)] == finished
        assert len(finished) == 3
        assert [one == other for one, other in zip(leader, plain, strict=True)] == [True, False, True]


def chosen_output(monkeypatch: pytest.MonkeyPatch, ending: bytes, output: bytes) -> None:
    """Let the extendable output function begin with `output` for messages with this ending."""
    real = xof.TurboSHAKE128.new

    class Chosen:
        def __init__(self) -> None:
            self.rest = output + b"\x01" * 4096

        def read(self, length: int) -> bytes:
            taken, self.rest = self.rest[:length], self.rest[length:]
            return taken

    class Replaced:
        @staticmethod
        def new(*, domain: int, data: bytes) -> Any:
            return Chosen() if data.endswith(ending) else real(domain=domain, data=data)

    monkeypatch.setattr(xof, "TurboSHAKE128", Replaced)
