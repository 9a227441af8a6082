import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panprivacy.planning.expectation import expected_reports
from panprivacy.planning.likelihood import REACHED
from panprivacy.planning.solver import DIGITS, UNKNOWNS, solve
from panprivacy.planning.targets import Targets
from panprivacy.planning.value_search import ALL_DIGITS, Values
from panprivacy.statistics.trust_models.single_server import OneServer

from .proposals import EVERY, aggregator_epsilon_of, margin_of, proposal


@pytest.mark.parametrize("unknown", ["epsilon", "population_size", "sampling_rate"])
@pytest.mark.parametrize(("statistic", "own"), EVERY)
def test_solve_for_a_margin_inverts_the_expected_error(statistic, own, unknown):
    """The value found meets the margin, the next smaller one does not."""
    known = proposal(statistic, 20_000, **own, epsilon=0.8, sampling_rate=0.5, cohort_size=100)
    wanted = margin_of(known)
    start = known.having(unknown, {"epsilon": 5.0, "population_size": 10**6, "sampling_rate": 1.0}[unknown])
    solution = solve(start, unknown, Targets(margin=wanted))
    assert solution.proposal is not None
    assert margin_of(solution.proposal) <= wanted
    found = solution.proposal.value(unknown)
    assert found == pytest.approx(known.value(unknown), rel=2e-3)
    description, kind = known.description(unknown)
    digits = ALL_DIGITS if kind is int else DIGITS
    values = Values.of(description.minimum, description.maximum, digits=digits, whole=kind is int)
    index = values.index(found)
    assert values.value(index) == found
    assert margin_of(known.having(unknown, values.value(index - 1))) > wanted


@given(
    st.sampled_from([(p.values[0], tuple(p.values[1].items())) for p in EVERY]),
    st.sampled_from(["epsilon", "population_size", "sampling_rate", "cohort_size"]),
    st.floats(0.02, 0.9),
    st.floats(1.05, 20),
)
@settings(max_examples=40)
def test_margin_never_grows_with_a_helpful_parameter(chosen, unknown, low, factor):
    statistic, own = chosen
    start = proposal(statistic, 10**6, **dict(own), sampling_rate=0.5)
    scale = {"epsilon": 1.0, "population_size": 1e6, "sampling_rate": 1.0, "cohort_size": 1e5}[unknown]
    description, kind = start.description(unknown)
    high = min(description.maximum or math.inf, low * factor * scale)
    values = [kind(low * scale), kind(max(low * scale, high))]
    smaller, larger = (margin_of(start.having(unknown, value)) for value in values)
    # Scales of noise are rounded up to six decimals.
    assert larger <= smaller * (1 + 1e-5)


QUICK = ("count_nonzero", "mean-10-local")


@pytest.mark.parametrize(("statistic", "own"), [
    # The others compose two coordinates, or calibrate the noise that a cohort shares, for every value.
    pytest.param(*case.values, id=case.id, marks=[pytest.mark.long] * (case.id not in QUICK))
    for case in EVERY
])  # fmt: skip
@pytest.mark.parametrize("unknown", UNKNOWNS)
def test_solve_whatever_is_unknown_returns_only_what_meets_every_target(statistic, own, unknown):
    """ε is recomputed here with the mechanism's own inversion, which the search does not use."""
    start = proposal(statistic, 20_000, **own, epsilon=1.5)
    aggregator = {"aggregator_epsilon": 0.5, "aggregator_delta": 1e-6}
    for factor, more in ((0.3, {}), (4.0, aggregator)):
        wanted = factor * margin_of(start)
        solution = solve(start, unknown, Targets(margin=wanted, **more))
        assert (solution.proposal is None) == bool(solution.unmet)
        found = [solution.proposal, *(other.proposal for other in solution.alternatives)]
        assert any(found) or not more
        for considered in filter(None, found):
            assert margin_of(considered) <= wanted
            assert not more or aggregator_epsilon_of(considered) <= 0.5 * (1 + 1e-9)
            parameters = considered.parameters
            expected = expected_reports(considered.population_size, parameters, considered.servers)
            assert expected.cohort_probability >= REACHED


def test_solve_for_a_margin_without_answer_names_how_many_would_do():
    start = proposal(population_size=1_000, epsilon=20, cohort_size=500)
    # Sampling alone leaves ± 2.0 points at q = 0.7; no ε mends that.
    start = start.having("sampling_rate", 0.7)
    solution = solve(start, "epsilon", Targets(margin=1.0))
    assert solution.proposal is None
    assert solution.unmet == ("margin",)
    by_name = {tuple(sorted(other.changes)): other.proposal for other in solution.alternatives}
    larger = by_name[("population_size",)]
    assert margin_of(larger) <= 1.0
    assert margin_of(larger.having("population_size", larger.population_size - 1)) > 1.0
    assert margin_of(by_name[("sampling_rate",)]) <= 1.0


def test_solve_for_population_with_a_cohort_in_reach_reaches_it():
    solution = solve(proposal(cohort_size=50_000, sampling_rate=0.1), "population_size", Targets(margin=90.0))
    assert solution.proposal is not None
    population = solution.proposal.population_size
    assert OneServer.release_probability(50_000, population, 0.1) >= REACHED
    assert OneServer.release_probability(50_000, population - 1, 0.1) < REACHED


def test_solve_for_epsilon_with_an_aggregator_alone_inverts_it():
    """The largest ε₀ for (1, 1e-6) and 10,000 devices, computed independently: 5.68900."""
    targets = Targets(aggregator_epsilon=1.0, aggregator_delta=1e-6)
    solution = solve(proposal(cohort_size=10_000, population_size=10_000), "epsilon", targets)
    assert solution.proposal is not None
    found = solution.proposal.parameters.epsilon
    assert aggregator_epsilon_of(solution.proposal) <= 1.0
    assert found == 5.689
    assert aggregator_epsilon_of(solution.proposal.having("epsilon", found + 0.001)) > 1.0


def test_solve_for_epsilon_of_conflicting_targets_keeps_privacy():
    start = proposal(population_size=2_000, cohort_size=1_000)
    targets = Targets(margin=2.0, aggregator_epsilon=0.15, aggregator_delta=1e-6)
    solution = solve(start, "epsilon", targets)
    assert solution.proposal is None
    assert solution.unmet == ("margin",)
    assert aggregator_epsilon_of(solution.closest) <= 0.15
    (larger,) = [other for other in solution.alternatives if "population_size" in other.changes]
    needed = larger.proposal
    assert margin_of(needed) <= 2.0 < margin_of(needed.having("population_size", needed.population_size - 1))
