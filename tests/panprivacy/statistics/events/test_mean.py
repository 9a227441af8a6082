import itertools
import math
import random
from collections import Counter
from fractions import Fraction

import pytest
from mpmath import mp
from scipy import stats

from panprivacy.accounting.discrete_gaussian_sum import (
    SMALLEST_EPSILON,
    _NarrowSum,
    _WideSum,
    delta_of,
    epsilon_of,
    smallest_scale,
    variance,
)
from panprivacy.accounting.guarantees import Model, Relation
from panprivacy.formats.errors import FieldError
from panprivacy.statistics.events import discrete_gaussian
from panprivacy.statistics.events.mean import Mean, MeanParameters
from tests.panprivacy.statistics.events.contract import HistoryContract, MechanismContract, decrypted
from tests.panprivacy.statistics.events.transparent import TransparentPrivateKey, TransparentPublicKey
from tests.refusals import field_refused


def parameters(**changes):
    members = {
        "steps": 6, "epsilon": 1.0, "delta": 1e-6, "cohort_size": 100, "k": 3, "guarantee": "aggregator",
    }  # fmt: skip
    return MeanParameters(**(members | changes))


class TestMean(MechanismContract, HistoryContract):
    @pytest.fixture(
        params=[
            {}, {"k": 1}, {"k": 5}, {"sampling_rate": 0.25, "cohort_size": 20}, {"guarantee": "local"},
            {"guarantee": "local", "sampling_rate": 0.25},
        ]
    )  # fmt: skip
    def mechanism(self, request):
        return Mean(parameters(**request.param).calibrated())


@pytest.mark.parametrize("count", range(7))
def test_report_is_the_count_capped_at_k_plus_noise(count):
    mechanism = Mean(parameters(noise_scale=0.05))
    key, source = TransparentPrivateKey(), random.Random(count)
    state = mechanism.state_of_count(key.public_key, count, 6, source)
    # Noise of scale 0.05 is 0 but for a probability of 2e-87.
    assert decrypted(key, mechanism.report(key.public_key, state, source)) == [min(count, 3)]
    assert decrypted(key, mechanism.report_of_count(key.public_key, count, source)) == [min(count, 3)]


def test_report_adds_k_indicators_and_one_noise_and_rerandomizes_the_sum(transparent_report):
    (ciphertext,) = transparent_report(Mean(parameters(noise_scale=1.0)))
    assert ciphertext.history == (1, ((6, ()),) * 4)


def test_faces_before_calibration_refuse_and_say_what_to_do():
    mechanism, key, source = Mean(parameters()), TransparentPublicKey(), random.Random(1)
    calls = [
        lambda: mechanism.start(key, source),
        lambda: mechanism.step(key, (), True, 1, source),
        lambda: mechanism.report(key, tuple(key.encrypt(0, source) for _ in range(3)), source),
        lambda: mechanism.state_of_count(key, 1, 2, source),
        lambda: mechanism.report_of_count(key, 1, source),
        lambda: mechanism.allowed_values,
        lambda: mechanism.contribution([0]),
        lambda: mechanism.estimate([0], 100),
        mechanism.guarantees,
        lambda: mechanism.expected_standard_error(100),
    ]
    for call in calls:
        with field_refused("noise_scale", match="calibrated"):
            call()
    assert mechanism.truth({6: 2}) == (3.0,)


@pytest.mark.parametrize("guarantee", ["local", "aggregator"])
@pytest.mark.parametrize(("k", "epsilon", "cohort_size"), [(1, 0.5, 2), (10, 1.0, 10_000), (3, 8.0, 50)])
def test_calibrated_scale_keeps_the_promise_and_barely_so(guarantee, k, epsilon, cohort_size):
    found = parameters(guarantee=guarantee, k=k, epsilon=epsilon, cohort_size=cohort_size).calibrated()
    n = 1 if guarantee == "local" else cohort_size
    scale = found.noise_scale
    assert scale == round(scale, 6)
    assert delta_of(n, scale, k, epsilon) <= 1e-6
    assert delta_of(n, scale - 2e-6, k, epsilon) > 1e-6 * (1 - 2e-6)


def test_guarantees_promise_first_and_then_show_the_others():
    for promised, n_promised, other, n_other in [
        (Model.AGGREGATOR, 100, Model.LOCAL, 1),
        (Model.LOCAL, 1, Model.AGGREGATOR, 100),
    ]:
        found = parameters(guarantee=promised.value).calibrated()
        guarantees = Mean(found).guarantees()
        epsilon = {(g.model, g.relation, g.dishonest_fraction): g.epsilon for g in guarantees}
        assert guarantees[0].model == guarantees[1].model == promised
        assert guarantees[-1].model == Model.PAN
        assert {g.delta for g in guarantees[:-1]} == {1e-6}
        assert epsilon_of(n_promised, found.noise_scale, 3, 1e-6) == pytest.approx(1, rel=1e-4)
        exact = epsilon_of(n_other, found.noise_scale, 3, 1e-6)
        colluding = epsilon_of(50, found.noise_scale, 3, 1e-6)
        for relation in (Relation.REPLACE, Relation.ADD_REMOVE):
            assert epsilon[promised, relation, 0.0] == 1.0
            assert epsilon[other, relation, 0.0] == pytest.approx(exact, rel=1e-4)
            assert epsilon[Model.AGGREGATOR, relation, 0.5] == pytest.approx(colluding, rel=1e-4)


def test_guarantees_of_a_scale_that_breaks_the_promise_are_refused():
    honest = parameters().calibrated()
    with field_refused("noise_scale", match="too small"):
        Mean(parameters(noise_scale=honest.noise_scale * 0.99)).guarantees()


def test_guarantee_of_the_sum_is_the_local_one_if_squares_are_summed():
    """The exact number covers Σy alone; what is computed from reports keeps the guarantee of each."""
    mechanism = Mean(parameters(guarantee="local", sampling_rate=0.5).calibrated())
    assert mechanism.contribution([2]) == (2, 4)
    assert {g.epsilon for g in mechanism.guarantees() if g.model == Model.AGGREGATOR} == {1.0}


@pytest.mark.parametrize(("guarantee", "rate"), [("aggregator", 0.5), ("aggregator", 1.0), ("local", 1.0)])
def test_contribution_holds_no_square_where_nothing_needs_it(guarantee, rate):
    assert Mean(parameters(guarantee=guarantee, sampling_rate=rate).calibrated()).contribution([2]) == (2,)


@pytest.mark.parametrize(
    ("scale", "delta", "cohort_size"), [(0.1, 1e-6, 2), (0.47, 1e-6, 10_000), (42.0, 1e-30, 10**9)]
)
def test_allowed_values_contain_noise_but_for_the_stated_probability(scale, delta, cohort_size):
    found = parameters(noise_scale=scale, delta=delta, cohort_size=cohort_size, guarantee="local")
    t = found.largest_noise
    assert Mean(found).allowed_values == range(-t, 3 + t + 1)
    with mp.workdps(60):
        weight = {x: mp.exp(-(mp.mpf(x) ** 2) / (2 * mp.mpf(scale) ** 2)) for x in range(t + 200)}
        total = weight[0] + 2 * sum(weight[x] for x in range(1, t + 200))
        outside = 2 * sum(weight[x] for x in range(t + 1, t + 200)) / total
        allowed = mp.mpf(delta) / 2**60 / cohort_size
        assert outside < allowed < mp.mpf(2) ** -60


def test_parameters_whose_reports_no_decryption_could_search_are_refused():
    for call in (
        lambda: parameters(noise_scale=60_000.0),
        parameters(guarantee="local", k=1000, epsilon=0.01).calibrated,
        parameters(guarantee="local", k=1000, epsilon=1e-6).calibrated,
        lambda: parameters(epsilon=1e-12),
    ):
        with field_refused("epsilon"):
            call()


@pytest.mark.parametrize(("guarantee", "cohort_size", "deltas"), [
    ("local", 2, (1e-30,)), ("aggregator", 2, (1e-30,)),
    pytest.param("aggregator", 10**9, (1e-30, 1e-6, 0.1), marks=pytest.mark.long),
])  # fmt: skip
def test_calibration_at_every_corner_takes_bounded_work(monkeypatch, guarantee, cohort_size, deltas):
    work = Counter()
    characteristic, wide_delta = _NarrowSum._characteristic, _WideSum.delta

    def counted_characteristic(noise, x, weights, length):
        found = characteristic(noise, x, weights, length)
        work.update(inversions=1, frequencies=found[2].size)
        return found

    def counted_delta(noise, shift, epsilon):
        work.update(wide=1)
        return wide_delta(noise, shift, epsilon)

    monkeypatch.setattr(_NarrowSum, "_characteristic", counted_characteristic)
    monkeypatch.setattr(_WideSum, "delta", counted_delta)
    smallest_scale.cache_clear()
    epsilon_of.cache_clear()
    calibrated, refused = 0, set()
    for k, epsilon, delta in itertools.product((1, 10, 1000), (SMALLEST_EPSILON, 1e-3, 1.0, 20.0), deltas):
        work.clear()
        try:
            found = parameters(
                k=k, epsilon=epsilon, delta=delta, cohort_size=cohort_size, guarantee=guarantee
            ).calibrated()
        except FieldError as error:
            refused.add(error.field)
        else:
            assert Mean(found).guarantees()[0].epsilon == epsilon
            assert Mean(found).expected_standard_error(1000) > 0
            calibrated += 1
        # 1,000 of each take some 0.15 seconds.
        assert work["inversions"] + work["wide"] <= 3_000
        assert work["frequencies"] <= 150_000
    assert calibrated >= 4 * len(deltas)
    assert refused <= {"epsilon"}


def test_parameters_without_a_guarantee_or_with_another_are_refused():
    members = parameters().as_dict()
    for wrong in (members | {"guarantee": "pan"}, {n: v for n, v in members.items() if n != "guarantee"}):
        with field_refused("guarantee"):
            MeanParameters.from_mapping(wrong)


def test_estimate_with_everyone_asked_has_the_error_of_the_noise_alone():
    found = parameters(noise_scale=0.3)
    estimate = Mean(found).estimate([150], 100)
    assert estimate.values == (1.5,)
    assert estimate.standard_errors[0] == pytest.approx(math.sqrt(variance(0.3) / 100))
    assert variance(0.3) < 0.1 * 0.3**2


def test_estimate_under_an_aggregator_guarantee_bounds_the_variance():
    estimate = Mean(parameters(noise_scale=0.3, sampling_rate=0.5)).estimate([150], 100)
    assert estimate.standard_errors[0] == pytest.approx(math.sqrt((variance(0.3) + 0.5 * 1.5 * 1.5) / 100))
    assert "upper bound" in estimate.standard_error_note


def test_estimate_under_a_local_guarantee_measures_the_variance_of_counts():
    found = parameters(guarantee="local", noise_scale=0.3, sampling_rate=0.5)
    # Fifty reports of 1 and fifty of 2.
    estimate = Mean(found).estimate([150, 250], 100)
    measured = 25 / 99 - variance(0.3)
    assert estimate.standard_errors[0] == pytest.approx(math.sqrt((variance(0.3) + 0.5 * measured) / 100))
    assert "variance of the reports" in estimate.standard_error_note
    # A single report tells nothing of a variance.
    assert "upper bound" in Mean(found).estimate([1, 1], 1).standard_error_note


@pytest.mark.parametrize(("total", "projection"), [(-5, 0.0), (500, 3.0), (120, 1.2)])
def test_estimate_is_projected_onto_the_possible_means(total, projection):
    estimate = Mean(parameters(noise_scale=0.3)).estimate([total], 100)
    assert estimate.values == (total / 100,)
    assert estimate.projection == (projection,)


def test_truth_is_the_mean_of_the_whole_population_with_counts_capped():
    mechanism = Mean(parameters(sampling_rate=0.5))
    assert mechanism.truth({0: 5, 2: 3, 6: 2}) == (1.2,)
    with pytest.raises(ValueError, match="no mean"):
        mechanism.truth({})


def test_report_draws_its_noise_from_the_exact_scale(monkeypatch):
    drawn = []
    monkeypatch.setattr(discrete_gaussian, "sample", lambda *given: drawn.append(given[:2]) or 0)
    mechanism, key, source = Mean(parameters(noise_scale=0.1)), TransparentPublicKey(), random.Random(1)
    mechanism.report_of_count(key, 1, source)
    assert drawn == [(Fraction(0.1), mechanism.parameters.largest_noise)]


def test_interval_allows_for_rare_devices_that_no_report_shows() -> None:
    """20 of 2,000 devices have an event, and some 200 report. The noise is nearly always 0, so that all
    that can come in is added up; without the allowance 10% of intervals miss."""
    asked = parameters(steps=1, epsilon=20, delta=0.1, sampling_rate=0.1, k=1, guarantee="local")
    statistic = Mean(asked.calibrated())
    held = total = 0.0
    for first in range(150, 250, 10):  # ten numbers of reports at a time, by the middle one
        weight = sum(stats.binom.pmf(range(first, first + 10), 1_980, 0.1))
        for chosen in range(8):
            chance = weight * stats.binom.pmf(chosen, 20, 0.1)
            interval = statistic.estimate((chosen, chosen), first + 5 + chosen).intervals[0]
            held += chance * (interval.low[0] <= 0.01 <= interval.high[0])
            total += chance
    assert held / total >= 0.945
