import base64
import itertools
import json
import math
import random
from typing import Any

import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from panprivacy.accounting.guarantees import Model, Relation
from panprivacy.encryption import DEFAULT_SCHEME, SCHEMES, generate_private_key
from panprivacy.errors import FieldError
from panprivacy.mechanisms import MECHANISMS
from panprivacy.parameters import Description
from panprivacy.planning import curves
from panprivacy.planning.checkpoint import OutOfTimeError
from panprivacy.planning.curves import AXES, axis_values, error_curve, error_curves_by_epsilon, privacy_curve
from panprivacy.planning.epsilons import epsilons_of, local_epsilon
from panprivacy.planning.expectation import (
    device_bytes,
    expectation_of,
    expected_reports,
    probability_of_at_least,
    shown_margin,
)
from panprivacy.planning.ladder import Ladder
from panprivacy.planning.plan import Question, plan_of
from panprivacy.planning.proposal import Proposal
from panprivacy.planning.solver import UNKNOWNS, solve
from panprivacy.planning.targets import REACHED, Targets

OWN: dict[str, list[dict[str, Any]]] = {
    "count_nonzero": [{}],
    "histogram": [{"k": 10}],
    "mean": [{"k": 10, "guarantee": "aggregator"}, {"k": 10, "guarantee": "local"}],
}
EVERY = [
    pytest.param(statistic, own, id=f"{statistic}{'-'.join(('', *map(str, own.values())))}")
    for statistic in MECHANISMS
    for own in OWN[statistic]
]
"""Every registered statistic: one that is added without an entry here fails at collection."""


def proposal(statistic: str = "count_nonzero", population_size: int = 10_000, **changes: Any) -> Proposal:
    parameters = {"steps": 7, "epsilon": 1.0, "delta": 1e-6, "cohort_size": 1_000, **changes}
    return Proposal.from_mapping(
        {"statistic": statistic, "parameters": parameters, "population_size": population_size}
    )


def margin_of(considered: Proposal) -> float:
    mechanism = considered.mechanism()
    error = mechanism.expected_standard_error(considered.population_size)
    return shown_margin(mechanism, error, considered.population_size)


# Ladder ---------------------------------------------------------------------------


@given(st.floats(1e-9, 1e6), st.floats(1.0, 1e6))
def test_ladder_holds_every_number_with_four_digits_within_its_bounds(low: float, factor: float) -> None:
    high = low * factor
    ladder = Ladder.of(Description(label="x", help="", minimum=low, maximum=high), float)
    if ladder.length < 1:  # no such number between the bounds
        return
    first, last = ladder.value(0), ladder.value(ladder.length - 1)
    assert low <= first
    assert last <= high
    assert first <= low * 1.001
    assert last >= high / 1.001
    for index in {0, ladder.length // 2, ladder.length - 1}:
        assert float(f"{ladder.value(index):.3e}") == ladder.value(index)
    if ladder.length > 1:
        assert first < ladder.value(1) <= first * 1.001000001


@given(st.integers(0, 9_999), st.booleans())
def test_ladder_searched_for_a_threshold_finds_it(threshold: int, rising: bool) -> None:
    ladder = Ladder.of(Description(label="x", help="", minimum=1, maximum=10_000), int)
    if rising:
        assert ladder.first_where(lambda value: value > threshold) == threshold
    else:
        assert ladder.last_where(lambda value: value <= threshold) == (threshold - 1 if threshold else None)


# What to expect ---------------------------------------------------------------------


@pytest.mark.parametrize(("statistic", "own"), EVERY)
def test_expectation_repeats_what_the_mechanism_says(statistic: str, own: dict[str, Any]) -> None:
    considered = proposal(statistic, **own, sampling_rate=0.5)
    expected, mechanism = expectation_of(considered), considered.mechanism()
    assert expected.standard_error == mechanism.expected_standard_error(10_000)
    assert expected.margin == pytest.approx(1.96 * expected.standard_error, rel=1e-4)
    assert (expected.margin_points is None) == (not mechanism.counts_devices)


@pytest.mark.parametrize(("population", "rate"), [(1, 0.3), (20, 0.1), (200, 0.5), (1_000, 1.0)])
def test_expected_reports_are_those_of_the_binomial_distribution(population: int, rate: float) -> None:
    """Against the sum of its probabilities, in integers and floats of Python."""
    probabilities = [
        math.comb(population, r) * rate**r * (1 - rate) ** (population - r) for r in range(population + 1)
    ]
    at_most = list(itertools.accumulate(probabilities))
    considered = proposal(population_size=population, sampling_rate=rate, cohort_size=2).parameters
    expected = expected_reports(population, considered)
    assert expected.mean == population * rate
    below = at_most[expected.low - 1] if expected.low else 0.0
    assert below <= 0.025 + 1e-12
    assert at_most[expected.low] > 0.025 - 1e-12
    assert 1 - at_most[expected.high] <= 0.025 + 1e-12
    assert expected.high == 0 or 1 - at_most[expected.high - 1] > 0.025 - 1e-12
    assert expected.cohort_probability == pytest.approx(1 - at_most[1] if population > 1 else 0.0, abs=1e-12)


@given(st.integers(1, 10**10), st.floats(1e-6, 1), st.data())
@settings(max_examples=50)
def test_probability_of_a_cohort_agrees_with_scipys_binomial(n: int, q: float, data: st.DataObject) -> None:
    spread = 8 * math.sqrt(n * q * (1 - q)) + 8
    reports = data.draw(st.integers(max(0, int(n * q - spread)), min(n, int(n * q + spread))))
    expected = float(scipy.stats.binom.sf(reports - 1, n, q))
    assert probability_of_at_least(reports, n, q) == pytest.approx(expected, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize(
    ("statistic", "own", "scheme"),
    [
        *(pytest.param(*case.values, DEFAULT_SCHEME, id=case.id) for case in EVERY),
        *(pytest.param("count_nonzero", {}, scheme, id=scheme) for scheme in SCHEMES),
    ],
)
def test_device_bytes_are_those_of_a_real_state_and_a_real_report(
    statistic: str, own: dict[str, Any], scheme: str
) -> None:
    source = random.Random(1)
    mechanism = proposal(statistic, **{**own, **({"k": 2} if "k" in own else {})}).mechanism()
    key = generate_private_key(scheme, source).public_key
    state = mechanism.start(key, source)
    expected = device_bytes(mechanism, scheme)
    assert expected.state == sum(len(bytes(ciphertext)) for ciphertext in state)
    report = mechanism.report_of_count(key, 0, source)
    body = {
        "nonce": base64.b64encode(bytes(16)).decode(),
        "ciphertexts": [base64.b64encode(bytes(ciphertext)).decode() for ciphertext in report],
    }
    assert expected.report == len(json.dumps(body))


# Solving ------------------------------------------------------------------------------


@pytest.mark.parametrize("unknown", ["epsilon", "population_size", "sampling_rate"])
@pytest.mark.parametrize(("statistic", "own"), EVERY)
def test_solve_for_a_margin_inverts_the_expected_error(
    statistic: str, own: dict[str, Any], unknown: str
) -> None:
    """The value found meets the margin, the next smaller one does not."""
    known = proposal(statistic, 20_000, **own, epsilon=0.8, sampling_rate=0.5, cohort_size=100)
    wanted = margin_of(known)
    start = known.having(unknown, {"epsilon": 5.0, "population_size": 10**6, "sampling_rate": 1.0}[unknown])
    solution = solve(start, unknown, Targets(margin=wanted))
    assert solution.proposal is not None
    assert margin_of(solution.proposal) <= wanted
    found = solution.proposal.value(unknown)
    assert found == pytest.approx(known.value(unknown), rel=2e-3)
    ladder = Ladder.of(*known.description(unknown))
    (index,) = (i for i in _near(ladder, found) if ladder.value(i) == found)
    assert margin_of(known.having(unknown, ladder.value(index - 1))) > wanted


def _near(ladder: Ladder, value: float) -> range:
    low = ladder.last_where(lambda other: other <= value)
    assert low is not None
    return range(low, low + 1)


@given(
    st.sampled_from([(p.values[0], tuple(p.values[1].items())) for p in EVERY]),
    st.sampled_from(["epsilon", "population_size", "sampling_rate", "cohort_size"]),
    st.floats(0.02, 0.9),
    st.floats(1.05, 20),
)
@settings(max_examples=60, deadline=None)
def test_margin_never_grows_with_a_parameter_that_the_search_takes_for_helpful(
    chosen: Any, unknown: str, low: float, factor: float
) -> None:
    statistic, own = chosen
    start = proposal(statistic, 10**6, **dict(own), sampling_rate=0.5)
    scale = {"epsilon": 1.0, "population_size": 1e6, "sampling_rate": 1.0, "cohort_size": 1e5}[unknown]
    description, kind = start.description(unknown)
    high = min(description.maximum or math.inf, low * factor * scale)
    values = [kind(low * scale), kind(max(low * scale, high))]
    smaller, larger = (margin_of(start.having(unknown, value)) for value in values)
    # Scales of noise are rounded up to six decimals.
    assert larger <= smaller * (1 + 1e-5)


@pytest.mark.parametrize("unknown", UNKNOWNS)
@pytest.mark.parametrize(("statistic", "own"), EVERY)
def test_solve_whatever_is_unknown_returns_only_what_meets_every_target(
    statistic: str, own: dict[str, Any], unknown: str
) -> None:
    start = proposal(statistic, **own)
    for factor in (0.3, 3.0):
        wanted = factor * margin_of(start)
        solution = solve(start, unknown, Targets(margin=wanted))
        for found in (solution.proposal, *(other.proposal for other in solution.alternatives)):
            if found is not None:
                assert margin_of(found) <= wanted
                parameters = found.parameters
                assert expected_reports(found.population_size, parameters).cohort_probability >= REACHED
        assert (solution.proposal is None) == bool(solution.unmet)


def test_solve_for_a_margin_without_an_answer_names_how_many_devices_would_do() -> None:
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


def test_solve_for_population_with_a_cohort_in_reach_reaches_it() -> None:
    solution = solve(proposal(cohort_size=50_000, sampling_rate=0.1), "population_size", Targets(margin=90.0))
    assert solution.proposal is not None
    population = solution.proposal.population_size
    assert probability_of_at_least(50_000, population, 0.1) >= REACHED
    assert probability_of_at_least(50_000, population - 1, 0.1) < REACHED


AGGREGATOR = {"aggregator_epsilon": 0.5, "aggregator_delta": 1e-6}


def aggregator_epsilon_of(considered: Proposal) -> float:
    mechanism = considered.mechanism()
    return mechanism.aggregator_event().epsilon(mechanism.parameters.delta)


@pytest.mark.parametrize("unknown", UNKNOWNS)
@pytest.mark.parametrize(("statistic", "own"), EVERY)
def test_solve_for_both_targets_returns_only_what_keeps_both(
    statistic: str, own: dict[str, Any], unknown: str
) -> None:
    """Recomputed here with the mechanism's own inversion, which the search does not use."""
    start = proposal(statistic, 20_000, **own, epsilon=1.5)
    wanted = 4 * margin_of(start)
    solution = solve(start, unknown, Targets(margin=wanted, **AGGREGATOR))
    found = [solution.proposal, *(other.proposal for other in solution.alternatives)]
    assert any(found)
    for considered in found:
        if considered is not None:
            assert margin_of(considered) <= wanted
            assert aggregator_epsilon_of(considered) <= 0.5 * (1 + 1e-9)


def test_solve_for_epsilon_with_an_aggregator_alone_inverts_it() -> None:
    """The largest ε₀ for (1, 1e-6) and 10,000 devices, computed independently: 5.68900."""
    targets = Targets(aggregator_epsilon=1.0, aggregator_delta=1e-6)
    solution = solve(proposal(cohort_size=10_000, population_size=10_000), "epsilon", targets)
    assert solution.proposal is not None
    found = solution.proposal.parameters.epsilon
    assert aggregator_epsilon_of(solution.proposal) <= 1.0
    assert found == 5.689
    assert aggregator_epsilon_of(solution.proposal.having("epsilon", found + 0.001)) > 1.0


def test_solve_for_epsilon_between_conflicting_targets_keeps_privacy_and_names_the_population() -> None:
    start = proposal(population_size=2_000, cohort_size=1_000)
    targets = Targets(margin=2.0, aggregator_epsilon=0.15, aggregator_delta=1e-6)
    solution = solve(start, "epsilon", targets)
    assert solution.proposal is None
    assert solution.unmet == ("margin",)
    assert aggregator_epsilon_of(solution.closest) <= 0.15
    (larger,) = [other for other in solution.alternatives if "population_size" in other.changes]
    needed = larger.proposal
    assert margin_of(needed) <= 2.0 < margin_of(needed.having("population_size", needed.population_size - 1))


@pytest.mark.parametrize("sampling_rate", [1.0, 0.2])
@pytest.mark.parametrize(("statistic", "own"), EVERY)
def test_shown_epsilons_lie_just_above_those_of_the_guarantees(
    statistic: str, own: dict[str, Any], sampling_rate: float
) -> None:
    mechanism = proposal(statistic, **own, sampling_rate=sampling_rate, cohort_size=100).mechanism()
    shown = epsilons_of(mechanism)
    stated = {
        guarantee.model: guarantee
        for guarantee in mechanism.guarantees()
        if guarantee.relation == Relation.REPLACE and not guarantee.dishonest_fraction
    }
    pairs = [
        (shown.local, stated[Model.LOCAL].epsilon),
        (shown.aggregator, stated[Model.AGGREGATOR].epsilon),
        (shown.sampled, stated[Model.SAMPLED].epsilon if Model.SAMPLED in stated else None),
    ]
    for found, exact in pairs:
        assert (found is None) == (exact is None)
        if found is not None and exact is not None:
            # A promise is stated as such where the noise, rounded up, keeps a little more.
            assert exact * (1 - 1e-5) <= found <= exact * (1 + 2e-5)


@pytest.mark.parametrize(
    ("targets", "field"),
    [
        ({}, "targets"),
        ([], "targets"),
        ({"margin": 0}, "margin"),
        ({"margin": True}, "margin"),
        ({"margin": "2"}, "margin"),
        ({"aggregator_epsilon": 1.0}, "aggregator_delta"),
        ({"aggregator_delta": 1e-6}, "aggregator_epsilon"),
        ({"aggregator_epsilon": 1.0, "aggregator_delta": 2}, "aggregator_delta"),
        ({"points": 2}, "points"),
    ],
)
def test_targets_that_cannot_be_are_refused_by_name(targets: Any, field: str) -> None:
    with pytest.raises(FieldError) as refused:
        Targets.from_mapping(targets)
    assert refused.value.field == field


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"statistic": "median"}, "statistic"),
        ({"population_size": 0}, "population_size"),
        ({"population_size": 1.5}, "population_size"),
        ({"population_size": None}, "population_size"),
        ({"parameters": []}, "parameters"),
        ({"parameters": {"aggregator_epsilon": 1.0}}, "aggregator_epsilon"),
        ({"parameters": {"steps": 7}}, "epsilon"),
        ({"encryption": "rot13"}, "encryption"),
        ({"devices": 3}, "devices"),
    ],
)
def test_proposal_that_cannot_be_is_refused_by_name(changes: dict[str, Any], field: str) -> None:
    with pytest.raises(FieldError) as refused:
        Proposal.from_mapping({**proposal().as_dict(), **changes})
    assert refused.value.field == field


@pytest.mark.parametrize(("statistic", "own"), EVERY)
def test_proposal_written_and_read_is_the_same(statistic: str, own: dict[str, Any]) -> None:
    considered = proposal(statistic, **own)
    assert Proposal.from_mapping(considered.as_dict()) == considered


# Curves and the whole ---------------------------------------------------------------------


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize(("statistic", "own"), EVERY)
def test_curves_go_through_the_proposal_itself(
    statistic: str, own: dict[str, Any], axis: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(curves, "AXIS_POINTS", 4)
    considered = proposal(statistic, **own)
    values = axis_values(considered, axis, curves.AXIS_POINTS)
    assert list(values) == sorted(set(values))
    place = values.index(considered.value(axis))
    curve = privacy_curve(considered, axis)
    assert curve.local[place] == local_epsilon(considered.mechanism())
    margin = error_curve(considered, axis).margins[place]
    at_cohort = considered.having("population_size", 1_000) if axis == "cohort_size" else considered
    assert margin == pytest.approx(margin_of(at_cohort))


def test_error_curves_by_epsilon_hold_a_line_for_the_proposal() -> None:
    lines = {curve.epsilon: curve.margins for curve in error_curves_by_epsilon(proposal(epsilon=1.0))}
    values = axis_values(proposal(epsilon=1.0), "cohort_size", curves.POINTS)
    at_cohort = proposal(epsilon=1.0, population_size=1_000)
    assert lines[1.0][values.index(1_000)] == pytest.approx(margin_of(at_cohort))
    assert lines[0.5] > lines[1.0] > lines[2.0]


def test_plan_stopped_in_the_middle_keeps_what_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(curves, "AXIS_POINTS", 4)
    question = Question(proposal(), "epsilon", Targets(margin=2.0))
    whole = plan_of(question)
    assert whole.complete
    for allowed in (0, 15, 60):
        calls = itertools.count()

        def stop(calls: Any = calls, allowed: int = allowed) -> None:
            if next(calls) >= allowed:
                raise OutOfTimeError

        part = plan_of(question, stop)
        assert not part.complete
        assert part.expectation == whole.expectation
        assert part.solution in (None, whole.solution)
        assert set(part.errors.items()) <= set(whole.errors.items())
    json.dumps(whole.as_dict(), allow_nan=False)
