import random

import numpy as np
import pytest
from scipy.stats import binom

from panprivacy.shuffle.distinct_elements import DistinctElements, DistinctElementsParameters
from panprivacy.shuffle.histogram import ShuffleHistogram
from panprivacy.shuffle.pan_private import COUNTS, REAL, FixedDummies, UniformDummies
from panprivacy.shuffle.parameters import ShuffleParameters
from tests.panprivacy.bounds.left_out import leave_out_intervals
from tests.panprivacy.shuffle.recorded import Recorded

FAILURE = 1e-7

DISTINCT = DistinctElements(DistinctElementsParameters(epsilon=3.0, delta=1e-3, cohort_size=31, k=30))


class RecordedDistinct(Recorded, DistinctElements):
    pass


class RecordedHistogram(Recorded, ShuffleHistogram):
    pass


@pytest.mark.parametrize(("n", "invented", "length"), [(30, 10, 10), (31, 11, 9), (32, 11, 10), (2, 1, 0)])
def test_invented_users_are_a_third_rounded_up(n, invented, length):
    algorithm = FixedDummies(
        DistinctElements(DistinctElementsParameters(epsilon=1.0, delta=1e-3, cohort_size=n, k=2))
    )
    assert (algorithm.invented_users, algorithm.stream_length) == (invented, length)


def test_process_beyond_the_stream_is_refused():
    algorithm, source = FixedDummies(DISTINCT), random.Random(1)
    state = algorithm.start(source)
    for _ in range(algorithm.stream_length):
        algorithm.process(state, 3, source)
    with pytest.raises(ValueError, match="9 elements already"):
        algorithm.process(state, 3, source)


@pytest.mark.parametrize("value", [-1, 30])
def test_process_of_an_impossible_value_is_refused(value):
    algorithm, source = FixedDummies(DISTINCT), random.Random(1)
    state = algorithm.start(source)
    with pytest.raises(ValueError, match="value must lie in"):
        algorithm.process(state, value, source)


def test_fixed_dummies_run_the_protocol_for_a_third_of_dummies_the_stream_and_as_many_dummies_again():
    protocol = RecordedDistinct(DISTINCT.parameters)
    algorithm, source, stream = FixedDummies(protocol, value=7), random.Random(1), [0, 5, 5, 29]
    state = algorithm.start(source)
    assert protocol.values == [7] * 11
    for element in stream:
        algorithm.process(state, element, source)
    assert protocol.values == [7] * 11 + stream
    algorithm.estimate(state, source)
    assert protocol.values == [7] * 11 + stream + [7] * 11


@pytest.mark.parametrize("wrapper", [FixedDummies, UniformDummies])
@pytest.mark.parametrize("elements", [0, 1, 9])
def test_estimate_is_made_of_all_messages_of_the_stream_and_of_the_dummies_on_both_sides(wrapper, elements):
    protocol = RecordedDistinct(DISTINCT.parameters)
    algorithm, source = wrapper(protocol), random.Random(1)
    state = algorithm.start(source)
    for _ in range(elements):
        algorithm.process(state, 3, source)
    estimate = algorithm.estimate(state, source)
    ((total, users),) = protocol.analyzed
    assert users == 11 + elements + 11
    assert sum(total) == users * protocol.most_messages
    assert np.all(np.array(total) >= state.arrays[COUNTS])
    assert estimate == DISTINCT.estimate(total, users)


@pytest.mark.statistical
def test_fixed_dummies_estimate_the_distinct_elements_of_stream_and_dummy(monkeypatch):
    leave_out_intervals(monkeypatch)
    # Three of six places have somebody and are odd with probability 1/2, the others with e^−ε/2: in 600 runs
    # the number of odd places is beyond one of the bounds with probability FAILURE, exactly.
    protocol = DistinctElements(DistinctElementsParameters(epsilon=3.0, delta=0.1, cohort_size=9, k=6))
    runs, grown, k = 600, np.exp(3.0), 6

    def odd_places_of(distinct):
        taken, empty = runs * distinct, runs * (k - distinct)
        in_taken = binom.pmf(np.arange(taken + 1), taken, 0.5)
        in_empty = binom.pmf(np.arange(empty + 1), empty, 0.5 / grown)
        return np.cumsum(np.convolve(in_taken, in_empty))

    source, algorithm, odd = random.Random(2), FixedDummies(protocol), 0
    for _ in range(runs):
        state = algorithm.start(source)
        for element in (4, 4, 5):
            algorithm.process(state, element, source)
        (value,) = algorithm.estimate(state, source).values
        odd += round((value * (grown - 1) + k) / (2 * grown))
    low, high = np.searchsorted(odd_places_of(3), (FAILURE, 1 - FAILURE))
    assert low <= odd <= high
    # An estimate of one more or less would be within these bounds with probability 1e-6 at most.
    assert odd_places_of(4)[high] <= 1e-6
    assert 1 - odd_places_of(2)[low - 1] <= 1e-6


def test_state_before_the_stream_hides_which_element_comes():
    # The state holds the messages of a third of the users: those of an honest third.
    algorithm, source = FixedDummies(DISTINCT, value=2), random.Random(3)
    state = algorithm.start(source)
    messages = algorithm.invented_users * DISTINCT.most_messages
    assert state.arrays[COUNTS].sum() == messages
    algorithm.process(state, 7, source)
    assert state.arrays[COUNTS].sum() == messages + DISTINCT.most_messages


@pytest.mark.statistical
def test_uniform_dummies_take_in_two_ninths_of_the_users_elements():
    # Exact: the sum of 40 draws is beyond one of the bounds with probability FAILURE each. That the cut at
    # 900 changes one of them is much less likely still.
    n, draws = 2_700, 40
    protocol = ShuffleHistogram(ShuffleParameters(epsilon=5.0, delta=0.1, cohort_size=n, k=2))
    algorithm, source = UniformDummies(protocol), random.Random(4)
    assert draws * binom.sf(algorithm.stream_length, n, 2 / 9) <= FAILURE
    drawn = sum(int(algorithm.start(source).arrays[REAL][0]) for _ in range(draws))
    assert binom.ppf(FAILURE, draws * n, 2 / 9) <= drawn <= binom.isf(FAILURE, draws * n, 2 / 9)


@pytest.mark.statistical
@pytest.mark.parametrize("real", [0, 10, 30])
def test_uniform_dummies_stand_for_the_elements_beyond_those_taken_in(real):
    protocol = RecordedHistogram(ShuffleParameters(epsilon=5.0, delta=0.1, cohort_size=90, k=3))
    algorithm, source = UniformDummies(protocol), random.Random(5)
    state = algorithm.start(source)
    state.arrays[REAL][0] = real
    for _ in range(30):
        algorithm.process(state, 2, source)
    users = protocol.values[30:]
    assert len(users) == 30
    assert users[:real] == [2] * real
    # Twenty or more uniform values are all 2 with probability 3^−20 < FAILURE.
    assert FAILURE > 3**-20
    assert real == 30 or set(users[real:]) != {2}


@pytest.mark.statistical
def test_uniform_dummies_leave_two_ninths_of_what_tells_a_stream_from_a_uniform_one():
    # Lemma 4.9: the users are as if drawn from 2/9 of the stream's distribution and 7/9 uniform, up to what
    # the cut changes. So Bin(n, share) of them have value 0: beyond a bound with probability FAILURE each.
    n, k = 5_400, 4
    protocol = RecordedHistogram(ShuffleParameters(epsilon=5.0, delta=0.1, cohort_size=n, k=k))
    algorithm, source, bounds = UniformDummies(protocol), random.Random(6), []
    assert binom.sf(algorithm.stream_length, n, 2 / 9) <= FAILURE
    for stream_values, share in ([0], 2 / 9 + 7 / 9 / k), (range(k), 1 / k):
        protocol.values.clear()
        state = algorithm.start(source)
        for _ in range(algorithm.stream_length):
            algorithm.process(state, source.choice(stream_values), source)
        algorithm.estimate(state, source)
        assert len(protocol.values) == n
        low, high = binom.ppf(FAILURE, n, share), binom.isf(FAILURE, n, share)
        assert low <= protocol.values.count(0) <= high
        bounds.append((low, high))
    (low, high), (_, high_of_uniform) = bounds
    assert high_of_uniform < low
    # If the whole stream were taken in, there would be fewer than `high` with this probability only.
    assert binom.cdf(high - n // 3, 2 * n // 3, 1 / k) <= 1e-6
