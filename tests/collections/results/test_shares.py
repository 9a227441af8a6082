"""The interval of a count, divided by reports / q, holds for the share of the devices that heard of it."""

import numpy as np
import pytest
from scipy import stats

from panprivacy.formats.parameters import Parameters
from panprivacy.statistics.events.count_nonzero import CountNonzero
from panprivacy.statistics.shares import Shares

TRIALS = 200
HEARD = 600


@pytest.mark.long
@pytest.mark.parametrize("rate", [0.2, 1.0])
@pytest.mark.parametrize("share", [0.02, 0.5, 1.0])
def test_share_lies_in_its_interval_as_often_as_stated(rate: float, share: float) -> None:
    """Fails with a probability of at most 1e-6 where the share is missed in 5% of trials or fewer."""
    parameters = Parameters(
        steps=1, epsilon=3.0, delta=1e-6, cohort_size=10, sampling_rate=rate, aggregator_epsilon=None
    )
    statistic = CountNonzero(parameters)
    flip = statistic._response.flip_probability
    generator = np.random.default_rng([20261122, round(100 * rate), round(100 * share)])
    having = round(HEARD * share)
    missed = 0
    for _ in range(TRIALS):
        with_event = generator.binomial(having, rate)
        without = generator.binomial(HEARD - having, rate)
        reports = int(with_event + without)
        ones = int(generator.binomial(with_event, 1 - flip) + generator.binomial(without, flip))
        widest = statistic.estimate([ones], reports).intervals[0]
        found = Shares(of=reports / rate, is_exact=True, is_sampled=rate < 1).interval(widest)
        assert found is not None
        ((low,), (high,)) = found.low, found.high
        assert low is not None
        assert high is not None
        assert 0 <= low <= high <= 1
        # The ends are quotients: of an exact end, one rounding off.
        missed += not low - 1e-12 <= share <= high + 1e-12
    assert missed <= stats.binom.isf(1e-6, TRIALS, 0.05)
