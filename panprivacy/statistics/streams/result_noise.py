"""The noise of a released result: added to whole numbers, ahead of any other computation."""

import random
from collections.abc import Iterable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from panprivacy.accounting import discrete_laplace


def with_laplace_noise(
    counts: Iterable[int], scale: Fraction, random_source: random.Random
) -> NDArray[np.int64]:
    """Each of the counts with discrete Laplace noise of its own: ε-private, if one item can move all of them
    together by at most ε·`scale`.

    It is the papers' Lap(scale/m) for the fraction of m cells, without its floating point.
    """
    noisy = [int(count) + discrete_laplace.sample(scale, random_source) for count in counts]
    return np.array(noisy, dtype=np.int64)
