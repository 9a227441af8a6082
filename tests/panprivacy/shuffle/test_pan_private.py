import math
import random
from collections import Counter

import numpy as np
import pytest
from scipy.stats import binom

from panprivacy.shuffle.distinct_elements import DistinctElements, DistinctElementsParameters
from panprivacy.shuffle.histogram import ShuffleHistogram
from panprivacy.shuffle.pan_private import COUNTS, REAL, FixedDummies, UniformDummies
from panprivacy.shuffle.parameters import ShuffleParameters
from panprivacy.shuffle.uniformity import Uniformity, UniformityParameters

DISTINCT = DistinctElements(DistinctElementsParameters(epsilon=3.0, delta=1e-3, cohort_size=31, k=30))


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


@pytest.mark.statistical
def test_fixed_dummies_estimate_the_distinct_elements_of_stream_and_dummy():
    # 60 runs: the mean is within 6 standard errors of the truth but with probability 2e-9 (normal).
    source, algorithm, values = random.Random(2), FixedDummies(DISTINCT), []
    for _ in range(60):
        state = algorithm.start(source)
        for element in (4, 4, 5, 6, 7, 8, 9, 10, 11):
            algorithm.process(state, element, source)
        estimate = algorithm.estimate(state, source)
        values.append(estimate.values[0])
    assert abs(np.mean(values) - 9) < 6 * np.std(values, ddof=1) / math.sqrt(60)


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
    # Exact: of 400 starts, fewer than `low` or more than `high` in sum with probability 1e-7 each.
    protocol = Uniformity(UniformityParameters(epsilon=20.0, delta=0.1, cohort_size=270, k=2, alpha=0.5))
    algorithm, source = UniformDummies(protocol), random.Random(4)
    drawn = [algorithm._real_elements(source) for _ in range(400)]
    assert max(drawn) <= algorithm.stream_length == 90
    # The cut at n/3 changes a draw with probability Pr[Bin(270, 2/9) > 90] < 1.2e-5.
    low, high = binom.isf(1 - 1e-7, 400 * 270, 2 / 9), binom.isf(1e-7, 400 * 270, 2 / 9)
    assert low - 10 <= sum(drawn) <= high


def test_uniform_dummies_stand_for_elements_beyond_those_taken_in():
    protocol = ShuffleHistogram(ShuffleParameters(epsilon=5.0, delta=0.1, cohort_size=90, k=3))
    algorithm, source = UniformDummies(protocol), random.Random(5)
    state = algorithm.start(source)
    state.arrays[REAL][0] = 0
    for _ in range(30):
        algorithm.process(state, 2, source)
    # All 90 users are uniform: the count of value 2 is Bin(90, 1/3), above 66 with probability below 1e-14.
    assert algorithm.estimate(state, source).values[2] < 66 + 2 * protocol.most_messages


def test_uniform_dummies_tell_uniform_streams_from_others():
    protocol = Uniformity(UniformityParameters(epsilon=2.0, delta=1e-2, cohort_size=1_200, k=4, alpha=0.5))
    verdicts = Counter()
    for name, values in (("uniform", range(4)), ("one value", [0])):
        algorithm, source = UniformDummies(protocol), random.Random(6)
        state = algorithm.start(source)
        for _ in range(algorithm.stream_length):
            algorithm.process(state, source.choice(values), source)
        verdicts[name] = algorithm.estimate(state, source).details["calibrated_verdict"]
    assert verdicts == {"uniform": "uniform", "one value": "not uniform"}
