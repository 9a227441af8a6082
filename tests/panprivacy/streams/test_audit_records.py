"""Algorithms that protect one element of the stream, audited at both looks and at the result.

An element raises a counter by 1. Seen is by how much the counter rose to the first look, between the looks
(the first is announced), and to the result. Half of all binomial draws are even, whatever is added to them:
so that a rise is odd is as likely with the element as without. Where there is no noise, or the same in all
runs, it is certain with it and impossible without it, or the other way round.
"""

import random

import numpy as np
import pytest

from panprivacy.streams.counter import PanPrivateCounter, PanPrivateCounterParameters
from panprivacy.streams.pan_histogram import PanHistogram
from tests.panprivacy.streams.audit import epsilon_shown, probability_of_acceptance
from tests.panprivacy.streams.test_pan_histogram import pan_histogram

pytestmark = pytest.mark.statistical

RUNS = 4_000
EPSILON, DELTA = 2.0, 0.05


def histogram_rises(kind, place):
    """One run for each counter; the element of each comes before the look or the result at this place."""
    statistic = kind(pan_histogram(size=RUNS, epsilon=EPSILON, delta=DELTA, announced=1).parameters)
    source = random.Random(f"{kind.__name__} {place}")
    state = statistic.start(source)
    seen = [np.zeros(RUNS)]
    for now in range(3):
        if now == place:
            statistic.process_batch(state, np.arange(RUNS), source)
        seen.append(state.arrays["counters"].copy() if now < 2 else statistic.noisy_counts(state, source))
        if now == 0:
            statistic.announce_intrusion(state, source)
    return np.diff(seen, axis=0)


def counter_rises(kind, place):
    """Runs one after the other; the bit at this place is 1, all others are 0."""
    counter = kind(PanPrivateCounterParameters(epsilon=EPSILON, delta=DELTA, announced_intrusions=1))
    source = random.Random(f"{kind.__name__} {place}")
    seen = np.zeros((4, RUNS))
    for run in range(RUNS):
        state = counter.start(source)
        for now in range(3):
            counter.process(state, int(now == place))
            (seen[now + 1, run],) = (
                state.arrays["counter"] if now < 2 else counter.noisy_counts(state, source)
            )
            if now == 0:
                counter.announce_intrusion(state, source)
    return np.diff(seen, axis=0)


class ConstantHistogram(PanHistogram):
    """Leaky: it starts at a constant, adds it after an announced intrusion, and to the result."""

    def start(self, random_source):
        state = super().start(random_source)
        state.arrays["counters"][:] = 64
        return state

    def announce_intrusion(self, state, random_source):
        state.announced_intrusions += 1
        state.arrays["counters"] += 64

    def noisy_counts(self, state, random_source):
        return state.arrays["counters"] + 64


class ConstantCounter(PanPrivateCounter):
    """Leaky: the same."""

    def start(self, random_source):
        state = super().start(random_source)
        state.arrays["counter"][:] = 64
        return state

    def announce_intrusion(self, state, random_source):
        state.announced_intrusions += 1
        state.arrays["counter"] += 64

    def noisy_counts(self, state, random_source):
        return state.arrays["counter"] + 64


def epsilons_shown(rises, kind):
    """At each place the larger of what two events show: a rise is odd, and it is even."""
    without = rises(kind, None) % 2 == 1
    found = []
    for place in range(3):
        odd = [int((rises(kind, place)[place] % 2 == 1).sum()), int(without[place].sum())]
        found.append(
            max(epsilon_shown(*counts, RUNS, DELTA) for counts in (odd, [RUNS - count for count in odd]))
        )
    return found


@pytest.mark.parametrize(
    ("rises", "kind"), [(histogram_rises, PanHistogram), (counter_rises, PanPrivateCounter)]
)
def test_counter_of_elements_is_as_private_as_stated_at_every_look_and_in_the_result(rises, kind):
    assert max(epsilons_shown(rises, kind)) <= EPSILON


@pytest.mark.parametrize(
    ("rises", "kind"), [(histogram_rises, ConstantHistogram), (counter_rises, ConstantCounter)]
)
def test_audit_of_constants_in_place_of_any_of_the_noises_rejects_the_claim(rises, kind):
    assert probability_of_acceptance(1.0, 0.0, RUNS, EPSILON, DELTA) <= 1e-6
    assert min(epsilons_shown(rises, kind)) > EPSILON


def test_noise_of_a_few_bits_is_rejected_where_the_largest_rise_gives_the_element_away():
    class FewBits(PanHistogram):
        """Leaky: the noise of the result has 2 bits."""

        def noisy_counts(self, state, random_source):
            counters = state.arrays["counters"]
            return counters + [random_source.getrandbits(2).bit_count() for _ in counters]

    assert probability_of_acceptance(1 / 4, 0.0, RUNS, EPSILON, DELTA) <= 1e-6
    largest = [int((histogram_rises(FewBits, place)[2] == 3).sum()) for place in (2, None)]
    assert epsilon_shown(*largest, RUNS, DELTA) > EPSILON
