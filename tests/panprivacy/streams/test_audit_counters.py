"""Counters that start at noise and the result, audited together: ε holds, and leaky variants are caught."""

import math
from dataclasses import replace

import numpy as np
import pytest

from panprivacy.streams.incidence import Incidence
from panprivacy.streams.mod_incidence import ModIncidence
from panprivacy.streams.primes import PrimePool
from tests.panprivacy.streams.audit import Event, require_caught, require_private
from tests.panprivacy.streams.test_incidence import incidence
from tests.panprivacy.streams.test_mod_incidence import mod_incidence

pytestmark = pytest.mark.statistical

RUNS = 16_000
EPSILON = 0.5


def start_noise(modulus, epsilon):
    """Probability of each start of a counter, by the definition."""
    weights = np.exp(-epsilon * np.arange(modulus) / (modulus - 1))
    return weights / weights.sum()


def result_right(scale):
    """That a count of 1 and noise are at least 1 together; or a count of 0 and noise at most 0."""
    return 1 / (1 + math.exp(-1 / scale))


class TestModIncidence:
    """k = 3. Seen: the counter at 2, and in the end more than none of value 2, none of value 1.

    The item appears twice before the look, or twice after it: then it started at 0, or at 2.
    """

    event = Event(
        (2, 0), (0, 2),
        lambda looks: looks[-1]["counters"] == 2,
        lambda looks, noisy: (noisy[:, 2] >= 1) & (noisy[:, 1] <= 0),
    )  # fmt: skip
    between = Event((0, 0, 0), (0, 1, 0), lambda looks: looks[0]["counters"] == looks[1]["counters"])
    """The counter is where it was, for an item that came in between or did not."""
    start = start_noise(3, EPSILON)
    right = result_right(2 / EPSILON)

    def statistic(self, kind=ModIncidence):
        return kind(mod_incidence(k=3, size=RUNS, epsilon=EPSILON, announced=1).parameters)

    def test_mod_incidence_is_as_private_as_its_guarantee(self):
        probabilities = self.start[0] * self.right**2, self.start[2] * (1 - self.right) ** 2
        assert math.log(probabilities[0] / probabilities[1]) == pytest.approx(
            2 * EPSILON
        )  # all that it costs
        require_private(self.statistic(), self.event, probabilities, 0.4)

    def test_mod_incidence_after_an_announced_intrusion_is_as_private_as_its_guarantee(self):
        probabilities = self.start[0], self.start[2]
        require_private(self.statistic(), self.between, probabilities, 0.15)

    def test_audit_without_noise_in_the_result_rejects_the_claim(self):
        class Noiseless(ModIncidence):
            def noisy_counts(self, state, random_source):
                return np.bincount(state.arrays["counters"], minlength=3)

        require_caught(self.statistic(Noiseless), self.event, (self.start[0], 0.0))

    def test_audit_with_noise_at_the_start_in_half_of_all_runs_rejects_the_claim(self):
        class HalfNoisy(ModIncidence):
            def start(self, random_source):
                state = super().start(random_source)
                state.arrays["counters"][: RUNS // 2] = 0
                return state

        # In half of all runs it is certain, or cannot be.
        look = replace(self.event, released=None)
        require_caught(self.statistic(HalfNoisy), look, ((1 + self.start[0]) / 2, self.start[2] / 2))

    def test_audit_with_a_constant_after_an_announced_intrusion_rejects_the_claim(self):
        class Constant(ModIncidence):
            def announce_intrusion(self, state, random_source):
                state.announced_intrusions += 1
                state.arrays["counters"] %= 3

        require_caught(self.statistic(Constant), self.between, (1.0, 0.0))


class TestIncidence:
    """t = 2. The primes are 2 and 3, and counted are the values 0, 1 of the one, 2, 1 of the other counter.

    The item appears 5 times before the look, or 5 times after it, which is 1 modulo 2 and 2 modulo 3.
    """

    event = Event(
        (5, 0), (0, 5),
        lambda looks: (looks[-1]["counters"] == [[1], [2]]).all(axis=0),
        lambda looks, noisy: (noisy[:, 1:3] >= 1).all(axis=1),
    )  # fmt: skip
    between = Event(
        (0, 0, 0), (0, 5, 0), lambda looks: (looks[0]["counters"] == looks[1]["counters"]).all(axis=0)
    )

    @pytest.fixture(autouse=True)
    def _two_primes(self, monkeypatch):
        monkeypatch.setattr("panprivacy.streams.incidence.chosen_pool", lambda *_: (PrimePool(2, 2), 2))

    starts = start_noise(2, EPSILON / 2), start_noise(3, EPSILON / 2)
    right = result_right(4 / EPSILON)

    def statistic(self, kind=Incidence):
        return kind(incidence(t=2, n_max=4, size=2 * RUNS, epsilon=EPSILON, announced=1).parameters)

    def test_incidence_is_as_private_as_its_guarantee(self):
        look = self.starts[0][0] * self.starts[1][0], self.starts[0][1] * self.starts[1][2]
        result = self.right, 1 - self.right  # of each of the four counts that the item moves
        assert math.log(look[0] / look[1]) + 4 * math.log(result[0] / result[1]) == pytest.approx(2 * EPSILON)
        probabilities = look[0] * result[0] ** 2, look[1] * result[1] ** 2
        require_private(self.statistic(), self.event, probabilities, 0.15)

    def test_incidence_after_an_announced_intrusion_is_as_private_as_its_guarantee(self):
        statistic = self.statistic()
        assert self.between.epsilon(statistic) <= statistic.guarantee(1).epsilon

    def test_audit_without_noise_in_the_result_rejects_the_claim(self):
        class Noiseless(Incidence):
            def noisy_counts(self, state, random_source):
                (two,), (three,) = state.arrays["counters"]
                return np.array([two == 0, two == 1, three == 2, three == 1]).astype(int)

        require_caught(
            self.statistic(Noiseless), self.event, (self.starts[0][0] * self.starts[1][0], 0.0)
        )  # fmt: skip

    def test_audit_without_noise_at_the_start_rejects_the_claim(self):
        class Bare(Incidence):
            def start(self, random_source):
                state = super().start(random_source)
                state.arrays["counters"][:] = 0
                return state

        require_caught(self.statistic(Bare), replace(self.event, released=None), (1.0, 0.0))

    def test_audit_with_a_constant_after_an_announced_intrusion_rejects_the_claim(self):
        class Constant(Incidence):
            def announce_intrusion(self, state, random_source):
                state.announced_intrusions += 1

        require_caught(self.statistic(Constant), self.between, (1.0, 0.0))
