"""Half of the invented users come before the stream and half after it: without either, one of the two views
hides nothing. An estimate would hardly show that they are missing, so the messages are counted."""

import random

import pytest

from panprivacy.shuffle.distinct_elements import DistinctElements, DistinctElementsParameters
from panprivacy.shuffle.histogram import ShuffleHistogram
from panprivacy.shuffle.pan_private import COUNTS, FixedDummies, UniformDummies
from panprivacy.shuffle.parameters import ShuffleParameters

PROTOCOLS = {
    "distinct_elements": DistinctElements(
        DistinctElementsParameters(epsilon=3.0, delta=1e-3, cohort_size=31, k=5)
    ),
    "shuffle_histogram": ShuffleHistogram(ShuffleParameters(epsilon=5.0, delta=0.01, cohort_size=150, k=3)),
}


@pytest.mark.parametrize("dummies", [FixedDummies, UniformDummies])
@pytest.mark.parametrize("protocol", PROTOCOLS.values(), ids=PROTOCOLS)
def test_state_and_result_each_have_the_messages_of_a_third_of_the_users_beside_the_stream(
    protocol, dummies, monkeypatch
):
    algorithm, source = dummies(protocol), random.Random(1)
    messages = protocol.most_messages  # of every user, in these protocols
    state = algorithm.start(source)
    assert state.arrays[COUNTS].sum() == algorithm.invented_users * messages
    for _ in range(3):
        algorithm.process(state, 1, source)
    assert state.arrays[COUNTS].sum() == (algorithm.invented_users + 3) * messages
    analyzed = []
    estimate = type(protocol).estimate

    def noting(self, total, users):
        analyzed.append((sum(total), users))
        return estimate(self, total, users)

    monkeypatch.setattr(type(protocol), "estimate", noting)
    algorithm.estimate(state, source)
    users = 2 * algorithm.invented_users + 3
    assert analyzed == [(users * messages, users)]
    assert 3 * algorithm.invented_users >= protocol.cohort_size


@pytest.mark.parametrize("protocol", PROTOCOLS.values(), ids=PROTOCOLS)
def test_users_invented_after_the_stream_are_new_in_every_result(protocol, monkeypatch):
    # Two results agree in the count of one message with probability below 0.2 (its standard deviation is at
    # least 2): all eight in three messages or more with at most 0.2^21 < 1e-14.
    algorithm, source = FixedDummies(protocol), random.Random(1)
    state = algorithm.start(source)
    analyzed = []
    monkeypatch.setattr(type(protocol), "estimate", lambda self, total, users: analyzed.append(tuple(total)))
    for _ in range(8):
        algorithm.estimate(state, source)
    assert len(set(analyzed)) > 1
