"""Estimates are unbiased and their standard errors are right, for every statistic, with and without sampling.

R collections are simulated from devices with fixed counts. Their estimates' mean has standard
deviation SE/√R, and is compared with the truth at the z for which a normal mean fails with probability
FAILURE (with R·n ≥ 1.5·10^4 reports of light-tailed noise behind it, the mean is normal as far as that
matters). Their variance is compared with the chi-square distribution in the same way: 150 collections show
one that is twice what it should be with probability above 3/4, 1,000 one that is a third more. FAILURE is
that of one comparison; the tests make fewer than 50 of either size, so that right code fails any of them
with probability below 100·FAILURE = 1e-6.
"""

import random

import numpy as np
import pytest
from scipy.stats import chi2, norm

from panprivacy.formats.parameters import Parameters
from panprivacy.statistics.events.count_nonzero import CountNonzero
from panprivacy.statistics.events.histogram import Histogram, HistogramParameters
from panprivacy.statistics.events.mean import Mean, MeanParameters
from tests.panprivacy.statistics.events.transparent import FreshTransparentPublicKey, TransparentPrivateKey
from tests.panprivacy.statistics.intervals.left_out import leave_out_intervals

pytestmark = pytest.mark.statistical

FAILURE = 1e-8
DEVICES_BY_COUNT = {0: 100, 1: 50, 2: 30, 5: 20}
COMMON = {"steps": 6, "epsilon": 1.0, "delta": 1e-6, "cohort_size": 50}


@pytest.fixture(autouse=True)
def _without_intervals(monkeypatch):
    leave_out_intervals(monkeypatch)


def mechanisms(rate):
    yield CountNonzero(Parameters(**COMMON, sampling_rate=rate))
    yield Histogram(HistogramParameters(**COMMON, k=2, sampling_rate=rate))
    for guarantee, scale in [("aggregator", 0.45), ("local", 2.2)]:
        # Noise comparable to the spread of counts, so that a wrong share of either would show.
        yield Mean(MeanParameters(**COMMON, k=3, sampling_rate=rate, guarantee=guarantee, noise_scale=scale))


def collect(mechanism, source):
    """One collection: every device tosses its coin for taking part, and reports."""
    key = TransparentPrivateKey(FreshTransparentPublicKey())
    total, reports = [0] * mechanism.contribution_length, 0
    allowed = mechanism.allowed_values
    for count, devices in DEVICES_BY_COUNT.items():
        for _ in range(devices):
            if source.random() >= mechanism.parameters.sampling_rate:
                continue
            report = mechanism.report_of_count(key.public_key, count, source)
            contribution = mechanism.contribution([key.decrypt(c, allowed) for c in report])
            total = [a + b for a, b in zip(total, contribution, strict=True)]
            reports += 1
    return mechanism.estimate(total, reports)


SAMPLED = list(mechanisms(0.5))
"""What is looked at of all devices' is a part of this; the error of their mean is exact in test_mean.py."""


@pytest.mark.parametrize("mechanism", [*SAMPLED, *list(mechanisms(1.0))[:2]], ids=range(6))
@pytest.mark.parametrize("collections", [150, pytest.param(1_000, marks=pytest.mark.long)])
def test_estimates_are_unbiased_and_their_standard_errors_right(mechanism, collections):
    source = random.Random(f"{mechanism.statistic} {mechanism.parameters}")
    estimates = [collect(mechanism, source) for _ in range(collections)]
    values = np.array([e.values for e in estimates])
    stated = np.sqrt(np.mean(np.square([e.standard_errors for e in estimates]), axis=0))
    truth = np.array(mechanism.truth(DEVICES_BY_COUNT))
    z = norm.isf(FAILURE / 2)
    observed_variance = values.var(axis=0, ddof=1)

    bias = np.abs(values.mean(axis=0) - truth)
    assert (bias <= z * np.sqrt(observed_variance / collections)).all()

    degrees = collections - 1
    low, high = chi2.isf([1 - FAILURE / 2, FAILURE / 2], degrees) / degrees
    ratio = observed_variance / stated**2
    assert (ratio <= high).all()
    if "upper bound" not in estimates[0].standard_error_note:
        assert (ratio >= low).all()
