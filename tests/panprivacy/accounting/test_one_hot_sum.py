"""Reference numbers, and the definition over every assignment and outcome of all coordinates."""

import dataclasses
from itertools import combinations_with_replacement

import pytest
from mpmath import mp

from panprivacy.accounting.assignments import LARGEST_ENUMERATED
from panprivacy.accounting.guarantees import Relation
from panprivacy.accounting.one_hot_sum import OneHotSum
from panprivacy.accounting.randomized_response_sum import RandomizedResponseSum
from tests.panprivacy.accounting.by_definition import DIGITS, hockey_stick, randomized, released, unit
from tests.panprivacy.accounting.contract import CohortContract
from tests.refusals import field_refused


class TestContract(CohortContract):
    @pytest.fixture
    def event(self):
        return OneHotSum(n=1_000, k=10, epsilon0=1.0)


@pytest.mark.parametrize(("n", "k"), [(1, 2), (1, 3), (2, 2), (2, 3), (3, 2), (3, 3), (5, 2)])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.6, 1.2, 1.9])
def test_delta_of_few_devices_is_the_worst_of_every_assignment(n, k, share):
    epsilon0 = 1.5
    with mp.workdps(DIGITS):
        reports = [randomized(unit(i, k), epsilon0) for i in range(k)]
        worst = {Relation.REPLACE: mp.mpf(0), Relation.ADD_REMOVE: mp.mpf(0)}
        for others in combinations_with_replacement(range(k), n - 1):
            rest = [reports[i] for i in others]
            sums = [released([reports[i], *rest]) for i in range(k)]
            reference = released([randomized((0,) * k, epsilon0), *rest])
            for i in range(k):
                found = hockey_stick(sums[i], reference, share * epsilon0)
                worst[Relation.ADD_REMOVE] = max(worst[Relation.ADD_REMOVE], found)
                for j in range(i):
                    found = hockey_stick(sums[i], sums[j], share * epsilon0)
                    worst[Relation.REPLACE] = max(worst[Relation.REPLACE], found)
        for relation, exact in worst.items():
            event = OneHotSum(n=n, k=k, epsilon0=epsilon0, relation=relation.value)
            assert event.proved
            found = event.delta(share * epsilon0)
            assert exact * (1 - mp.mpf("1e-9")) <= found <= exact * (1 + mp.mpf("1e-9")) + mp.mpf("1e-38")


def test_delta_of_one_coordinate_replaced_is_none_and_removed_of_a_bit():
    alone = OneHotSum(n=50, k=1, epsilon0=2.0)
    assert alone.delta(0.0) == 0.0
    assert alone.epsilon(1e-30) == 0.0
    removed = dataclasses.replace(alone, relation="add_remove")
    assert removed.delta(0.5) == RandomizedResponseSum(n=50, epsilon0=2.0).delta(0.5) > 0


def test_epsilon_replaced_lies_between_that_of_one_coordinate_and_twice_it():
    for n in (5, 100, 5_000):
        replaced, removed = (
            OneHotSum(n=n, k=4, epsilon0=1.0, relation=relation) for relation in ("replace", "add_remove")
        )
        assert removed.epsilon(1e-6) < replaced.epsilon(1e-6) < 2 * removed.epsilon(1e-12)
        assert replaced.epsilon(1e-12) < 2.0 + 1e-6


def test_delta_at_the_limit_of_enumeration_does_not_jump():
    below, above = (OneHotSum(n=n, k=4, epsilon0=1.0) for n in (LARGEST_ENUMERATED, LARGEST_ENUMERATED + 1))
    assert below.proved
    assert not above.proved
    assert 0.7 * below.delta(0.9) < above.delta(0.9) < below.delta(0.9)


@pytest.mark.parametrize("wrong", ["remove", "REPLACE", "", None, 1])
def test_event_of_an_unknown_relation_is_refused_by_name(wrong):
    with field_refused("relation"):
        OneHotSum(n=10, k=3, epsilon0=1.0, relation=wrong)
