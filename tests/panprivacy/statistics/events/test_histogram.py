import math
import random
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from panprivacy.accounting.guarantees import Model, Relation
from panprivacy.accounting.vector_coin_sum import VectorCoinSum
from panprivacy.statistics.events.dummies import Dummies
from panprivacy.statistics.events.histogram import Histogram, HistogramParameters
from panprivacy.statistics.events.one_hot import BUCKET, VECTOR, better_coin, closest_histogram
from panprivacy.statistics.interface import InvalidReportError
from tests.panprivacy.statistics.events.contract import HistoryContract, MechanismContract, decrypted
from tests.panprivacy.statistics.events.transparent import TransparentPrivateKey
from tests.refusals import field_refused


def parameters(**changes):
    return HistogramParameters(
        **({"steps": 6, "epsilon": 1.0, "delta": 1e-6, "cohort_size": 100, "k": 3} | changes)
    )


class TestHistogram(MechanismContract, HistoryContract):
    @pytest.fixture(
        params=[
            (BUCKET, 1, 1.0, 100),
            (BUCKET, 3, 0.25, 10),
            (BUCKET, 5, 1.0, 100),
            (VECTOR, 1, 1.0, 100),
            (VECTOR, 3, 1.0, 100),
            (VECTOR, 3, 0.25, 10),
        ]
    )
    def mechanism(self, request):
        coin, k, rate, cohort_size = request.param
        return Histogram(parameters(coin=coin, k=k, sampling_rate=rate, cohort_size=cohort_size))

    def test_expected_standard_error_covers_that_of_an_estimate_in_the_middle(self, mechanism):
        population = 10_000
        reports = round(population * mechanism.parameters.sampling_rate)
        cells = mechanism.contribution_length
        estimate = mechanism.estimate([reports // cells] * cells, reports)
        assert max(estimate.standard_errors) <= mechanism.expected_standard_error(population) * (1 + 1e-9)

    def test_local_guarantee_under_replacement_is_twice_epsilon(self, mechanism):
        (local,) = (
            g.epsilon
            for g in mechanism.guarantees()
            if (g.model, g.relation) == (Model.LOCAL, Relation.REPLACE)
        )
        assert local == 2 * mechanism.parameters.epsilon


@pytest.mark.parametrize("count", range(7))
def test_state_of_count_holds_its_indicator_and_the_thresholds_reached(count):
    key = TransparentPrivateKey()
    values = decrypted(
        key, Histogram(parameters()).state_of_count(key.public_key, count, 6, random.Random(1))
    )
    assert values == [int(count == i) for i in range(4)] + [int(count >= i) for i in range(4)]


@pytest.mark.parametrize(("count", "bucket"), [(0, 0), (1, 1), (2, 2), (3, 3), (4, 3), (6, 3)])
def test_report_of_a_nearly_certain_coin_marks_the_bucket_of_the_count(count, bucket):
    # At ε = 20 a coordinate flips with probability 2.1e-9: one of all these 192 with less than 4.1e-7.
    mechanism = Histogram(parameters(epsilon=20))
    key, source = TransparentPrivateKey(), random.Random(count)
    for _ in range(4):
        state = mechanism.state_of_count(key.public_key, count, 6, source)
        for report in (
            mechanism.report(key.public_key, state, source),
            mechanism.report_of_count(key.public_key, count, source),
        ):
            assert decrypted(key, report) == [int(i == bucket) for i in range(4)]


def test_report_has_been_rerandomized_once_more_than_there_are_steps(transparent_report):
    assert [c.history for c in transparent_report(Histogram(parameters()))] == [(7, ())] * 4


def test_labels_name_each_count_and_the_open_bucket():
    assert Histogram(parameters()).labels == ("0 events", "1 event", "2 events", "3 or more events")


def test_truth_puts_counts_of_k_and_more_into_the_last_bucket():
    assert Histogram(parameters()).truth({0: 4, 2: 3, 3: 2, 6: 1}) == (4.0, 0.0, 3.0, 3.0)


def test_estimate_debiases_every_bucket_and_projects_onto_the_cohort():
    mechanism = Histogram(parameters(epsilon=math.log(3), k=1, sampling_rate=0.5, coin=BUCKET))
    estimate = mechanism.estimate([15, 85], 100)
    assert estimate.values == pytest.approx((-40, 240))
    assert estimate.projection == pytest.approx((0, 200))
    assert estimate.standard_errors == pytest.approx((math.sqrt(300), math.sqrt(300 + 240)))


def test_guarantees_cost_more_if_two_coordinates_move_than_one():
    """Independent numbers of the exact sums: replacement 0.12504, add/remove 0.08702."""
    members = parameters(epsilon=2.0, delta=1e-6, cohort_size=10_000, k=9, coin=BUCKET)
    stated = {
        g.relation: g.epsilon
        for g in Histogram(members).guarantees()
        if g.model == Model.AGGREGATOR and g.dishonest_fraction == 0
    }
    assert stated[Relation.REPLACE] == pytest.approx(0.12504, rel=1e-3)
    assert stated[Relation.ADD_REMOVE] == pytest.approx(0.08702, rel=1e-3)


@pytest.mark.parametrize("seed", range(8))
def test_closest_histogram_is_valid_and_no_move_of_mass_comes_closer(seed):
    source = random.Random(seed)
    values = [source.gauss(10, 30) for _ in range(source.randrange(1, 8))]
    total = source.choice([0.0, 1.0, 50.0])
    found = closest_histogram(values, total)
    assert min(found) >= 0
    assert sum(found) == pytest.approx(total, abs=1e-9)

    # The optimality conditions of a convex problem: no bucket could give to another one and gain.
    gradient = [after - before for after, before in zip(found, values, strict=True)]
    for giver, mass in enumerate(found):
        if mass > 1e-9:
            assert gradient[giver] <= min(gradient) + 1e-9


@pytest.mark.parametrize("k", [0, 1001, 2.5])
def test_parameters_with_k_out_of_bounds_are_refused(k):
    with field_refused("k"):
        parameters(k=k)


def test_intervals_of_all_buckets_hold_together():
    """Exactly: given the truth the buckets' sums are independent, so their probabilities multiply. If each
    interval held by itself, all would hold with 0.95^(k + 1): 57% for k = 10."""
    population, k = 1_000, 10
    histogram = Histogram(parameters(k=k, coin=BUCKET))
    flip = histogram._response.flip_probability
    buckets = k + 1
    held = 1.0
    for truth, times in Counter(len(part) for part in np.array_split(range(population), buckets)).items():
        mean = population * flip + truth * (1 - 2 * flip)
        reach = int(9 * math.sqrt(population * flip * (1 - flip))) + 2
        sums = np.arange(max(0, int(mean) - reach), int(mean) + reach)
        inside = []
        # The sum of every bucket is another one of those that may come.
        for start in range(0, sums.size, buckets):
            some = np.resize(sums[start : start + buckets], buckets)
            interval = histogram.estimate(some.tolist(), population).intervals[0]
            inside += [low <= truth <= high for low, high in zip(interval.low, interval.high, strict=True)]
        chances = np.convolve(
            binom.pmf(np.arange(truth + 1), truth, 1 - flip),
            binom.pmf(np.arange(population - truth + 1), population - truth, flip),
        )[sums]
        held *= float(chances @ np.array(inside[: sums.size])) ** times
    assert 0.95 <= held < 0.98


def test_margin_to_expect_is_that_of_all_buckets_together():
    histogram = Histogram(parameters(k=10, epsilon=1, coin=BUCKET))
    estimate = histogram.estimate([4_000] * 11, 10_000)
    margins = estimate.intervals[0].margins(estimate.values)
    assert margins == pytest.approx([histogram.expected_margin(10_000, 0.05)] * 11, rel=0.02)
    assert margins[0] > 1.4 * 1.96 * estimate.standard_errors[0]


def test_histogram_without_a_coin_states_the_one_with_the_smaller_error():
    # At ε = 1 the loss under replacement is 2: as for other questions, up to 6 cells.
    for k, coin in ((5, VECTOR), (6, BUCKET)):
        histogram = Histogram(parameters(k=k))
        assert histogram.parameters.coin == coin == better_coin(2.0, k + 1)
        other = Histogram(parameters(k=k, coin=BUCKET if coin == VECTOR else VECTOR))
        assert histogram.expected_standard_error(1_000) <= other.expected_standard_error(1_000)
        assert "the largest error would be" in histogram.expected_note


def test_coin_that_was_not_asked_for_is_chosen_anew_with_other_values():
    chosen, asked = Histogram(parameters(k=5)), Histogram(parameters(k=5, coin=VECTOR))
    for histogram, coin in ((chosen, BUCKET), (asked, VECTOR)):
        assert histogram.having(replace(histogram.parameters, k=6)).parameters.coin == coin


def test_noisy_number_of_reports_needs_a_coin_for_each_bucket():
    """One-hot vectors add up to the number of reports, and would show it."""
    assert Histogram(parameters(k=2)).with_noisy_count().parameters.coin == BUCKET
    with field_refused("coin", match="must be bucket, or left out, if servers show"):
        Histogram(parameters(k=2, coin=VECTOR)).with_noisy_count()


def test_vector_report_that_is_not_one_hot_is_refused():
    histogram = Histogram(parameters(coin=VECTOR))
    for values in ([0] * 4, [1, 1, 0, 0]):
        with pytest.raises(InvalidReportError) as refused:
            histogram.contribution(values)
        assert refused.value.reason == "not_one_hot"


@pytest.mark.parametrize("from_state", [True, False])
def test_vector_coin_reports_as_often_as_stated(from_state):
    """3,000 reports; each of 4 cells within 5.5 standard deviations: 4 · 3.8e-8."""
    histogram, source, number = Histogram(parameters(coin=VECTOR)), random.Random(4), 3_000
    key = TransparentPrivateKey()
    state = histogram.state_of_count(key.public_key, 1, 6, source)
    total = [0] * 4
    for _ in range(number):
        report = (
            histogram.report(key.public_key, state, source)
            if from_state
            else histogram.report_of_count(key.public_key, 1, source)
        )
        histogram.add(total, decrypted(key, report))
    own = math.e**2 / (math.e**2 + 3)
    for place, found in enumerate(total):
        chance = own if place == 1 else (1 - own) / 3
        assert abs(found - number * chance) <= 5.5 * math.sqrt(number * chance * (1 - chance))


@pytest.mark.parametrize("rate", [1.0, 0.3])
def test_vector_intervals_of_all_buckets_hold_together(rate):
    """Of 100 collections fewer than 82 with less than 1e-6, if 95% hold."""
    histogram = Histogram(parameters(coin=VECTOR, sampling_rate=rate, cohort_size=20))
    source, truth = np.random.default_rng(17), np.array([500, 200, 0, 300])
    own = math.e**2 / (math.e**2 + 3)
    chances = np.full((4, 4), (1 - own) / 3) + np.eye(4) * (own - (1 - own) / 3)
    held = 0
    for _ in range(100):
        devices = source.binomial(truth, rate)
        total = sum(source.multinomial(number, row) for number, row in zip(devices, chances, strict=True))
        interval = histogram.estimate(total.tolist(), int(devices.sum())).intervals[0]
        held += all(
            low <= true <= high for low, true, high in zip(interval.low, truth, interval.high, strict=True)
        )
    assert held >= 82


def test_vector_guarantee_is_the_proved_sum_of_one_coin_for_each_device():
    histogram = Histogram(parameters(coin=VECTOR))
    assert histogram.aggregator_event() == VectorCoinSum(n=100, k=4, epsilon0=2.0)
    local = {g.relation: g.epsilon for g in histogram.local_guarantees()}
    own, other = math.e**2 / (math.e**2 + 3), 1 / (math.e**2 + 3)
    assert local[Relation.ADD_REMOVE] == pytest.approx(max(math.log(own * 4), -math.log(other * 4)))


def test_vector_of_most_buckets_with_dummies_has_a_guarantee():
    dummies = Dummies(epsilon=1.0, delta=1e-6, population_size=2_000, dummy_rate=0.2)
    histogram = Histogram(parameters(k=1_000, coin=VECTOR, sampling_rate=0.5)).with_dummies(dummies)
    assert histogram.report_ciphertexts == 1_002
    assert 0 < histogram.aggregator_event().epsilon(1e-6) <= 2.0
