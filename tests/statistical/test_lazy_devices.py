"""Lazy devices report as eager ones do, in distribution.

The reports of both are counted by value. Under equality each value's count among the lazy ones is
hypergeometric given the total, exactly; with m values compared two-sided at FAILURE/m, equal
distributions fail with probability at most FAILURE.
"""

import random
from collections import Counter

import pytest
from scipy.stats import hypergeom

from panprivacy.formats.parameters import Parameters
from panprivacy.statistics.events.count_nonzero import CountNonzero
from panprivacy.statistics.events.histogram import Histogram, HistogramParameters
from panprivacy.statistics.events.mean import Mean, MeanParameters
from tests.panprivacy.statistics.events.contract import run
from tests.panprivacy.statistics.events.transparent import FreshTransparentPublicKey

pytestmark = pytest.mark.statistical

FAILURE = 1e-8
REPORTS = 2000
COMMON = {"steps": 4, "epsilon": 1.0, "delta": 1e-6, "cohort_size": 50}
MECHANISMS = [
    CountNonzero(Parameters(**COMMON)),
    Histogram(HistogramParameters(**COMMON, k=2)),
    Mean(MeanParameters(**COMMON, k=2, guarantee="local", noise_scale=1.5)),
]


def reports(mechanism, stream, lazy, source):
    public_key = FreshTransparentPublicKey()
    for _ in range(REPORTS):
        if lazy:
            report = mechanism.report_of_count(public_key, sum(stream), source)
        else:
            report = mechanism.report(public_key, run(mechanism, public_key, stream, source), source)
        yield tuple(c.plaintext for c in report)


def smallest_p_value(first, second):
    """Times the number of comparisons: below FAILURE with probability at most FAILURE if both are alike."""
    values = set(first) | set(second)
    smallest = 1.0
    for value in values:
        both = first[value] + second[value]
        distribution = hypergeom(2 * REPORTS, both, REPORTS)
        tails = distribution.cdf(first[value]), distribution.sf(first[value] - 1)
        smallest = min(smallest, 2 * min(tails) * len(values))
    return smallest


@pytest.mark.parametrize("stream", [(0, 1, 0, 0), pytest.param((1, 0, 1, 1), marks=pytest.mark.long)])
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: m.statistic)
def test_reports_of_lazy_and_eager_devices_have_one_distribution(mechanism, stream):
    source = random.Random(f"{mechanism.statistic} {stream}")
    eager, lazy = (Counter(reports(mechanism, stream, lazy, source)) for lazy in (False, True))
    assert smallest_p_value(eager, lazy) > FAILURE
