"""Regular questions as mechanisms: the contract, the coin, the estimate, and the derived numbers."""

import json
import math
import random
import re
from collections import Counter
from dataclasses import replace
from decimal import Decimal, localcontext
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

from panprivacy.accounting.guarantees import Model, Relation
from panprivacy.encryption.elgamal import ElGamalPrivateKey
from panprivacy.statistics.catalogue import statistic_class, statistic_of
from panprivacy.statistics.events.dummies import Dummies
from panprivacy.statistics.events.interface import Mechanism
from panprivacy.statistics.events.one_hot import BUCKET, VECTOR, better_coin
from panprivacy.statistics.events.randomized_response import RandomizedResponse, bits_standard_error
from panprivacy.statistics.events.vector_coin import VectorCoin
from panprivacy.statistics.interface import InvalidReportError
from panprivacy.statistics.intervals.randomized_bits import RandomizedBits, ends
from tests.panprivacy.statistics.events.contract import (
    STREAMS,
    CiphertextContract,
    MechanismContract,
    decrypted,
    full,
    run,
)
from tests.panprivacy.statistics.events.transparent import (
    FreshTransparentPublicKey,
    TransparentPrivateKey,
)
from tests.refusals import field_refused

ASKED = {
    "funnel": {"events": ["a", "b"], "steps": 4},
    "retention": {"event": "a", "period_steps": 2, "periods": 2},
    "time_to_first": {"event": "a", "within": [1, 3], "steps": 4},
    "longest_streak": {"event": "a", "longest": 2, "steps": 4},
    "both": {"events": ["a", "b"], "steps": 4},
    "automaton": {
        "events": ["a"],
        "states": 2,
        "start": 0,
        "on": {"a": {"0": 1}},
        "cells": {"no": [0], "yes": [1]},
        "steps": 4,
    },
}


KEY = ElGamalPrivateKey.generate(random.Random(1))


def asked(statistic: str = "funnel", **changes):
    members = {"epsilon": 1.0, "delta": 1e-6, "cohort_size": 100, **ASKED[statistic], **changes}
    found = statistic_class(statistic)
    return found(found.parameters_class.from_mapping(members))


class RegularCiphertexts(CiphertextContract):
    """The contract, where a count is a state of the automaton."""

    @pytest.mark.parametrize("stream", [(), *STREAMS])
    def test_steps_of_a_stream_lead_to_the_state_of_its_count(self, mechanism, private_key, source, stream):
        eager = run(mechanism, private_key.public_key, stream, source)
        state = mechanism.question.automaton.last_state(dict(enumerate(stream, start=1)), len(stream))
        lazy = mechanism.state_of_count(private_key.public_key, state, len(stream), source)
        assert decrypted(private_key, eager) == decrypted(private_key, lazy)

    @pytest.mark.parametrize("stream", STREAMS)
    def test_report_eager_or_lazy_is_accepted_by_the_server(self, mechanism, private_key, source, stream):
        public_key = private_key.public_key
        state = run(mechanism, public_key, full(mechanism, stream), source)
        outcome = mechanism.outcome(dict(enumerate(stream, start=1)))
        for report in (
            mechanism.report(public_key, state, source),
            mechanism.report_of_count(public_key, outcome, source),
        ):
            assert len(report) == mechanism.report_ciphertexts
            assert not {bytes(c) for c in report} & {bytes(c) for c in state}
            received = [public_key.parse(bytes(c)) for c in report]
            values = [private_key.decrypt(c, mechanism.allowed_values) for c in received]
            assert len(mechanism.contribution(values)) == mechanism.contribution_length

    def test_impossible_step_or_count_is_refused(self, mechanism, private_key, source):
        public_key = private_key.public_key
        state = mechanism.start(public_key, source)
        for step in (0, -1, 10**6):
            with pytest.raises(ValueError, match="step must lie in"):
                mechanism.step(public_key, state, True, step, source)
        for count, step in ((-1, 2), (10**6, 2), (0, 10**6)):
            with pytest.raises(ValueError, match="impossible"):
                mechanism.state_of_count(public_key, count, step, source)
        for count in (-1, 10**6):
            with pytest.raises(ValueError, match="impossible"):
                mechanism.report_of_count(public_key, count, source)


class TestRegularOnElGamal(RegularCiphertexts):
    @pytest.fixture
    def private_key(self):
        return KEY

    @pytest.fixture(params=ASKED)
    def mechanism(self, request):
        return asked(request.param)


class TestRegular(RegularCiphertexts, MechanismContract):
    @pytest.fixture
    def private_key(self):
        return TransparentPrivateKey(FreshTransparentPublicKey())

    @pytest.fixture(
        params=[
            *((statistic, {}) for statistic in ASKED),
            ("funnel", {"coin": "bucket"}),
            ("both", {"sampling_rate": 0.25, "cohort_size": 10}),
            ("both", {"coin": "bucket", "sampling_rate": 0.25, "cohort_size": 10}),
        ],
        ids=lambda param: "-".join([param[0], *map(str, param[1].values())]),
    )
    def mechanism(self, request):
        statistic, changes = request.param
        return asked(statistic, **changes)

    def counted(self, count, devices):
        return {min(count, 1): devices}

    def test_expected_standard_error_covers_that_of_an_estimate_in_the_middle(self, mechanism):
        population = 10_000
        reports = round(population * mechanism.parameters.sampling_rate)
        cells = mechanism.contribution_length
        total = [reports // cells] * (cells - 1) + [reports - reports // cells * (cells - 1)]
        estimate = mechanism.estimate(total, reports)
        assert max(estimate.standard_errors) <= mechanism.expected_standard_error(population) * (1 + 1e-9)

    def test_local_guarantee_under_replacement_is_the_stated_epsilon(self, mechanism):
        (local,) = (
            g.epsilon
            for g in mechanism.guarantees()
            if (g.model, g.relation) == (Model.LOCAL, Relation.REPLACE)
        )
        assert local == mechanism.parameters.epsilon


@pytest.mark.parametrize("statistic", ASKED)
def test_segments_have_a_coin_for_each_cell(statistic):
    """At ε/2 = 10 a cell flips with probability 4.5e-5: three of 32 with less than 1e-9."""
    whole = asked(statistic, epsilon=20.0)
    divided = statistic_of(statistic, asked(statistic, epsilon=20.0, coin=BUCKET).parameters, ("x", "y"))
    assert isinstance(divided, Mechanism)
    assert divided.parameters.coin == BUCKET
    cells = len(whole.labels)
    for state in range(whole.state_ciphertexts):
        mine = divided.segmentation.on_device("y")
        bits = decrypted(KEY, mine.report_of_count(KEY.public_key, state, random.Random(state)))
        expected = [0] * cells + [int(place == whole.question.cells[state]) for place in range(cells)]
        assert sum(one != other for one, other in zip(bits, expected, strict=True)) <= 2
    with field_refused("coin"):
        statistic_of(statistic, asked(statistic, coin=VECTOR).parameters, ("x", "y"))


def test_epsilon_too_small_for_a_coin_of_each_cell_is_refused_at_once():
    asked("funnel", epsilon=2e-6, coin=BUCKET).guarantees()
    asked("funnel", epsilon=1e-6, coin=VECTOR)
    with field_refused("epsilon"):
        asked("funnel", epsilon=1.9e-6, coin=BUCKET)


def test_local_loss_of_the_vector_is_rounded_up():
    """Against exact rational arithmetic of the same e^ε."""
    for epsilon in (1e-6, 0.1, 2.0, 20.0):
        mechanism = asked("funnel", epsilon=epsilon, coin=VECTOR)
        k = mechanism.contribution_length
        with localcontext(prec=60):
            grown = Decimal(epsilon).exp()
            exact = max((k * grown / (grown + k - 1)).ln(), ((grown + k - 1) / k).ln())
            (stated,) = (g.epsilon for g in mechanism.local_guarantees() if g.relation == Relation.ADD_REMOVE)
            assert exact <= Decimal(stated) <= exact * (1 + Decimal("1e-9")), epsilon


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 2.0, 20.0])
@pytest.mark.parametrize("cells", [2, 3, 7, 32])
def test_vector_coin_loses_at_most_epsilon_and_is_unbiased(epsilon, cells):
    bit = VectorCoin(epsilon, cells).sum_of(1)
    assert -1e-12 <= epsilon - math.log(bit.present / bit.absent) <= 1e-9 * max(1, epsilon)
    assert bit.present + (cells - 1) * bit.absent == pytest.approx(1)
    assert bit.debiased(1, 1) * bit.present + bit.debiased(0, 1) * (1 - bit.present) == pytest.approx(1)
    assert bit.debiased(1, 1) * bit.absent + bit.debiased(0, 1) * (1 - bit.absent) == pytest.approx(
        0, abs=1e-9
    )


def test_vector_coin_keeps_and_draws_as_often_as_stated():
    """Each of 3 counts of 40,000 lies within 5.3 standard deviations: it misses with 3 · 1.2e-7."""
    coin, source, number = VectorCoin(2.0, 3), random.Random(1), 40_000
    drawn = Counter(coin.respond(1, source) for _ in range(number))
    bit = coin.sum_of(1)
    for place, chance in ((0, bit.absent), (1, bit.present), (2, bit.absent)):
        assert abs(drawn[place] - number * chance) <= 5.3 * math.sqrt(number * chance * (1 - chance))


def test_encrypted_response_is_distributed_as_the_one_in_the_clear():
    """2,000 reports of each kind; each cell within 5.5 standard deviations: 6 · 3.8e-8."""
    mechanism, source = asked("funnel", epsilon=2.0), random.Random(3)
    key = TransparentPrivateKey(FreshTransparentPublicKey())
    number, state = 2_000, mechanism.question.automaton.vector_of(key.public_key, 1, source)
    bit = VectorCoin(2.0, 3).sum_of(1)
    for made in (
        lambda: mechanism.report(key.public_key, state, source),
        lambda: mechanism.report_of_count(key.public_key, 1, source),
    ):
        found = np.sum([decrypted(key, made()) for _ in range(number)], axis=0)
        for place, chance in enumerate((bit.absent, bit.present, bit.absent)):
            assert abs(found[place] - number * chance) <= 5.5 * math.sqrt(number * chance * (1 - chance))


@pytest.mark.parametrize("coin", [VECTOR, BUCKET])
def test_report_costs_the_same_whatever_the_state_and_the_coin(coin):
    mechanism, source, counted = asked("funnel", coin=coin), random.Random(5), set()
    for state in range(3):
        for _ in range(20):
            key = FreshTransparentPublicKey()
            vector = mechanism.question.automaton.vector_of(key, state, source)
            key.operations.clear()
            report = mechanism.report(key, vector, source)
            counted.add(tuple(sorted(key.operations.items())))
            assert {c.history for c in report} == {(0, ())}
    assert len(counted) == 1


def test_report_that_is_not_one_hot_is_refused():
    mechanism = asked("funnel", coin=VECTOR)
    for values in ([0, 0, 0], [1, 1, 0]):
        with pytest.raises(InvalidReportError) as refused:
            mechanism.contribution(values)
        assert refused.value.reason == "not_one_hot"
    assert asked("funnel", coin=BUCKET).contribution([1, 1, 0]) == (1, 1, 0)


@pytest.mark.parametrize(("cells", "coin"), [(2, VECTOR), (6, VECTOR), (7, BUCKET), (16, BUCKET)])
def test_better_coin_is_the_vector_for_few_cells(cells, coin):
    assert better_coin(2.0, cells) == coin


@pytest.mark.parametrize(
    ("cells", "none", "half", "all_of_them"),
    [(2, 0.43, 0.43, 0.43), (4, 0.48, 0.62, 0.74), (6, 0.53, 0.77, 0.95), (16, 0.72, 1.27, 1.65)],
)
def test_standard_errors_per_report_are_those_of_the_design(cells, none, half, all_of_them):
    bit = VectorCoin(2.0, cells).sum_of(1)
    errors = [bits_standard_error(bit, share, 1, 1.0) for share in (0.0, 0.5, 1.0)]
    assert [round(error, 2) for error in errors] == [none, half, all_of_them]
    assert round(bits_standard_error(RandomizedResponse(1.0), 0.5, 1, 1.0), 2) == 0.96


def test_dummies_lie_in_a_cell_of_their_own():
    """Of 3,000 reports, a third are dummies; cells within 5.5 standard deviations: 3 · 3.8e-8."""
    mechanism = asked("funnel", epsilon=8.0, sampling_rate=0.5, coin=VECTOR).with_dummies(
        Dummies(epsilon=1.0, delta=1e-6, population_size=1_000, dummy_rate=0.5)
    )
    key, source = TransparentPrivateKey(FreshTransparentPublicKey()), random.Random(7)
    state = mechanism.question.automaton.vector_of(key.public_key, 2, source)
    reports = [mechanism.report(key.public_key, state, source) for _ in range(3_000)]
    total = np.sum([mechanism.contribution(decrypted(key, report)) for report in reports], axis=0)
    assert len(total) == 4
    counts = 0.5 / mechanism.reporting_rate
    estimate = mechanism.estimate(total.tolist(), 3_000)
    assert estimate.values[2] == pytest.approx(3_000 * counts / 0.5, abs=5.5 * math.sqrt(750) / 0.5)
    assert estimate.values[0] == pytest.approx(0, abs=60)


def test_real_ciphertexts_of_a_device_are_estimated_right():
    key = ElGamalPrivateKey.generate(random.Random(1))
    mechanism, source = asked("funnel", epsilon=20.0), random.Random(2)
    public_key = key.public_key.with_tables()
    state = mechanism.start(public_key, source)
    for step, happened in enumerate((0b10, 0b01, 0, 0b10), start=1):
        state = mechanism.step(public_key, state, happened, step, source)
    # At ε = 20 the coin draws with less than 1e-8.
    assert decrypted(key, mechanism.report(public_key, state, source)) == [0, 0, 1]


def derived(mechanism, cells, reports):
    bit, coins = mechanism._sum_of(1)
    total = [round(reports * bit.absent + count * (bit.present - bit.absent)) for count in cells]
    total[-1] += (reports - sum(total)) * (coins == 1 and mechanism.parameters.coin == VECTOR)
    return {one["name"]: one for one in mechanism.estimate(total, reports).details["derived"]}


def test_funnel_derives_conversions_that_hold_the_truth():
    found = derived(asked("funnel", epsilon=2.0), (11_800, 5_740, 2_460), 20_000)
    assert found["reached_1"]["value"] == pytest.approx(0.41, abs=0.002)
    assert found["reached_2_of_1"]["value"] == pytest.approx(0.3, abs=0.002)
    assert found["reached_2"]["value"] == pytest.approx(0.123, abs=0.002)
    for number in found.values():
        assert 0 <= number["low"] < number["value"] < number["high"] <= 1
    assert found["reached_1"]["high"] - found["reached_1"]["low"] < 0.04


def test_retention_in_period_4_is_within_three_points():
    """20,000 devices, half of them there in the first period; ε = 2."""
    mechanism = asked("retention", epsilon=2.0, periods=4, period_steps=7)
    found = derived(mechanism, (10_000, 4_000, 2_000, 1_000, 3_000), 20_000)
    there = found["still_4"]
    assert there["value"] == pytest.approx(0.3, abs=0.003)
    assert there["high"] - there["low"] <= 0.06


def test_time_to_first_derives_the_median():
    mechanism = asked("time_to_first", epsilon=2.0, within=[1, 3], steps=4)
    found = derived(mechanism, (4_000, 12_000, 4_000), 20_000)
    assert [found["median"][name] for name in ("low", "value", "high")] == [1, 3, 3]
    never = derived(mechanism, (1_000, 1_000, 18_000), 20_000)["median"]
    assert [never[name] for name in ("low", "value", "high")] == [3, None, None]


def test_both_derives_difference_and_odds():
    found = derived(asked("both", epsilon=2.0), (8_000, 2_000, 4_000, 6_000), 20_000)
    assert found["1_with_2"]["value"] == pytest.approx(0.6, abs=0.003)
    assert found["1_without_2"]["value"] == pytest.approx(0.2, abs=0.003)
    assert found["1_with_2_difference"]["value"] == pytest.approx(0.4, abs=0.005)
    assert found["1_with_2_odds"]["value"] == pytest.approx(6.0, rel=0.05)
    assert found["1_with_2_difference"]["low"] > 0.3


@pytest.mark.parametrize("statistic", ASKED)
def test_estimate_of_every_extreme_total_has_finite_derived_numbers(statistic):
    mechanism = asked(statistic, cohort_size=2)
    cells = mechanism.contribution_length
    for place in range(cells):
        total = [0] * cells
        total[place] = 2
        estimate = mechanism.estimate(total, 2)
        for number in estimate.details.get("derived", ()):
            for end in (number["value"], number["low"], number["high"]):
                assert end is None or math.isfinite(end)
        assert type(estimate).from_bytes(estimate.to_bytes()).details == estimate.details


def test_parameters_state_the_coin_once_it_is_chosen():
    mechanism = asked("funnel")
    assert mechanism.parameters.coin == VECTOR
    again = type(mechanism)(replace(mechanism.parameters, coin=None))
    assert again.parameters == mechanism.parameters


def held_by(bit, reports, truth):
    """The probability that a 95% interval holds this true number of devices, by all observations."""
    seen = np.arange(reports + 1)
    low, high = ends(RandomizedBits(reports, bit.absent, bit.present), seen.tolist(), 0.05)
    chances = np.convolve(
        binom.pmf(np.arange(truth + 1), truth, bit.present),
        binom.pmf(np.arange(reports - truth + 1), reports - truth, bit.absent),
    )
    return float(chances @ ((low <= truth) & (truth <= high)))


@pytest.mark.parametrize("reports", [30, 400])
@pytest.mark.parametrize("epsilon", [0.3, 2.0, 6.0])
@pytest.mark.parametrize(("cells", "counted"), [(2, 1), (5, 1), (5, 2), (16, 1), (16, 8)])
def test_interval_of_cells_holds_as_often_as_stated(reports, epsilon, cells, counted):
    bit = VectorCoin(epsilon, cells).sum_of(counted)
    for share in (0.0, 0.02, 0.3, 1.0):
        assert held_by(bit, reports, round(share * reports)) >= 0.95


@pytest.mark.parametrize(("rate", "coin"), [(1.0, VECTOR), (0.3, VECTOR), (1.0, BUCKET)])
def test_all_intervals_and_derived_numbers_hold_together(rate, coin):
    """Of 100 collections fewer than 82 with less than 1e-6, if 95% hold."""
    mechanism = asked("both", epsilon=2.0, coin=coin, sampling_rate=rate, cohort_size=20)
    source, truth = np.random.default_rng(11), np.array([500, 200, 100, 200])
    shares = truth / truth.sum()
    bit = mechanism._sum_of(1)[0]
    confusion = np.full((4, 4), bit.absent) + np.eye(4) * (bit.present - bit.absent)
    held = 0
    for _ in range(100):
        devices = source.binomial(truth, rate)
        if coin == VECTOR:
            total = sum(
                source.multinomial(number, row) for number, row in zip(devices, confusion, strict=True)
            )
        else:
            total = source.binomial(devices, bit.present) + source.binomial(
                devices.sum() - devices, bit.absent
            )
        estimate = mechanism.estimate(total.tolist(), int(devices.sum()))
        interval = estimate.intervals[0]
        numbers = {one["name"]: one for one in estimate.details["derived"]}
        exact = {
            "share_1": shares[1] + shares[3],
            "share_2": shares[2] + shares[3],
            "1_with_2": shares[3] / (shares[2] + shares[3]),
            "1_without_2": shares[1] / (shares[0] + shares[1]),
        }
        exact["1_with_2_difference"] = exact["1_with_2"] - exact["1_without_2"]
        held += all(
            low <= true <= high for low, true, high in zip(interval.low, truth, interval.high, strict=True)
        ) and all(numbers[name]["low"] <= true <= numbers[name]["high"] for name, true in exact.items())
    assert held >= 82


def test_both_coins_errors_are_shown():
    # 0.425 against 0.960, and 1.65.
    assert "each value, the largest error would be 2.3 times" in asked("automaton", epsilon=2.0).expected_note
    alike = asked("retention", epsilon=1.0, periods=4, period_steps=7)
    assert "the largest error would be about as large" in alike.expected_note
    chosen = asked("automaton", epsilon=2.0, coin=BUCKET)
    assert "for all values, the largest error would be 0.44 times" in chosen.expected_note
    many = asked("time_to_first", epsilon=2.0, within=list(range(1, 16)), steps=20)
    assert many.parameters.coin == BUCKET
    assert "for all values, the largest error would be 1.7 times" in many.expected_note


def test_automaton_of_the_docs_answers_what_they_say():
    page = (Path(__file__).parents[4] / "docs/regular-questions.md").read_text()
    (example,) = re.findall(r"```json\n(.*?)```", page, re.S)
    members = json.loads(example) | {"epsilon": 2.0, "delta": 1e-6, "cohort_size": 2}
    mechanism = statistic_class(members.pop("statistic"))
    question = mechanism(mechanism.parameters_class.from_mapping(members)).question
    # Bits of a step: 1 is an error, 2 a restart.
    for events, label in (({}, "no error"), ({1: 2}, "no error"), ({1: 1}, "failed"), ({1: 3}, "recovered")):
        last = question.automaton.last_state(events, members["steps"])
        assert question.labels[question.cells[last]] == label, events
