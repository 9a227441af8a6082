import math
import random

import numpy as np
import pytest
from scipy.stats import binom

from panprivacy.accounting.guarantees import Model, Relation
from panprivacy.mechanisms.randomized_response import RandomizedResponse
from panprivacy.streams.inner_product import InnerProductCounter, InnerProductParameters

LENGTH = 8
VECTOR = (1, 0, 1, 1, 0, 0, 1, 0)


def counter(epsilon=1.0, length=LENGTH):
    return InnerProductCounter(InnerProductParameters(epsilon=epsilon, length=length))


def voted(statistic, votes, source):
    """A state after `votes` unanimous votes for each entry of VECTOR."""
    state = statistic.start()
    for entry, bit in enumerate(VECTOR):
        for _ in range(votes):
            statistic.process_vote(state, entry, bit, source)
    return state


@pytest.mark.statistical
def test_estimate_finds_the_vector_and_the_products_within_its_bound():
    # Failure: an entry of V by at most 8·exp(−2·600·(0.462/2)²) = 1e-27; misses of the bound by 1e-7.
    misses, values, products = 0, [], np.arange(200) % 3 == 0
    statistic, source = counter(), random.Random(1)
    for _ in range(30):
        state = voted(statistic, 600, source)
        assert tuple(statistic.vector(state)) == VECTOR
        for product in products:
            statistic.process_vector(state, (int(product), *[0] * (LENGTH - 1)), source)
        estimate = statistic.estimate(state, 0.9)
        values.append(estimate.values[0])
        misses += abs(values[-1] - products.sum()) > estimate.error_bounds[0]
        assert estimate.details["vector"] == list(VECTOR)
        assert estimate.details["participants"] == 200
    assert misses <= binom.isf(1e-7, 30, 0.1)
    (standard_error,) = estimate.standard_errors
    assert standard_error == pytest.approx(math.sqrt(200 * RandomizedResponse(1.0).variance))
    assert abs(np.mean(values) - products.sum()) < 6 * standard_error / math.sqrt(30)


def test_products_are_over_the_field_of_two_elements():
    statistic, source = counter(epsilon=20.0), random.Random(2)  # flips with probability 2e-9
    state = voted(statistic, 5, source)
    for vector in ((1, 0, 1, 0, 0, 0, 0, 0), (1, 1, 1, 1, 1, 1, 1, 1), (1, 0, 0, 0, 0, 0, 0, 0)):
        statistic.process_vector(state, vector, source)
    assert state.arrays["answers"].tolist() == [2, 1]


def test_state_has_only_counts_of_randomized_bits_so_that_reading_it_always_costs_epsilon():
    # One participant adds exactly one to one of two counts; the ratio of their probabilities is e^ε.
    response = RandomizedResponse(0.7)
    assert math.log((1 - response.flip_probability) / response.flip_probability) == pytest.approx(0.7)
    statistic, source = counter(epsilon=0.7), random.Random(3)
    state = statistic.start()
    before = {name: array.copy() for name, array in state.arrays.items()}
    statistic.process_vote(state, 2, 1, source)
    assert (state.arrays["votes"] - before["votes"]).sum() == 1
    assert set(state.arrays) == {"votes", "answers"}
    guarantee = statistic.guarantee()
    assert (guarantee.model, guarantee.relation) == (Model.PAN, Relation.RECORD)
    assert (guarantee.epsilon, guarantee.delta) == (0.7, 0.0)
    assert "continual intrusion" in guarantee.source


def test_state_shows_for_which_entry_somebody_voted_which_is_assumed_to_be_public():
    statistic, source = counter(epsilon=0.7), random.Random(3)
    state = statistic.start()
    statistic.process_vote(state, 2, 1, source)
    assert state.arrays["votes"].sum(axis=1).tolist() == [0, 0, 1, 0, 0, 0, 0, 0]
    assert "public which of the two, and for which entry" in statistic.guarantee().assumption


def test_bound_on_a_wrong_vector_is_above_its_exact_probability():
    statistic, source = counter(epsilon=2.0, length=1), random.Random(4)
    state = statistic.start()
    for _ in range(90):
        statistic.process_vote(state, 0, 1, source)
    flip = RandomizedResponse(2.0).flip_probability
    ones = 60 * (1 - flip) + 30 * flip  # two thirds of the votes
    exact = binom.cdf(45, 90, ones / 90)  # of equal mean, and at least as spread
    assert statistic.estimate(state).details["vector_failure_probability"] >= exact


def test_votes_after_the_vector_is_fixed_are_refused():
    statistic, source = counter(), random.Random(5)
    state = voted(statistic, 1, source)
    statistic.process_vector(state, [0] * LENGTH, source)
    with pytest.raises(ValueError, match="fixed"):
        statistic.process_vote(state, 0, 1, source)


@pytest.mark.parametrize("vector", [[0], [2] * LENGTH, [[0] * LENGTH]])
def test_vector_of_another_shape_or_with_other_entries_is_refused(vector):
    statistic, source = counter(), random.Random(6)
    with pytest.raises(ValueError, match="entries"):
        statistic.process_vector(statistic.start(), vector, source)


@pytest.mark.parametrize("entry", [-1, LENGTH])
def test_vote_on_an_entry_that_is_none_is_refused(entry):
    statistic, source = counter(), random.Random(7)
    state = statistic.start()
    with pytest.raises(ValueError, match=f"0 to {LENGTH - 1}, not {entry}"):
        statistic.process_vote(state, entry, 1, source)
    assert not state.arrays["votes"].any()


def test_bit_or_confidence_that_is_none_is_refused():
    statistic, source = counter(), random.Random(7)
    state = statistic.start()
    with pytest.raises(ValueError, match="bit"):
        statistic.process_vote(state, 0, 2, source)
    with pytest.raises(ValueError, match="confidence"):
        statistic.estimate(state, 0)
