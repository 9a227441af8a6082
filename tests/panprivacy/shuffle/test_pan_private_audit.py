"""A look at the state and what the analyzer is given afterwards, audited together, for adjacent streams.

The messages that come after the look are those that the analyzer has and the look has not: with those of the
look they are all that is seen, and the result is made of them (proof of RSP Lemma 3.7). Of the messages of
one place only their XOR tells anything, and what the XOR of so many users is, is known exactly. Dummies have
the value 2, streams differ in one element that is 0 or 1.
"""

import functools
import itertools
import math
import random

import numpy as np
import pytest
from scipy.stats import beta, binom

from panprivacy.shuffle.distinct_elements import DistinctElements, DistinctElementsParameters
from panprivacy.shuffle.pan_private import COUNTS, FixedDummies
from tests.panprivacy.shuffle.recorded import Recorded

pytestmark = pytest.mark.statistical

FAILURE = 5e-8
RUNS = 1_500
PARAMETERS = DistinctElementsParameters(epsilon=0.05, delta=1e-3, cohort_size=12, k=3)
DUMMIES, LENGTH = 4, 4

LOOK, AFTER = 0, 1


class RecordedDistinct(Recorded, DistinctElements):
    def estimate(self, total, reports):
        """Notes what the result would be made of, and makes none."""
        self.analyzed.append((total, reports))


class NoneBefore(FixedDummies):
    """Leaky: the state is empty when the stream starts."""

    def start(self, random_source):
        state = super().start(random_source)
        state.arrays[COUNTS][:] = 0
        return state


class NoneAfter(FixedDummies):
    """Leaky: the result is made of the state as it is."""

    def estimate(self, state, random_source):
        users = int(state.arrays["processed"][0]) + self.invented_users
        return self.protocol.estimate(state.arrays[COUNTS].tolist(), users)


@functools.cache
def seen_in(wrapper, stream, look):
    """The XORs of places 0 and 1 in the state after `look` elements, and of what comes after it.

    Returns:
        of shape (RUNS, 2, 2): look or after, place.
    """
    protocol = RecordedDistinct(PARAMETERS)
    algorithm, source = wrapper(protocol, value=2), random.Random(f"{wrapper.__name__} {stream}")
    seen = np.empty((RUNS, 2, 2), dtype=np.int64)
    for row in seen:
        state = algorithm.start(source)
        for element in stream[:look]:
            algorithm.process(state, element, source)
        looked_at = state.arrays[COUNTS].copy()
        for element in stream[look:]:
            algorithm.process(state, element, source)
        algorithm.estimate(state, source)
        total, _ = protocol.analyzed.pop()
        row[LOOK], row[AFTER] = looked_at[1:4:2] & 1, (np.array(total) - looked_at)[1:4:2] & 1
    return seen


STREAMS = {LOOK: ((0, 2, 2, 2), (1, 2, 2, 2), 1), AFTER: ((2, 2, 2, 0), (2, 2, 2, 1), LENGTH - 1)}
"""Where the element that differs is hidden → both streams, and how many elements come before the look."""


def odd(users):
    """Probability that the XOR is 1 if none of so many users has the place's value."""
    return (1 - (1 - 2 * DistinctElements(PARAMETERS).flip_probability) ** users) / 2


def delta_shown(wrapper, hidden, epsilon):
    """A lower bound on δ at ε, wrong with probability 2·FAILURE: Clopper & Pearson's for both streams.

    The event is that the XOR of place 0 is 1 and that of place 1 is 0.
    """
    likely, unlikely, look = STREAMS[hidden]
    events = [
        int(np.count_nonzero((seen[:, hidden, 0] == 1) & (seen[:, hidden, 1] == 0)))
        for seen in (seen_in(wrapper, stream, look) for stream in (likely, unlikely))
    ]
    return bound_on_delta(*events, epsilon)


def bound_on_delta(likely, unlikely, epsilon):
    lower = beta.ppf(FAILURE, likely, RUNS - likely + 1)
    upper = beta.isf(FAILURE, unlikely + 1, RUNS - unlikely)
    return lower - math.exp(epsilon) * upper


def claim():
    guarantee = FixedDummies(DistinctElements(PARAMETERS)).guarantee()
    return guarantee.epsilon, guarantee.delta


@pytest.mark.parametrize("hidden", [LOOK, AFTER])
def test_look_and_result_together_are_as_private_as_the_guarantee(hidden):
    epsilon, delta = claim()
    # The event's exact probabilities, those of an element and four dummies, agree. Three users would be too
    # few.
    assert (1 - odd(DUMMIES + 1)) / 2 <= math.exp(epsilon) * odd(DUMMIES + 1) / 2 + delta
    assert (1 - odd(DUMMIES - 1)) / 2 > math.exp(epsilon) * odd(DUMMIES - 1) / 2 + delta
    assert delta_shown(FixedDummies, hidden, epsilon) <= delta


@pytest.mark.parametrize(("leaky", "hidden"), [(NoneBefore, LOOK), (NoneAfter, AFTER)])
def test_audit_without_the_dummies_of_one_side_rejects_the_guarantee(leaky, hidden):
    epsilon, delta = claim()
    # Without dummies one user's own XOR shows. Both counts are on their side of these quantiles but with
    # probability 5e-7 in all, and at both the claim is rejected: it is accepted with no more than that.
    low = binom.ppf(2.5e-7, RUNS, (1 - odd(1)) / 2)
    high = binom.isf(2.5e-7, RUNS, odd(1) / 2)
    assert bound_on_delta(low, high, epsilon) > delta
    assert delta_shown(leaky, hidden, epsilon) > delta


def test_look_and_result_have_exactly_the_joint_distribution_of_the_algorithm():
    # Each of sixteen counts is beyond one of its bounds with probability FAILURE/16 on each side.
    stream, _, look = STREAMS[AFTER]
    seen = seen_in(FixedDummies, stream, look)
    ones = [[odd(DUMMIES + look)] * 2, [0.5, odd(DUMMIES + 1)]]
    for pattern in itertools.product((0, 1), repeat=4):
        xors = np.reshape(pattern, (2, 2))
        probability = np.prod(np.where(xors, ones, 1 - np.array(ones)))
        count = np.count_nonzero((seen == xors).all(axis=(1, 2)))
        low, high = (quantile(FAILURE / 16, RUNS, probability) for quantile in (binom.ppf, binom.isf))
        assert low <= count <= high
