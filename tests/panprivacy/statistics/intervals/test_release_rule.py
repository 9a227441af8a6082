"""How likely results are, and how few devices so many reports can come of, against the definitions."""

import math

import numpy as np
import pytest
from scipy.stats import binom

from panprivacy.accounting import noisy_count
from panprivacy.statistics.intervals.release_rule import RARE_RELEASE, ReleaseRule


@pytest.mark.parametrize("rate", [0.01, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("cohort", [2, 100, 10_000, 1_000_000])
def test_probability_with_a_margin_is_that_of_two_servers(cohort, rate):
    rule = ReleaseRule(cohort, rate, noisy=True)
    most = cohort + 2 * noisy_count.usual_margin(cohort)
    populations = np.linspace(cohort / rate, 1.1 * most / rate, 60).round().astype(int)
    exact = [noisy_count.release_probability(cohort, int(size), rate) for size in populations]
    for found, expected in zip(rule.probability(populations), exact, strict=True):
        if expected > 1e-3:
            assert found == pytest.approx(expected, rel=0.01)
        else:
            assert found < 2e-3


def test_probability_without_noise_is_a_binomial_tail():
    populations = np.array([1, 99, 100, 250])
    found = ReleaseRule(100, 0.6).probability(populations)
    assert found == pytest.approx(binom.sf(99, populations, 0.6), rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("noisy", [False, True])
@pytest.mark.parametrize(("cohort", "rate", "shown"), [(20, 0.3, 25), (20, 0.3, 60), (50, 0.8, 51)])
def test_fewest_devices_are_the_first_with_a_likely_enough_number(cohort, rate, shown, noisy):
    rule, failure = ReleaseRule(cohort, rate, noisy), 0.01
    noise = np.arange(-200, 201)
    chances = np.exp(-np.abs(noise) / rule.noise_scale) if noisy else (noise == 0).astype(float)
    chances /= chances.sum()

    def likely(size):
        reached = binom.sf(shown - noise - 1, size, rate) @ chances
        released = (
            noisy_count.release_probability(cohort, size, rate) if noisy else binom.sf(cohort - 1, size, rate)
        )
        return reached / released if released >= RARE_RELEASE else 0.0

    expected = next(size for size in range(1, 10_000) if likely(size) > failure)
    (found,) = rule.least_population(np.array([shown]), failure)
    assert abs(found - min(expected, math.ceil(shown / rate))) <= (1 if noisy else 0)
