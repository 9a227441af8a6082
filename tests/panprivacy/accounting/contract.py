"""What every event does, whatever was released.

A test module inherits `EventContract` and provides the fixture `event`; for an event over a cohort of
n devices it inherits `CohortContract`, where `event` has n from 100 to 10,000, and ε > 0 at δ = 1e-6.
"""

import dataclasses
import functools
import itertools
import json
import math

import numpy as np
import pytest

from panprivacy.accounting.interface import RELATIVE_TOLERANCE, SMALLEST_DELTA
from panprivacy.accounting.registry import event_from_mapping
from tests.refusals import field_refused

DELTAS = [1e-2, 1e-6, 1e-12, SMALLEST_DELTA]


@functools.cache
def epsilon_of(event, delta):
    """`event.epsilon(delta)`, found once for all tests that need it."""
    return event.epsilon(delta)


class EventContract:
    def test_event_sent_as_json_comes_back_equal(self, event):
        members = json.loads(json.dumps(event.as_dict()))
        assert members["kind"] == type(event).kind
        assert event_from_mapping(members) == event
        assert hash(event_from_mapping(members)) == hash(event)

    def test_members_unknown_or_missing_are_refused_by_name(self, event):
        with field_refused("nobody"):
            type(event).from_members({**dataclasses.asdict(event), "nobody": 1})
        for field in dataclasses.fields(event):
            members = dataclasses.asdict(event)
            del members[field.name]
            if field.default is not dataclasses.MISSING:
                assert type(event).from_members(members)
                continue
            with field_refused(field.name, match="missing"):
                type(event).from_members(members)

    impossible = (0, -1, math.nan, math.inf, True, None, "many", 10**400)
    """What no field may be."""

    def test_event_with_an_impossible_value_is_refused_by_name(self, event):
        for field, wrong in itertools.product(dataclasses.fields(event), self.impossible):
            with field_refused(field.name):
                dataclasses.replace(event, **{field.name: wrong})

    def test_epsilon_at_an_impossible_delta_is_refused_by_name(self, event):
        for wrong in (0, 1, -1e-6, SMALLEST_DELTA / 2, math.nan, True, "1e-6"):
            with field_refused("delta"):
                event.epsilon(wrong)

    def test_delta_at_an_impossible_epsilon_is_refused_by_name(self, event):
        for wrong in (-1e-9, math.nan, math.inf, True, "1"):
            with field_refused("epsilon"):
                event.delta(wrong)

    def test_delta_does_not_increase_with_epsilon(self, event):
        top = 2 * epsilon_of(event, 1e-12)
        found = [event.delta(float(epsilon)) for epsilon in np.linspace(0, top, 8)]
        assert all(0 <= after <= before * (1 + 1e-9) for before, after in itertools.pairwise(found))
        assert found[-1] < found[0] <= 1

    @pytest.mark.parametrize("delta", DELTAS)
    def test_epsilon_keeps_delta_and_is_the_smallest_that_does(self, event, delta):
        epsilon = epsilon_of(event, delta)
        assert event.delta(epsilon) <= delta
        if epsilon > 0:
            assert event.delta(epsilon * (1 - 10 * RELATIVE_TOLERANCE)) > delta

    def test_epsilon_at_almost_certain_failure_is_smaller_than_at_almost_none(self, event):
        found = [epsilon_of(event, delta) for delta in (0.999, 0.5, *DELTAS)]
        assert found == sorted(found)
        assert found[0] < found[-1] < math.inf


class CohortContract(EventContract):
    def test_epsilon_of_one_device_is_that_of_its_report_at_most(self, event):
        alone = dataclasses.replace(event, n=1)
        assert epsilon_of(event, 1e-6) < alone.epsilon(1e-6) < math.inf
        assert alone.delta(alone.epsilon(1e-6)) <= 1e-6

    @pytest.mark.parametrize("n", [10**5, pytest.param(10**9, marks=pytest.mark.long)])
    def test_epsilon_of_up_to_a_billion_devices_is_that_of_a_large_cohort(self, event, n):
        """ε falls like 1/√n: by √10 for a tenfold n, give or take a fifth."""
        huge, smaller = dataclasses.replace(event, n=n), dataclasses.replace(event, n=n // 10)
        assert 2.5 < smaller.epsilon(1e-12) / huge.epsilon(1e-12) < 4
        assert 0 <= huge.delta(huge.epsilon(SMALLEST_DELTA)) <= SMALLEST_DELTA

    def test_delta_falls_as_the_cohort_grows(self, event):
        epsilon = event.epsilon(1e-4)
        found = [dataclasses.replace(event, n=event.n * factor).delta(epsilon) for factor in (1, 2, 3, 10)]
        assert found == sorted(found, reverse=True)
        assert found[-1] < found[0] / 10
