"""Categories: what devices send, weighed against exact fractions, and what dishonest ones can do."""

import itertools
import operator
import random
from dataclasses import replace
from fractions import Fraction
from functools import cache
from math import comb

import pytest

from panprivacy.accounting.guarantees import Model, Relation
from panprivacy.formats.errors import FieldError
from panprivacy.protocols.dap.vdafs import prio3_with
from panprivacy.statistics.events.randomized_response import RandomizedResponse
from panprivacy.statistics.interface import InvalidReportError
from panprivacy.statistics.randomized.categories import (
    SLACK_SHARE,
    Categories,
    CategoriesParameters,
    CategorySizeBounds,
    WeightLaw,
)
from tests.panprivacy.statistics.intervals.left_out import leave_out_intervals
from tests.panprivacy.statistics.randomized.contract import OneHotContract


def categories(**changes):
    members = {"k": 6, "epsilon": 1.5, "delta": 1e-6, "cohort_size": 100} | changes
    return Categories(CategoriesParameters(**members).calibrated())


class TestContract(OneHotContract):
    @pytest.fixture(
        params=[{}, {"sampling_rate": 0.5, "cohort_size": 40}, {"k": 40, "epsilon": 4.0}], ids=str
    )
    def randomizer(self, request):
        return categories(**request.param)


@cache
def ways(flipped, sides, trials):
    """Of all sides**trials outcomes, how many have at most 0, 1, … flips."""
    flips, others = (
        list(itertools.accumulate(itertools.repeat(base, trials), operator.mul, initial=1))
        for base in (flipped, sides - flipped)
    )
    exactly = (comb(trials, ones) * flips[ones] * others[trials - ones] for ones in range(trials + 1))
    return list(itertools.accumulate(exactly))


class Exact:
    """The weight of a report in fractions, from the coin's own 65 bits."""

    def __init__(self, epsilon, k, rate=1.0):
        self.p = Fraction(RandomizedResponse(epsilon).flip_probability)
        self.own = self.p + Fraction(rate) * (1 - 2 * self.p)
        self.k = k

    def at_most(self, trials, most):
        if most < 0:
            return Fraction(0)
        flipped, sides = self.p.as_integer_ratio()
        return Fraction(ways(flipped, sides, trials)[min(most, trials)], sides**trials)

    def accepted(self, weight):
        return self.own * self.at_most(self.k - 1, weight - 1) + (1 - self.own) * self.at_most(
            self.k - 1, weight
        )

    def bits(self, weight):
        present = self.own * self.at_most(self.k - 1, weight - 1)
        absent = self.own * self.at_most(self.k - 2, weight - 2) + (1 - self.own) * self.at_most(
            self.k - 2, weight - 1
        )
        return self.p * absent / self.accepted(weight), present / self.accepted(weight)


@pytest.mark.parametrize(
    ("epsilon", "k"),
    [(1e-6, 2), (20.0, 2), (0.5, 7), (8.0, 50), (1e-6, 1_000), (1.0, 1_000), (20.0, 1_000)],
)
@pytest.mark.parametrize("rate", [1.0, 1 - 2.0**-20, 0.5, 1e-3])
def test_weights_and_bits_agree_with_fractions(epsilon, k, rate):
    law, exact = WeightLaw(RandomizedResponse(epsilon), k, rate), Exact(epsilon, k, rate)
    for weight in sorted({1, 2, 3, k // 2, k - 1, k}):
        if not 1 <= weight <= k:
            continue
        heavier = 1 - exact.accepted(weight)
        assert heavier <= law.heavier(weight) <= heavier * (1 + Fraction(1, 10**10)) + Fraction(1, 10**289)
        for found, wanted in zip(law.accepted_bits(weight), exact.bits(weight), strict=True):
            assert found == pytest.approx(float(wanted), rel=1e-11, abs=0)


@pytest.mark.parametrize(
    "corner",
    [
        {"k": 2, "epsilon": 20.0, "delta": 0.1, "cohort_size": 2},
        {"k": 2, "epsilon": 1e-6, "delta": 1e-30, "cohort_size": 10**9},
        {"k": 1_000, "epsilon": 20.0, "delta": 0.1, "cohort_size": 2},
        {"k": 1_000, "epsilon": 1e-6, "delta": 1e-30, "cohort_size": 10**9},
        {"k": 1_000, "epsilon": 8.0, "delta": 1e-30, "cohort_size": 10**9},
    ],
    ids=str,
)
def test_weight_is_the_smallest_that_is_rarely_exceeded(corner):
    randomizer = categories(**corner)
    law = WeightLaw(RandomizedResponse(corner["epsilon"]), corner["k"])
    weight, most = randomizer.parameters.max_weight, corner["delta"] / SLACK_SHARE
    assert corner["cohort_size"] * law.heavier(weight) <= most
    assert weight == 1 or corner["cohort_size"] * law.heavier(weight - 1) > most
    randomizer.require_promise()
    bits = randomizer.randomize(corner["k"] - 1, random.Random(1))
    assert sum(bits) <= weight
    assert all(map(float, randomizer.estimate(list(bits), 1).standard_errors))


@pytest.mark.parametrize(("k", "weight"), [(k, weight) for k in range(2, 6) for weight in range(1, k + 1)])
def test_every_report_in_place_of_every_other_moves_what_is_stated_at_most(k, weight):
    """All pairs of reports that servers accept: a dishonest report adds ones, and lacks those of an honest
    one. What is stated is reached, so no smaller bound would do."""
    asked = Categories(replace(categories(k=k).parameters, max_weight=weight, sampling_rate=0.5))
    accepted = [bits for bits in itertools.product((0, 1), repeat=k) if sum(bits) <= weight]
    estimates = [asked.estimate([entry + 9 for entry in bits], 20).values for bits in accepted]
    moves = [
        [abs(new - old) for new, old in zip(after, before, strict=True)]
        for before, after in itertools.product(estimates, repeat=2)
    ]
    assert max(map(max, moves)) == pytest.approx(asked.robustness.each, rel=1e-9)
    assert max(map(sum, moves)) == pytest.approx(asked.robustness.together, rel=1e-9)


def test_replacing_a_value_changes_no_report_by_more_than_twice_epsilon():
    # By enumeration of all reports, for every pair of values.
    randomizer = categories(k=4, epsilon=0.7, delta=0.1, cohort_size=2)
    weight, p = 2, Fraction(RandomizedResponse(0.7).flip_probability)
    exact = Exact(0.7, 4)
    odds = (1 - p) / p
    for report in range(16):
        ones = [report >> place & 1 for place in range(4)]
        if sum(ones) > weight:
            continue
        likely = [
            p ** sum(int(bit != (place == value)) for place, bit in enumerate(ones))
            * (1 - p) ** sum(int(bit == (place == value)) for place, bit in enumerate(ones))
            for value in range(4)
        ]
        assert max(likely) / min(likely) <= odds**2
        # Against the reference, which is taken as it is with another probability.
        reference = p ** sum(ones) * (1 - p) ** (4 - sum(ones)) / exact.at_most(4, weight)
        for each in likely:
            ratio = each / exact.accepted(weight) / reference
            assert max(ratio, 1 / ratio) <= odds * exact.at_most(4, weight) / exact.accepted(weight)
    stated = {each.relation: each.epsilon for each in randomizer.local_guarantees()}
    assert stated[Relation.REPLACE] == 1.4
    assert stated[Relation.ADD_REMOVE] >= 0.7


def test_estimate_is_unbiased_for_what_devices_send():
    # Tight weights, so that drawing again matters: without its share of the debiasing, this would be off by
    # 20 standard errors. 20,000 devices; one of six sums lies 5.5 of them away with less than 3e-7.
    parameters = replace(categories(epsilon=0.5).parameters, max_weight=2)
    randomizer, source = Categories(parameters), random.Random(7)
    devices = {0: 12_000, 3: 6_000, 5: 2_000}
    total = [0] * 6
    for value, count in devices.items():
        for _ in range(count):
            randomizer.add(total, randomizer.randomize(value, source))
    estimate = randomizer.estimate(total, 20_000)
    for found, truth, error in zip(
        estimate.values, randomizer.truth(devices), estimate.standard_errors, strict=True
    ):
        assert abs(found - truth) <= 5.5 * error
    response = RandomizedResponse(0.5)
    naive = [response.debiased(ones, 20_000) for ones in total]
    assert max(abs(x - y) for x, y in zip(naive, randomizer.truth(devices), strict=True)) > 1_000


def test_report_with_too_many_ones_is_refused_by_one_server_and_by_two():
    randomizer = categories(k=40, epsilon=4.0)
    ones = randomizer.parameters.max_weight + 1
    heavy = [1] * ones + [0] * (40 - ones)
    with pytest.raises(InvalidReportError, match="at most") as refused:
        randomizer.contribution(heavy)
    assert refused.value.reason == "too_many_ones"
    with pytest.raises(FieldError, match="measurement"):
        prio3_with(randomizer.vdaf_type, randomizer.vdaf_message).circuit.encode(heavy)


@pytest.mark.parametrize("changed", [-1, 1_000])
def test_document_with_another_weight_is_refused_by_devices(changed):
    parameters = categories(k=40, epsilon=4.0).parameters
    wrong = replace(parameters, max_weight=max(1, min(1_000, parameters.max_weight + changed)))
    with pytest.raises(FieldError, match="max_weight: must be from"):
        Categories(wrong).require_promise()


def test_guarantees_cost_what_drawing_again_adds():
    randomizer = categories(k=100, epsilon=2.0, cohort_size=1_000)
    stated = {
        (each.relation, each.dishonest_fraction): each.epsilon
        for each in randomizer.open_guarantees()
        if each.model is Model.AGGREGATOR
    }
    for (relation, part), epsilon in stated.items():
        n = 1_000 if part == 0 else 500
        event = randomizer._release(n) if relation is Relation.REPLACE else randomizer._added(n)
        independent = event.event.epsilon(randomizer.parameters.delta)
        assert independent < epsilon <= 1.01 * independent


def test_replacing_a_value_changes_two_bits_unlike_in_example_2():
    # The report with the first category's bit and without the second's is e^2ε times likelier.
    p = Fraction(RandomizedResponse(1.0).flip_probability)
    likely = {0: (1 - p) * (1 - p), 1: p * p}
    assert likely[0] / likely[1] == ((1 - p) / p) ** 2 > Fraction(2718, 1000)
    stated = {each.relation: each.epsilon for each in categories(epsilon=1.0).local_guarantees()}
    assert stated[Relation.REPLACE] == 2.0


def test_number_of_ones_of_section_4_5_as_printed_is_mostly_exceeded():
    law = WeightLaw(RandomizedResponse(4.0), 1_000)
    printed = 1 + 1_000 / 4.0**5
    assert law.heavier(round(2 * printed)) > 0.9999
    assert categories(k=1_000, epsilon=4.0).parameters.max_weight > 10 * printed


def test_size_bounds_hold_for_what_devices_send(monkeypatch):
    """20 collections; each fails with 1e-8 at most, so that all hold but for 2e-7. They are no wider than the
    noise asks for, either."""
    leave_out_intervals(monkeypatch)
    randomizer, source = categories(k=3, epsilon=2.0, sampling_rate=0.5), random.Random(3)
    devices = (300, 90, 10)
    for _ in range(20):
        total, reports = [0, 0, 0], 0
        for value, size in enumerate(devices):
            for _ in range(size):
                if source.random() < randomizer.parameters.sampling_rate:
                    reports += 1
                    total = [a + b for a, b in zip(total, randomizer.randomize(value, source), strict=True)]
        bounds = CategorySizeBounds(randomizer).between(
            randomizer.estimate(total, reports).values, reports, 1e-8
        )
        for (low, high), true in zip(bounds, (*devices, 400), strict=True):
            assert low <= true <= high <= 800
    assert bounds[0][0] > 50


def test_size_bounds_of_everybody_are_exact_where_everybody_reports():
    randomizer = categories(k=3)
    assert CategorySizeBounds(randomizer).between(randomizer.estimate([90, 50, 30], 120).values, 120, 1e-6)[
        -1
    ] == (120, 120)
