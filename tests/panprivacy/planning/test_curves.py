import pytest

from panprivacy.planning import curves
from panprivacy.planning.curves import AXES, axis_values, error_curve, error_curves_by_epsilon, privacy_curve
from panprivacy.planning.epsilons import epsilons_of, local_epsilon
from panprivacy.planning.inversion import CURVE_TOLERANCE

from .proposals import EVERY, aggregator_epsilon_of, margin_of, proposal


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize(
    ("statistic", "own"),
    [
        # Every value composes two coordinates; numbers of one take the same path.
        pytest.param(*case.values, id=case.id, marks=[pytest.mark.long] * (case.values[0] == "histogram"))
        for case in EVERY
    ],
)
def test_curves_go_through_the_proposal_itself(statistic, own, axis, monkeypatch):
    monkeypatch.setattr(curves, "AXIS_POINTS", 2)
    considered = proposal(statistic, **own)
    values = axis_values(considered, axis, curves.AXIS_POINTS)
    assert list(values) == sorted(set(values))
    place = values.index(considered.value(axis))
    curve = privacy_curve(considered, axis, sampled_too=False)
    assert curve.local[place] == local_epsilon(considered.mechanism())
    assert curve.aggregator[place] == pytest.approx(aggregator_epsilon_of(considered), rel=CURVE_TOLERANCE)
    assert not any(curve.sampled)
    margin = error_curve(considered, axis).margins[place]
    at_cohort = considered.having("population_size", 1_000) if axis == "cohort_size" else considered
    assert margin == pytest.approx(margin_of(at_cohort))


@pytest.mark.parametrize(
    ("statistic", "own"),
    [
        pytest.param(*case.values, id=case.id, marks=[pytest.mark.long] * ("k" in case.values[1]))
        for case in EVERY
    ],
)
def test_privacy_curve_of_sampled_devices_goes_through_the_proposal_itself(statistic, own, monkeypatch):
    monkeypatch.setattr(curves, "AXIS_POINTS", 2)
    considered = proposal(statistic, **own, sampling_rate=0.3, cohort_size=4)
    curve = privacy_curve(considered, "sampling_rate")
    exact = epsilons_of(considered.mechanism()).sampled
    assert exact is not None
    assert curve.sampled[curve.values.index(0.3)] == pytest.approx(exact, rel=CURVE_TOLERANCE)
    assert curve.sampled[curve.values.index(1.0)] is None


def test_error_curves_by_epsilon_hold_a_line_for_the_proposal():
    lines = {curve.epsilon: curve.margins for curve in error_curves_by_epsilon(proposal(epsilon=1.0))}
    values = axis_values(proposal(epsilon=1.0), "cohort_size", curves.POINTS)
    at_cohort = proposal(epsilon=1.0, population_size=1_000)
    assert lines[1.0][values.index(1_000)] == pytest.approx(margin_of(at_cohort))
    assert lines[0.5] > lines[1.0] > lines[2.0]
