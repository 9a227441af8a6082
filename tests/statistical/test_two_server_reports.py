"""What two servers count of eager and of lazy devices has the distribution that randomized response gives it.

All devices have one stream, so that a coordinate's sum over the accepted reports is binomial, exactly. Each
of the COMPARISONS sums must lie between the two quantiles that it exceeds with probability FAILURE/2 each:
right code fails any test of this module with probability below COMPARISONS·FAILURE = 8e-8. That sums of
Algorithm 6 as printed would not lie there is computed, not hoped.
"""

import math
import random

import pytest
from scipy.stats import binom

from panprivacy.mechanisms.count_nonzero import CountNonzero
from panprivacy.mechanisms.histogram import Histogram, HistogramParameters
from panprivacy.mechanisms.randomized_response import RandomizedResponse
from panprivacy.parameters import Parameters
from tests.panprivacy.mechanisms.contract import run
from tests.panprivacy.two_server.conftest import Servers, key_of

pytestmark = pytest.mark.statistical

FAILURE = 5e-9
COMPARISONS = 16
DEVICES = 100
COMMON = {"steps": 2, "epsilon": 3.0, "delta": 1e-6, "cohort_size": 50}
COUNT, BUCKETS = CountNonzero(Parameters(**COMMON)), Histogram(HistogramParameters(**COMMON, k=2))
FLIP = RandomizedResponse(COMMON["epsilon"]).flip_probability


def bounds(bit):
    """Between which a sum of DEVICES responses to `bit` lies but for FAILURE."""
    distribution = binom(DEVICES, 1 - FLIP if bit else FLIP)
    return distribution.ppf(FAILURE / 2), distribution.isf(FAILURE / 2)


def sums(mechanism, stream, lazy):
    """The two servers' result for DEVICES devices, each report bound to a nonce of its own."""
    servers = Servers(key_of("elgamal-secp256k1", 11), key_of("elgamal-secp256k1", 12))
    source, reports = random.Random(f"{mechanism.statistic} {stream} {lazy}"), []
    for _ in range(DEVICES):
        nonce = source.randbytes(16)
        key = servers.unbound.bound_to(nonce)
        if lazy:
            report = mechanism.report_of_count(key, sum(stream), source)
        else:
            report = mechanism.report(key, run(mechanism, key, stream, source), source)
        reports.append(servers.sent(report, nonce))
    outcomes = servers.out_shares(reports, mechanism.report_ciphertexts)
    assert all(isinstance(outcome, tuple) for outcome in outcomes)
    return servers.sum(outcomes, mechanism.report_ciphertexts)


@pytest.mark.parametrize("lazy", [False, True], ids=["eager", "lazy"])
@pytest.mark.parametrize(
    ("mechanism", "stream"),
    [
        pytest.param(COUNT, (0, 0), id="count_nonzero-0"),
        pytest.param(COUNT, (0, 1), id="count_nonzero-1"),
        pytest.param(BUCKETS, (0, 0), id="histogram-0", marks=pytest.mark.long),
        pytest.param(BUCKETS, (0, 1), id="histogram-1"),
    ],
)
def test_sum_of_reports_is_binomial_in_every_coordinate(mechanism, stream, lazy):
    count = sum(stream)
    bits = (count,) if isinstance(mechanism, CountNonzero) else tuple(int(count == i) for i in range(3))
    for total, bit in zip(sums(mechanism, stream, lazy), bits, strict=True):
        low, high = bounds(bit)
        assert low <= total <= high


@pytest.mark.parametrize("bit", [0, 1])
def test_sum_with_the_coin_of_algorithm_6_as_printed_would_be_noticed(bit):
    printed_keep = 2 / (math.exp(COMMON["epsilon"]) + 1)
    distribution = binom(DEVICES, (1 - printed_keep) / 2 + printed_keep * bit)
    low, high = bounds(bit)
    assert distribution.cdf(high) - distribution.cdf(low - 1) < 1e-6
