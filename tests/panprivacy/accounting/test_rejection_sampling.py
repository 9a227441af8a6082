"""What drawing reports again costs: the definition, over all assignments and outcomes of few devices."""

from itertools import combinations_with_replacement

import pytest
from mpmath import mp

from panprivacy.accounting.composition import Repetition
from panprivacy.accounting.randomized_response_sum import RandomizedResponseSum
from panprivacy.accounting.rejection_sampling import RejectionSampling
from tests.panprivacy.accounting.by_definition import DIGITS, hockey_stick, randomized, released, unit
from tests.panprivacy.accounting.contract import EventContract


class TestContract(EventContract):
    @pytest.fixture
    def event(self):
        bits = RandomizedResponseSum(n=1_000, epsilon0=1.0)
        return RejectionSampling(event=bits, n=1_000, probability=1e-12, largest_epsilon=1.0)

    impossible = tuple(value for value in EventContract.impossible if value != 0)


def taken(report, most):
    """The outcomes with at most so many ones, and their probability together."""
    light = {bits: probability for bits, probability in report.items() if sum(bits) <= most}
    together = mp.fsum(light.values())
    return {bits: probability / together for bits, probability in light.items()}, together


@pytest.mark.parametrize(("n", "k", "most"), [(1, 3, 1), (2, 3, 2), (3, 3, 2), (4, 2, 1)])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 1.6])
def test_delta_is_at_least_that_of_every_assignment_if_drawn_again(n, k, most, share):
    epsilon0 = 2.5
    with mp.workdps(DIGITS):
        drawn = [taken(randomized(unit(i, k), epsilon0), most) for i in range(k)]
        reports, again = [report for report, _ in drawn], float(1 - drawn[0][1])
        nothing, _ = taken(randomized((0,) * k, epsilon0), most)
        pairs, one = mp.mpf(0), mp.mpf(0)
        for others in combinations_with_replacement(range(k), n - 1):
            rest = [reports[i] for i in others]
            sums, reference = [released([x, *rest]) for x in reports], released([nothing, *rest])
            for i in range(k):
                one = max(one, hockey_stick(sums[i], reference, share * epsilon0))
                one = max(one, hockey_stick(reference, sums[i], share * epsilon0))
                for j in range(k):
                    pairs = max(pairs, hockey_stick(sums[i], sums[j], share * epsilon0))
    bits = RandomizedResponseSum(n=n, epsilon0=epsilon0)
    replaced = RejectionSampling(
        event=Repetition(event=bits, times=2), n=n, probability=again, largest_epsilon=2 * epsilon0
    )
    added = RejectionSampling(
        event=bits, n=n, probability=again, largest_epsilon=float(epsilon0 - mp.log1p(-again))
    )
    assert pairs <= replaced.delta(share * epsilon0)
    assert one <= added.delta(share * epsilon0)


def test_curve_never_rises_and_is_the_events_if_nothing_is_drawn_again():
    bits = RandomizedResponseSum(n=50, epsilon0=6.0)
    event = RejectionSampling(event=bits, n=50, probability=1e-7, largest_epsilon=6.0)
    curve = [event.delta(step / 40) for step in range(240)]
    assert curve == sorted(curve, reverse=True)
    assert event.delta(6.0) == 0
    never = RejectionSampling(event=bits, n=50, probability=0, largest_epsilon=6.0)
    for epsilon in (0.0, 0.4, 2.2):
        assert never.delta(epsilon) == pytest.approx(bits.delta(epsilon), rel=1e-12)
