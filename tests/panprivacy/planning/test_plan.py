import json
from dataclasses import replace
from itertools import pairwise

import pytest

from panprivacy.planning import curves
from panprivacy.planning.curves import AXES
from panprivacy.planning.plan import Depth, Question, plan_of, plans_of
from panprivacy.planning.targets import Targets

from .proposals import proposal


def test_each_part_of_a_plan_has_all_of_the_one_before_it(monkeypatch):
    monkeypatch.setattr(curves, "AXIS_POINTS", 2)
    question = Question(proposal("mean", k=3, guarantee="local"), "epsilon", Targets(margin=2.0))
    *parts, whole = plans_of(question)
    assert whole.complete
    assert whole == plan_of(question)
    assert set(parts[0].curves.margin) == set(AXES), "margins come before anything that takes long"
    assert parts[0].curves.margin_by_epsilon
    for part, fuller in pairwise([*parts, whole]):
        assert not part.complete
        assert part.expectation == whole.expectation
        assert part.solution in (None, fuller.solution)
        assert set(part.curves.epsilon) <= set(fuller.curves.epsilon)
        assert part.guarantees is None or fuller.guarantees is not None
    json.dumps(whole.as_dict(), allow_nan=False)


@pytest.mark.parametrize("sampling_rate", [1.0, 0.5])
def test_plan_that_is_quick_draws_only_sums_of_bits(sampling_rate, monkeypatch):
    monkeypatch.setattr(curves, "AXIS_POINTS", 4)
    plan = plan_of(Question(proposal(sampling_rate=sampling_rate)), depth=Depth.QUICK)
    assert set(plan.curves.margin) == set(plan.curves.epsilon) == set(AXES)
    for curve in plan.curves.epsilon.values():
        assert all(curve.aggregator)
        assert not any(curve.sampled)
    assert plan.guarantees is None
    assert not plan.complete


def test_plan_that_is_quick_looks_at_no_event_that_is_not(monkeypatch):
    monkeypatch.setattr(curves, "AXIS_POINTS", 4)
    question = Question(proposal("histogram", k=3, coin="bucket"), "epsilon", Targets(margin=5.0))
    plan = plan_of(question, depth=Depth.QUICK)
    assert set(plan.curves.margin) == set(AXES)
    assert plan.curves.epsilon == {}
    assert plan.epsilons.aggregator is None
    assert plan.solution is not None


def test_plan_that_is_solved_has_at_least_what_a_quick_one_has(monkeypatch):
    """It takes the quick one's place on the page."""
    monkeypatch.setattr(curves, "AXIS_POINTS", 4)
    question = Question(proposal(), "epsilon", Targets(margin=2.0))
    quick, solved = (plan_of(question, depth=depth) for depth in (Depth.QUICK, Depth.SOLVED))
    assert solved.guarantees is not None
    assert replace(solved, guarantees=None) == quick
