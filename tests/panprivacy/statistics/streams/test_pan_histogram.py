import math
import random

import numpy as np
import pytest
from scipy.stats import binom

from panprivacy.accounting.guarantees import Relation
from panprivacy.formats.errors import FieldError
from panprivacy.statistics.streams.binary_noise import noise_bits
from panprivacy.statistics.streams.pan_histogram import PanHistogram, PanHistogramParameters
from tests.panprivacy.statistics.streams.contract import StreamContract
from tests.refusals import field_refused


def pan_histogram(size=6, epsilon=2.0, delta=0.05, announced=2, items="numbered"):
    return PanHistogram(
        PanHistogramParameters(
            epsilon=epsilon, delta=delta, universe_size=size, announced_intrusions=announced, items=items
        )
    )


class TestPanHistogram(StreamContract):
    @pytest.fixture
    def statistic(self):
        return pan_histogram()

    @pytest.fixture
    def tiny(self):
        return pan_histogram(size=3)

    def stream(self, statistic):
        size = statistic.parameters.universe_size
        return np.repeat(np.arange(size), 3 * np.arange(size))

    def guaranteed(self, statistic, announced):
        return 2 * statistic.parameters.epsilon, 2 * statistic.parameters.delta

    def test_epsilon_beyond_a_half_is_refused(self, statistic):
        """Not here: up to 20."""
        members = statistic.parameters.as_dict()
        assert PanHistogramParameters.from_mapping(members | {"epsilon": 20}).epsilon == 20
        with pytest.raises(FieldError, match="epsilon"):
            PanHistogramParameters.from_mapping(members | {"epsilon": 20.5})


def test_two_counters_cost_more_than_one_and_no_more_than_twice_as_much():
    """Exact, for the state: replacing an element takes 1 from one counter and adds it to another."""
    epsilon, delta = 1.0, 0.05
    bits = noise_bits(epsilon, delta)
    values = np.arange(-1, bits + 2)
    fair = binom.pmf(values, bits, 0.5)
    more, less = binom.pmf(values - 1, bits, 0.5), binom.pmf(values + 1, bits, 0.5)
    one, other = np.multiply.outer(fair, fair), np.multiply.outer(more, less)
    epsilon_of_one = 0.1
    single = np.maximum(fair - math.exp(epsilon_of_one) * more, 0).sum()
    assert np.maximum(one - math.exp(epsilon_of_one) * other, 0).sum() > 1.5 * single
    assert np.maximum(one - math.exp(2 * epsilon) * other, 0).sum() <= 2 * delta


def test_guarantees_say_that_nothing_is_bounded_for_all_that_a_user_did():
    record, user = pan_histogram().guarantees()
    assert record.relation == Relation.RECORD
    assert (user.relation, user.epsilon, user.delta) == (Relation.USER, None, None)
    assert user.source.startswith("Not bounded")


def test_table_size_is_that_of_the_universe_whether_given_or_not():
    members = {"epsilon": 1.0, "delta": 1e-6, "universe_size": 5, "items": "numbered"}
    assert PanHistogramParameters.from_mapping(members).table_size == 5
    assert PanHistogramParameters.from_mapping(members | {"table_size": 5}).table_size == 5
    for table_size in (4, 6):
        with field_refused("table_size"):
            PanHistogramParameters.from_mapping(members | {"table_size": table_size})


def test_universe_that_is_missing_or_wrong_is_named_before_the_table():
    members = {"epsilon": 1.0, "delta": 1e-6, "items": "numbered"}
    for wrong in ({}, {"universe_size": "many"}, {"universe_size": 1}):
        with field_refused("universe_size"):
            PanHistogramParameters.from_mapping(members | wrong)


def test_epsilon_that_asks_for_too_many_random_bits_is_refused():
    with field_refused("epsilon", match="random bits"):
        pan_histogram(size=10_000, epsilon=0.01, delta=1e-6)


def test_truth_takes_numbers_as_text_too():
    assert pan_histogram(size=3).truth({"2": 5, 0: 1}) == (1.0, 0.0, 5.0)


def test_labels_are_numbers_or_places_in_the_list():
    assert pan_histogram(size=2).labels == ("item 0", "item 1")
    assert pan_histogram(size=2, items="listed").labels == ("item 1 of the list", "item 2 of the list")


def test_errors_are_those_of_the_noise_in_each_counter():
    statistic = pan_histogram()
    state = statistic.start(random.Random(1))
    estimate = statistic.estimate(state, random.Random(2))
    bits = statistic.parameters.noise.bits
    assert set(estimate.standard_errors) == {math.sqrt(2 * bits) / 2}
    bound = estimate.error_bounds[0]
    # The smallest that all six keep together: a miss of one more would be likelier than a sixth of 5%.
    assert (
        2 * binom.sf(bits + bound, 2 * bits, 0.5) <= 0.05 / 6 < 2 * binom.sf(bits + bound - 1, 2 * bits, 0.5)
    )
    assert all(value >= 0 for value in estimate.projection)
