import math
import random

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st

from research.theory import square_root_of_t as theory
from tests.research.theory.randomized_counter import RandomizedCounter

EPSILONS = st.floats(0.05, 4)


def with_and_without_event(steps, epsilon):
    """P₀ and P₁ of LPP Lemma 3.2, by convolution."""
    p = theory.flip_probability(epsilon)
    without = scipy.stats.binom.pmf(np.arange(steps + 1), steps, p)
    others = scipy.stats.binom.pmf(np.arange(steps), steps - 1, p)
    return without, np.convolve(others, [p, 1 - p])


@settings(max_examples=50)
@given(st.integers(1, 60), EPSILONS)
def test_total_variation_obeys_theorem_12(steps, epsilon):
    without, with_event = with_and_without_event(steps, epsilon)
    exact = np.abs(without - with_event).sum() / 2
    assert theory.total_variation(steps, epsilon) == pytest.approx(exact, rel=1e-9)
    assert exact <= theory.printed_total_variation_bound(steps, epsilon) * (1 + 1e-9)


@settings(max_examples=50)
@given(st.integers(1, 60), EPSILONS)
def test_debiased_sum_has_the_smallest_variance(steps, epsilon):
    # Hammersley, Chapman and Robbins: no unbiased function has less than 1/χ²(P₁, P₀) without events.
    without, with_event = with_and_without_event(steps, epsilon)
    smallest = 1 / np.sum((with_event - without) ** 2 / without)
    assert theory.standard_error(1, steps, epsilon) ** 2 == pytest.approx(smallest, rel=1e-6)


def test_error_bound_stays_below_the_error_of_the_best_known_devices():
    devices = 1_000_000  # far more than the standard error: with fewer, all of them may have an event
    for epsilon in (0.2, 1.0, 3.0):
        ratios = [
            theory.error_bound(devices, steps, epsilon) / theory.standard_error(devices, steps, epsilon)
            for steps in (16, 256, 1024)
        ]
        # √(2/π) turns the standard error of a normal estimate into its expected error.
        assert all(0.2 < ratio < math.sqrt(2 / math.pi) for ratio in ratios)
        assert max(ratios) / min(ratios) < 1.1


def test_error_bound_is_no_less_than_for_any_single_theta():
    devices, epsilon = 10_000, 1.0
    p = theory.flip_probability(epsilon)
    best = theory.error_bound(devices, 1, epsilon)
    for theta in (0.005, 0.01, 0.02, 0.05):
        rate = (1 - theta) * p + theta * (1 - p)
        affinity = math.sqrt((1 - p) * (1 - rate)) + math.sqrt(p * rate)
        variation = math.sqrt(1 - affinity ** (2 * devices))
        at_theta = (devices * theta * (1 - variation) - math.sqrt(devices * theta * (1 - theta))) / 2
        assert at_theta <= best * (1 + 1e-6)


@pytest.mark.statistical
def test_simulated_sum_is_that_of_devices_taking_every_step():
    # Means and variances of estimates from devices taken step by step and from the shortcut, against exact
    # ones: the mean within 5.5 standard errors (failure 4e-8 each), the variance of nearly normal sums within
    # 45% (χ² with 300 degrees of freedom: failure below 1e-6).
    devices, steps, epsilon, repetitions = 40, 6, 1.0, 300
    assert scipy.stats.chi2.sf(300 * 1.45, 300) + scipy.stats.chi2.cdf(300 * 0.55, 300) < 1e-6
    random_source = random.Random(7)
    counter = RandomizedCounter(steps, epsilon)
    by_steps = []
    for _ in range(repetitions):
        outputs = []
        for device in range(devices):
            state, _ = counter.initialize(random_source)
            for step in range(1, steps + 1):
                # Half of the devices have their event at one of the steps.
                state = counter.step(state, device < 20 and step == 1 + device % steps, step, random_source)
            outputs.append(counter.output(state, random_source))
        # The counter counts events, of which these devices have at most one.
        by_steps.append(counter.estimate([None] * devices, outputs))
    shortcut = theory.randomized_estimates(devices, steps, epsilon, 20, repetitions, random_source)
    error = theory.standard_error(devices, steps, epsilon)
    for estimates in (np.array(by_steps), shortcut):
        assert abs(estimates.mean() - 20) < 5.5 * error / math.sqrt(repetitions)
        assert 0.55 < np.mean((estimates - 20) ** 2) / error**2 < 1.45
