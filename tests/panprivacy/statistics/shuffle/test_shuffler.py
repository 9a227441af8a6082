import itertools
import random
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from panprivacy.statistics.shuffle.shuffler import permute

FAILURE = 1e-7


@given(messages=st.binary(max_size=300), seed=st.integers(0, 2**32))
def test_permute_keeps_every_message(messages, seed):
    given_messages = np.frombuffer(messages, dtype=np.uint8)
    shuffled = permute(given_messages, random.Random(seed))
    assert sorted(shuffled.tolist()) == sorted(messages)
    assert given_messages.tobytes() == messages


@given(rows=st.lists(st.binary(min_size=5, max_size=5), min_size=1, max_size=50), seed=st.integers(0, 99))
def test_permute_keeps_rows_together(rows, seed):
    shuffled = permute(np.array([list(row) for row in rows], dtype=np.uint8), random.Random(seed))
    assert Counter(bytes(row) for row in shuffled) == Counter(rows)


class SameKeys(random.Random):
    """Every key is the same: the order among equal keys is all there is."""

    def randbytes(self, n):
        return bytes(n)


@pytest.mark.statistical
@pytest.mark.parametrize("source_class", [random.Random, SameKeys])
@pytest.mark.parametrize("width", [None, 3])
def test_permute_gives_every_order_equally_often(source_class, width):
    # 24 orders, 4,800 draws, exact two-sided binomial at FAILURE/24 each: fails with probability FAILURE.
    source = source_class(f"orders {width}")
    messages = np.arange(4, dtype=np.uint8)
    if width is not None:
        messages = np.repeat(messages[:, None], width, axis=1)
    orders = Counter(tuple(permute(messages, source).reshape(4, -1)[:, 0].tolist()) for _ in range(4_800))
    for order in itertools.permutations(range(4)):
        count = orders[order]
        tail = min(binom.cdf(count, 4_800, 1 / 24), binom.sf(count - 1, 4_800, 1 / 24))
        assert 2 * tail > FAILURE / 24


@pytest.mark.parametrize(
    "messages", [np.zeros(3), np.zeros((1, 1, 1), dtype=np.uint8), np.array(0, np.uint8)]
)
def test_permute_of_something_else_is_refused(messages):
    with pytest.raises(ValueError, match="bytes"):
        permute(messages, random.Random(1))


def test_permute_of_nothing_is_nothing():
    assert len(permute(np.zeros(0, dtype=np.uint8), random.Random(1))) == 0
    assert permute(np.zeros((0, 5), dtype=np.uint8), random.Random(1)).shape == (0, 5)
