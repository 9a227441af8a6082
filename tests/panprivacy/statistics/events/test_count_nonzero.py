import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panprivacy.accounting.guarantees import Model, Relation
from panprivacy.formats.parameters import Parameters
from panprivacy.statistics.events.count_nonzero import CountNonzero
from tests.panprivacy.statistics.events.contract import HistoryContract, MechanismContract


def parameters(**changes):
    return Parameters(**({"steps": 6, "epsilon": 1.0, "delta": 1e-6, "cohort_size": 100} | changes))


class TestCountNonzero(MechanismContract, HistoryContract):
    @pytest.fixture(params=[(1.0, 100), (0.25, 5)])
    def mechanism(self, request):
        rate, cohort_size = request.param
        return CountNonzero(parameters(sampling_rate=rate, cohort_size=cohort_size))


@pytest.mark.parametrize(("ones", "projection"), [(0, 0.0), (100, 200.0)])
def test_estimate_beyond_what_is_possible_is_kept_and_projected(ones, projection):
    estimate = CountNonzero(parameters(sampling_rate=0.5)).estimate([ones], 100)
    assert estimate.values[0] < 0 or estimate.values[0] > 200
    assert estimate.projection == (projection,)


def test_truth_counts_devices_with_any_number_of_events_once():
    assert CountNonzero(parameters()).truth({0: 5, 1: 3, 6: 2}) == (5.0,)


def test_report_has_been_rerandomized_once_more_than_there_are_steps(transparent_report):
    assert [c.history for c in transparent_report(CountNonzero(parameters()))] == [(7, ())]


def test_estimate_is_debiased_and_scaled_to_the_population():
    mechanism = CountNonzero(parameters(epsilon=math.log(3), sampling_rate=0.5))
    # Of 100 reports, p = 1/4: (40 − 25)/(1/2)/0.5 = 60 devices.
    estimate = mechanism.estimate([40], 100)
    assert estimate.values[0] == pytest.approx(60)
    # 100·3/4/0.25 from randomization, 60·0.5/0.5 from sampling.
    assert estimate.standard_errors[0] == pytest.approx(math.sqrt(300 + 60))


def test_guarantees_state_one_local_epsilon_for_both_relations():
    found = {(g.model, g.relation): (g.epsilon, g.delta) for g in CountNonzero(parameters()).guarantees()}
    assert found[Model.LOCAL, Relation.REPLACE] == (1.0, 0.0)
    assert found[Model.LOCAL, Relation.ADD_REMOVE] == (1.0, 0.0)


def test_guarantees_of_a_cohort_are_the_exact_sums_also_with_colluders():
    """Independent numbers of unanimous answers: 0.08702 for 10,000 honest devices, 0.12794 for 5,000."""
    mechanism = CountNonzero(parameters(epsilon=2.0, delta=1e-6, cohort_size=10_000))
    for relation in (Relation.REPLACE, Relation.ADD_REMOVE):
        stated = {
            g.dishonest_fraction: g.epsilon
            for g in mechanism.guarantees()
            if (g.model, g.relation) == (Model.AGGREGATOR, relation)
        }
        assert stated == {0.0: pytest.approx(0.08702, rel=1e-3), 0.5: pytest.approx(0.12794, rel=1e-3)}


def test_guarantees_with_sampling_state_the_bound_and_the_exact_number():
    mechanism = CountNonzero(parameters(epsilon=2.0, delta=1e-6, cohort_size=110, sampling_rate=0.5))
    (sampled,) = (
        g
        for g in mechanism.guarantees()
        if (g.model, g.relation, g.dishonest_fraction) == (Model.SAMPLED, Relation.REPLACE, 0.0)
    )
    assert sampled.found_epsilon == pytest.approx(0.46956, rel=1e-3)
    assert sampled.found_epsilon < sampled.epsilon < 2 * sampled.found_epsilon
    assert "220 devices" in sampled.assumption


def test_expected_standard_error_is_that_of_an_event_on_every_device():
    mechanism = CountNonzero(parameters(epsilon=math.log(3), sampling_rate=0.5))
    assert mechanism.expected_standard_error(200) == pytest.approx(math.sqrt(100 * 0.75 / 0.25 + 200))


@given(st.integers(2, 10**6), st.floats(0.1, 15), st.floats(1e-3, 1), st.floats(0, 1))
@settings(max_examples=settings.default.max_examples // 2)
def test_margin_to_expect_is_about_that_of_the_interval_that_is_reported(population, epsilon, rate, share):
    """The planner's is the largest over all truths. That of as many reports as expected is never above it by
    more than a twentieth and one step of the sum, and near to it if every device had an event; far more than
    a cohort reporting."""
    reports = max(20, round(population * rate))
    mechanism = CountNonzero(parameters(epsilon=epsilon, sampling_rate=rate, cohort_size=2))
    flip = mechanism._response.flip_probability
    expected = mechanism.expected_margin(max(population, round(reports / rate)), 0.05)
    step = 1 / (rate * (1 - 2 * flip))
    for part in (share, 1.0):
        total = round(reports * (flip + part * (1 - 2 * flip)))
        estimate = mechanism.estimate([total], reports)
        (margin,) = estimate.intervals[0].margins(estimate.values)
        assert margin <= 1.05 * expected + step
    # Else the ends are those of what is possible.
    if rate < 0.5 and reports > 100 and expected < population / 2:
        assert margin >= 0.75 * expected - step
