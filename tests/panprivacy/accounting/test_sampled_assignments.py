"""Every assignment of the others' bits with sampling: against enumeration by other means."""

import math
import random
from itertools import pairwise

import numpy as np
import pytest

from panprivacy.accounting.assignments import LARGEST_ENUMERATED
from panprivacy.accounting.guarantees import bracket
from panprivacy.accounting.one_hot_sum import OneHotSum
from panprivacy.accounting.question import answer
from panprivacy.accounting.randomized_response_sum import RandomizedResponseSum
from panprivacy.accounting.sampled_assignments import _Bound, every_divergence, worst_sampled_divergence
from panprivacy.accounting.sampling import Sampling


def one_by_one(n, epsilon0, rate, ones, epsilon):
    """δ of one assignment, both directions: device after device is added to Pr[(count, sum)]."""
    keep = 1 / (1 + math.exp(-epsilon0))

    def with_device(joint, bit):
        up = keep if bit else 1 - keep
        larger = (1 - rate) * joint
        larger[1:, 1:] += rate * up * joint[:-1, :-1]
        larger[1:, :] += rate * (1 - up) * joint[:-1, :]
        return larger

    joint = np.zeros((n + 1, n + 1))
    joint[0, 0] = 1.0
    for device in range(n - 1):
        joint = with_device(joint, int(device < ones))
    one, zero = (with_device(joint, bit) for bit in (1, 0))
    growth = math.exp(epsilon)
    return max(np.maximum(0, p - growth * q).sum() for p, q in ((one, zero), (zero, one)))


def drawn(seed, fewest, most):
    """Random parameters: n, ε₀, q, ε."""
    source = random.Random(seed)
    epsilon0 = math.exp(source.uniform(math.log(0.05), math.log(12)))
    rate = source.choice([source.uniform(0.02, 0.98), 10 ** source.uniform(-2, 0)])
    return source.randint(fewest, most), epsilon0, rate, source.random() ** 3 * epsilon0


@pytest.mark.parametrize("seed", range(4))
def test_delta_of_many_devices_is_the_worst_of_every_assignment(seed):
    n, epsilon0, rate, epsilon = drawn(f"many {seed}", 8, 45)
    worst = max(one_by_one(n, epsilon0, rate, ones, epsilon) for ones in range(n))
    found = RandomizedResponseSum(n=n, epsilon0=epsilon0, sampling_rate=rate).delta(epsilon)
    assert worst - 1e-13 <= found <= worst * (1 + 1e-9) + 1e-11


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.long)])
def test_delta_of_two_hundred_devices_is_reached_and_nowhere_exceeded(seed):
    source = random.Random(f"two hundred {seed}")
    _, epsilon0, rate, epsilon = drawn(f"parameters {seed}", 2, 3)
    n = LARGEST_ENUMERATED
    every = every_divergence(n, 1 / (math.exp(epsilon0) + 1), rate, epsilon)
    worst = int(every.argmax())
    assert one_by_one(n, epsilon0, rate, worst, epsilon) == pytest.approx(every[worst], rel=1e-9, abs=1e-11)
    for ones in (0, n - 1, source.randrange(n), source.randrange(n)):
        assert one_by_one(n, epsilon0, rate, ones, epsilon) <= every.max() + 1e-13


def test_epsilon_if_twelve_ones_are_the_worst_assignment_is_theirs():
    """The unanimous ones give 5.991."""
    event = RandomizedResponseSum(n=70, epsilon0=10.0, sampling_rate=0.9)
    delta = 9.2445e-4
    epsilon = event.epsilon(delta)
    assert epsilon == pytest.approx(6.898, abs=5e-4)
    for ones in (12, 57):
        assert one_by_one(70, 10.0, 0.9, ones, epsilon * (1 - 1e-6)) > delta
    assert all(one_by_one(70, 10.0, 0.9, ones, epsilon) <= delta * (1 + 1e-9) for ones in range(70))
    assert one_by_one(70, 10.0, 0.9, 0, 6.0) < delta < one_by_one(70, 10.0, 0.9, 0, 5.99)


@pytest.mark.parametrize("seed", [0, 3, 5, 6, 7, 11, *range(12, 16)])
def test_bound_for_many_devices_is_above_every_assignment_of_few(seed):
    bound, every = bound_and_every(*drawn(f"bound {seed}", 2, 150))
    assert every.max() * (1 - 1e-9) - 1e-11 <= bound


@pytest.mark.parametrize("blocks", [64, 512])
@pytest.mark.parametrize("seed", range(6))
def test_bound_of_a_range_is_above_each_of_its_assignments(seed, blocks):
    """Of a whole law, so of ranges at its ends and in the middle, of one assignment and of many."""
    n, epsilon0, rate, epsilon = drawn(f"range {seed}", 4, 80)
    p, keep = 1 / (math.exp(epsilon0) + 1), 1 / (1 + math.exp(-epsilon0))
    every = every_divergence(n, p, rate, epsilon)
    excess = -keep * math.expm1(epsilon - epsilon0)
    bound = _Bound(p, rate, excess, math.expm1(epsilon), max(1e-5 * every.max(), 1e-45))
    source = random.Random(f"ends {seed}")
    ends = [sorted(source.sample(range(n), 2)) for _ in range(6)]
    for first, last in [*ends, (0, n - 1), (n // 2, n // 2)]:
        found = bound.of_range(first, n - 1 - last, last - first, blocks)
        assert every[first : last + 1].max() * (1 - 1e-9) - 1e-11 <= found


def test_bound_of_a_range_tells_less_where_bits_are_hardly_told_from_coins():
    """Being told all of 50,000 of 1,000,000 others moves δ by a seventh, and not by a fiftieth like this."""
    n, rate, epsilon0 = 1_000_000, 0.5, 0.1
    epsilon = RandomizedResponseSum(n=n, epsilon0=epsilon0, sampling_rate=rate).epsilon(1e-6)
    keep = 1 / (1 + math.exp(-epsilon0))
    bound = _Bound(1 - keep, rate, -keep * math.expm1(epsilon - epsilon0), math.expm1(epsilon), 1e-11)
    told = bound.of(475_000, 475_000 - 1, 512)
    assert bound.of_range(475_000, 475_000 - 1, 50_000, 512) < 0.9 * told


def test_bound_for_many_devices_is_that_of_the_worst_nineteen_ones():
    """Within a hundredth: a bound smaller by a fiftieth would be wrong."""
    bound, every = bound_and_every(62, 8.4, 0.96, 4.2)
    assert every.argmax() == 19
    assert max(every[0], every[-1]) < 0.5 * every.max()
    assert every.max() <= bound <= 1.01 * every.max()


def bound_and_every(n, epsilon0, rate, epsilon):
    """The bound that is used beyond the limit, where all can be gone through."""
    p, keep = 1 / (math.exp(epsilon0) + 1), 1 / (1 + math.exp(-epsilon0))
    every = every_divergence(n, p, rate, epsilon)
    reached = max(every[0], every[-1])
    excess = -keep * math.expm1(epsilon - epsilon0)
    return worst_sampled_divergence(n, p, rate, excess, math.expm1(epsilon), reached), every


@pytest.mark.parametrize(("n", "rate", "epsilon0", "delta", "factor"), [
    (300, 0.1, 1.0, 1e-6, 1.002),
    (300, 0.5, 6.0, 1e-3, 1.001),
    pytest.param(300, 0.1, 10.0, 1e-4, 1.01, marks=pytest.mark.long),
    pytest.param(1_000, 0.5, 0.1, 1e-6, 1.015, marks=pytest.mark.long),
    pytest.param(10**6, 0.1, 2.0, 1e-9, 1.01, marks=pytest.mark.long),
])  # fmt: skip
def test_bound_for_many_devices_is_close_where_one_bit_is_well_hidden(n, rate, epsilon0, delta, factor):
    event = RandomizedResponseSum(n=n, epsilon0=epsilon0, sampling_rate=rate)
    found, proved = event.epsilon(delta), event.proved_epsilon(delta)
    assert found <= proved <= factor * found
    assert event.proved_delta(proved) <= delta


@pytest.mark.parametrize(("n", "rate", "epsilon0", "delta"), [
    (64, 0.1, 4.0, 1e-5),
    pytest.param(LARGEST_ENUMERATED, 0.184, 11.04, 6.94e-4, marks=pytest.mark.long),
])  # fmt: skip
def test_proved_epsilon_does_not_jump_where_enumeration_ends(n, rate, epsilon0, delta):
    """It jumped from 1.226 to 2.678 at 64 devices, q = 0.1, ε₀ = 4, δ = 1e-5."""
    everybody = RandomizedResponseSum(n=n, epsilon0=epsilon0)
    found = [
        Sampling(event=everybody, n=devices, sampling_rate=rate).epsilon(delta)
        for devices in (n, n + 1, n + 2)
    ]
    assert all(after <= before * (1 + 2e-3) for before, after in pairwise(found))
    assert found[-1] > 0.95 * found[0]


def test_proved_epsilon_at_almost_certain_failure_is_found():
    event = RandomizedResponseSum(n=1_000, epsilon0=8.0, sampling_rate=0.1)
    deltas = sorted((0.9, 0.1, event.delta(0.0), 1e-2), reverse=True)
    found = [event.proved_epsilon(delta) for delta in deltas]
    assert found == sorted(found)
    assert found[0] == 0.0
    assert all(event.proved_delta(epsilon) <= delta for epsilon, delta in zip(found, deltas, strict=True))


@pytest.mark.parametrize(
    ("n", "epsilon0", "rate"), [(300, 12.0, 0.9), pytest.param(10**6, 0.1, 1e-3, marks=pytest.mark.long)]
)
def test_proved_delta_is_found_at_every_epsilon(n, epsilon0, rate):
    event = RandomizedResponseSum(n=n, epsilon0=epsilon0, sampling_rate=rate)
    for share in (0.0, 1e-9, 0.5, 0.9, 0.999, 1 - 1e-9, 1.0, 2.0):
        assert event.delta(share * epsilon0) <= event.proved_delta(share * epsilon0) <= 1


def test_proved_delta_beyond_the_limit_is_at_most_that_of_fewer_devices():
    """ε₀ so large and δ so small that hardly anybody hides anybody: the bound alone would be above."""
    fewer = RandomizedResponseSum(n=LARGEST_ENUMERATED, epsilon0=10.0, sampling_rate=0.9)
    more = RandomizedResponseSum(n=LARGEST_ENUMERATED + 1, epsilon0=10.0, sampling_rate=0.9)
    for epsilon in np.linspace(0, 9.9, 5):
        assert more.proved_delta(float(epsilon)) <= fewer.delta(float(epsilon)) * (1 + 1e-9) + 1e-12


def test_answers_say_whether_they_are_exact_or_a_bracket():
    question = {"mechanism": "randomized_response", "epsilon0": 2.0, "sampling_rate": 0.1, "delta": 1e-6}
    exact, between = answer({**question, "n": 100}), answer({**question, "n": 250})
    assert exact["proved"]
    assert exact["proved_epsilon"] == exact["epsilon"]
    assert "worst case over all assignments of the other bits (exact)" in exact["method"]
    assert not between["proved"]
    assert bracket(0.0251639, 0.0256119) == "proved bracket [0.02516, 0.02562]"
    assert between["method"].startswith(bracket(between["epsilon"], between["proved_epsilon"]) + "; ")
    one_hot = {"mechanism": "one_hot", "k": 3, "epsilon0": 2.0, "delta": 1e-6}
    assert "all assignments of the other vectors (exact)" in answer({**one_hot, "n": 50})["method"]
    assert answer({**one_hot, "n": 250})["method"].startswith("proved bracket [")


def both_coordinates(n, epsilon0, i, j, epsilon):
    """δ of one assignment: all pairs of sums, with factors of one device multiplied out one by one."""
    flip = 1 / (math.exp(epsilon0) + 1)

    def total(ones, zeros):
        found = np.ones(1)
        for up in [1 - flip] * ones + [flip] * zeros:
            found = np.convolve(found, [1 - up, up])
        return found

    def pair(i, j):
        return np.outer(total(i, n - i), total(j, n - j))

    return np.maximum(0, pair(i + 1, j) - math.exp(epsilon) * pair(i, j + 1)).sum()


def test_one_hot_epsilon_if_ten_ones_are_the_worst_is_theirs():
    """The nearly unanimous ones give 2.907."""
    epsilon = OneHotSum(n=22, k=3, epsilon0=3.0).epsilon(0.1448)
    assert epsilon == pytest.approx(2.995, abs=1e-3)
    every = {
        (i, j): both_coordinates(22, 3.0, i, j, epsilon * (1 - 1e-6))
        for i in range(22)
        for j in range(22 - i)
    }
    assert max(every, key=every.__getitem__) == (10, 0)
    assert every[10, 0] == pytest.approx(0.1448, rel=1e-5)
    assert every[10, 0] > 0.1448


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("k", [2, 3])
def test_one_hot_delta_at_random_parameters_is_the_worst_of_every_pair(seed, k):
    source = random.Random(f"one-hot {seed} {k}")
    n, epsilon0 = source.randint(2, 25), math.exp(source.uniform(math.log(0.05), math.log(8)))
    epsilon = 2 * epsilon0 * source.random() ** 2
    pairs = [(i, j) for i in range(n) for j in range(n - i) if k > 2 or i + j == n - 1]
    worst = max(both_coordinates(n, epsilon0, i, j, epsilon) for i, j in pairs)
    found = OneHotSum(n=n, k=k, epsilon0=epsilon0).delta(epsilon)
    assert worst - 1e-13 <= found <= worst * (1 + 1e-9) + 1e-13


def test_one_hot_delta_of_up_to_two_hundred_devices_is_nowhere_exceeded():
    source = random.Random("many one-hot 0")
    n, epsilon0 = source.randint(100, 200), math.exp(source.uniform(math.log(0.1), math.log(8)))
    epsilon = 2 * epsilon0 * source.random() ** 2
    found = OneHotSum(n=n, k=5, epsilon0=epsilon0).delta(epsilon)
    for _ in range(60):
        i = source.randrange(n)
        j = source.randrange(n - i)
        assert both_coordinates(n, epsilon0, i, j, epsilon) <= found * (1 + 1e-9) + 1e-13
