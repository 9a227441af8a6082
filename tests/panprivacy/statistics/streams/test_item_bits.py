"""Randomized bits through announced intrusions: the paper's distributions, and ε by trying everything."""

import math
from fractions import Fraction
from functools import cache
from itertools import pairwise, product

import pytest

from panprivacy.statistics.streams.item_bits import BitDistributions, total_epsilon

EPSILON = Fraction(1, 2)


def laplace(noise, output_epsilon):
    """Discrete Laplace, up to a factor that is the same for all."""
    return math.exp(-output_epsilon * abs(noise))


@cache
def tracked(epsilon, announced):
    """D₀ and D₁ after so many announced intrusions, from the definition of the new draws."""
    if announced == 0:
        return Fraction(1, 2), Fraction(1, 2) + Fraction(epsilon) / 4
    zero, one = tracked(epsilon, 0)
    return tuple(p * one + (1 - p) * zero for p in tracked(epsilon, announced - 1))


def redrawn(epsilon, bit):
    return tracked(epsilon, 0)[bit]


def probability(one, bit):
    return float(one if bit else 1 - one)


def views_of(epsilon, output_epsilon, announced, appearances, t):
    """Everything that can be seen → its probability (up to a factor common to all streams).

    A counter modulo t starts anywhere, also after an announced intrusion. With t = 1 it is the bit of a
    density.

    Args:
        appearances: how often the item appears before each intrusion, and after the last one.
    """
    views = {(): {(c, b): 0.5 / t for c in range(t) for b in (0, 1)}}
    for intrusion, count in enumerate(appearances[:-1]):
        seen = {}
        for view, cells in views.items():
            for shown, weight in counted(cells, count, tracked(epsilon, intrusion)[1], t).items():
                # After an announced intrusion every bit is drawn again; after the surprise, it stays.
                if intrusion < announced:
                    one = redrawn(epsilon, shown[1])
                    cell = {(c, b): weight * probability(one, b) / t for c in range(t) for b in (0, 1)}
                else:
                    cell = {shown: weight}
                seen[(*view, shown)] = cell
        views = seen
    outputs = {}
    for view, cells in views.items():
        cells = counted(cells, appearances[-1], tracked(epsilon, announced)[1], t)
        for output in (-2, 0, 1, 3):
            outputs[(*view, output)] = sum(
                weight * laplace(output - bit, output_epsilon) for (_, bit), weight in cells.items()
            )
    return outputs


def counted(cells, count, one, t):
    for _ in range(count):
        after = {}
        for (counter, bit), weight in cells.items():
            new = (counter + 1) % t
            for drawn in (0, 1):
                chance = probability(one, drawn) if new == 0 else float(drawn == bit)
                after[new, drawn] = after.get((new, drawn), 0.0) + weight * chance
        cells = after
    return cells


def largest_loss(distributions):
    """Over every pair of streams and everything that can be seen."""
    return max(
        math.log(one[view] / other[view]) for one, other in product(distributions, repeat=2) for view in one
        if one[view] > 0
    )  # fmt: skip


@pytest.mark.parametrize("epsilon", [EPSILON, Fraction(1, 10)])
def test_distributions_after_one_announced_intrusion_are_the_papers(epsilon):
    # PPS section 3: 1/2 + ε/8 for items that did not appear, 1/2 + ε/8 + ε²/16 for those that did.
    after = BitDistributions.after(epsilon, 1)
    assert float(after.absent) == pytest.approx(float(Fraction(1, 2) + epsilon / 8), abs=1e-18)
    assert float(after.present) == pytest.approx(
        float(Fraction(1, 2) + epsilon / 8 + epsilon**2 / 16), abs=1e-18
    )


@pytest.mark.parametrize("announced", [0, 1, 2, 5])
def test_distance_shrinks_with_each_announced_intrusion(announced):
    after = BitDistributions.after(EPSILON, announced)
    assert after.distance == pytest.approx(float(EPSILON / 4) ** (announced + 1), rel=1e-12)
    assert (after.absent, after.present) == tuple(tracked(EPSILON, announced))


@pytest.mark.parametrize("announced", [0, 1, 2])
@pytest.mark.parametrize(("epsilon", "output_epsilon"), [(0.5, 0.5), (0.5, 0.1), (0.125, 0.5)])
def test_total_epsilon_is_the_largest_loss_over_all_streams_and_views(announced, epsilon, output_epsilon):
    streams = product((0, 1, 2), repeat=announced + 2)
    views = [views_of(epsilon, output_epsilon, announced, stream, t=1) for stream in streams]
    assert total_epsilon(epsilon, announced, output_epsilon) == pytest.approx(largest_loss(views), rel=1e-12)


@pytest.mark.parametrize("announced", [0, 1])
@pytest.mark.parametrize("t", [2, 3])
def test_total_epsilon_is_that_of_a_cropped_mean_with_its_counters_seen(announced, t):
    streams = product(range(t + 1), repeat=announced + 2)
    views = [views_of(0.5, 0.5, announced, stream, t) for stream in streams]
    assert total_epsilon(0.5, announced, 0.5) == pytest.approx(largest_loss(views), rel=1e-12)


def test_total_epsilon_of_one_look_is_below_the_theorem():
    totals = [total_epsilon(0.5, announced, 0.5) for announced in range(6)]
    assert 0.5 < totals[0] < 2 * 0.5  # PPS Theorem 3.2: 2ε
    assert totals == sorted(set(totals))
    # Bits drawn again are closer to each other: no further intrusion costs as much as the first.
    costs = [later - earlier for earlier, later in pairwise(totals)]
    assert max(costs) < -math.log(1 - 0.5 / 2)


def test_look_by_surprise_before_an_announced_one_is_not_protected():
    # PPS Corollary 6.2, and why the guarantee takes the surprise to be last: without an appearance a bit
    # cannot change between them, and with one it can.
    zero, one = (0, 0), (0, 1)
    unchanged, changed = (counted({zero: 0.5}, count, tracked(0.5, 0)[1], t=1) for count in (0, 1))
    assert one not in unchanged
    assert changed[one] > 0.3
