import math
import random
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from panprivacy.statistics.shuffle.histogram import ShuffledBitSum, ShuffleHistogram, least_users
from panprivacy.statistics.shuffle.parameters import ShuffleParameters
from tests.panprivacy.statistics.shuffle.contract import ShuffleContract
from tests.refusals import field_refused

SMALL = ShuffleParameters(epsilon=3.0, delta=1e-2, cohort_size=150, k=4)


class TestShuffleHistogram(ShuffleContract):
    @pytest.fixture
    def statistic(self):
        return ShuffleHistogram(SMALL)


def test_histogram_for_too_few_users_is_refused_with_the_smallest_number():
    least = least_users(3.0, 1e-2)
    assert least == math.ceil(20 * ((math.e**3 + 1) / (math.e**3 - 1)) ** 2 * math.log(200))
    assert ShuffleHistogram(replace(SMALL, cohort_size=least)).cohort_size == least
    with field_refused("cohort_size", match=f"at least {least:,}"):
        ShuffleHistogram(replace(SMALL, cohort_size=least - 1))


def test_bit_sum_sends_ones_with_the_printed_probability():
    factor = ((math.e**3 + 1) / (math.e**3 - 1)) ** 2
    counted = ShuffledBitSum(150, 3.0, 1e-2)
    assert counted.one_probability == pytest.approx(1 - 10 / 150 * factor * math.log(2 / 1e-2), rel=1e-9)
    assert ShuffledBitSum(least_users(3.0, 1e-2), 3.0, 1e-2).one_probability >= 0.5


def test_bit_sum_error_bound_is_that_of_the_exact_tails():
    counted = ShuffledBitSum(5_000, 1.0, 1e-6)
    bound = counted.error_bound(5_000, 0.05)
    assert 1.9 * counted.standard_error(5_000) < bound < 2.1 * counted.standard_error(5_000)
    assert counted.error_bound(5_000, 1e-6) > bound


def test_messages_of_a_user_all_in_one_place_are_stray_but_for_two():
    statistic = ShuffleHistogram(SMALL)
    total = statistic.randomize_all(np.zeros(150, dtype=np.int64), random.Random(1))
    assert statistic.estimate(total.tolist(), 150).details == {"stray_messages": 0}
    total[1::2] -= 1
    total[::2] -= 1
    total[2 * 3 + 1] += 8
    assert statistic.estimate(total.tolist(), 150).details == {"stray_messages": 6}


def test_example_is_charged_with_the_exact_divergence_of_its_noise():
    """Beside it, the divergence of both counts by definition: independent noise, one up, one down."""
    statistic = ShuffleHistogram(replace(SMALL, epsilon=1.0, delta=1e-6, cohort_size=1_400, k=5))
    event, guarantee = statistic.aggregator_event(), statistic.guarantee(0.0)
    charged = event.epsilon(2e-6)
    assert charged == guarantee.epsilon == pytest.approx(0.408, abs=5e-4)
    p = binom.pmf(np.arange(1_401), 1_400, statistic._sum.zero_probability)  # of one place
    without, with_it = np.append(p, 0.0), np.insert(p, 0, 0.0)
    kept = slice(500, 900)  # all but 1e-25
    first = np.multiply.outer(with_it[kept], without[kept])
    second = np.multiply.outer(without[kept], with_it[kept])
    exact = max(
        float(np.maximum(0.0, one - math.exp(charged) * other).sum())
        for one, other in ((first, second), (second, first))
    )
    assert 0 < exact <= 2e-6


def test_privacy_follows_claim_a_5_twice():
    statistic = ShuffleHistogram(replace(SMALL, epsilon=1.0, delta=1e-6, cohort_size=10_000))
    for gamma in (1.0, 0.5, 0.25):
        epsilon, delta, found = statistic.privacy_of(round(10_000 * gamma))
        assert epsilon == 2.0
        assert delta == pytest.approx(4 * (1e-6 / 2) ** gamma)
        assert 0 <= found < epsilon
