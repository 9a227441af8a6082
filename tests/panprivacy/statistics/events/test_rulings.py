"""docs/errata.md, line by line: what is printed breaks a property that ours keeps."""

import itertools
import math
import random
from fractions import Fraction

import pytest

from panprivacy.accounting.discrete_gaussian_sum import delta_of, smallest_scale
from panprivacy.accounting.guarantees import Model, Relation
from panprivacy.statistics.events.histogram import Histogram, HistogramParameters
from panprivacy.statistics.events.mean import Mean, MeanParameters
from panprivacy.statistics.events.randomized_response import RandomizedResponse
from tests.panprivacy.statistics.events.contract import decrypted, run
from tests.panprivacy.statistics.events.transparent import TransparentPrivateKey

COMMON = {"steps": 6, "epsilon": 1.0, "delta": 1e-6, "cohort_size": 100, "k": 3}


def epsilon_of_keeping(keep: float) -> float:
    """ε of "keep the bit with this probability, otherwise send a fair one"."""
    return math.log((1 + keep) / (1 - keep))


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0])
def test_coin_inverted_as_in_algorithm_5_breaks_the_local_guarantee(epsilon):
    # Printed: r = Ber(2/(e^ε + 1)), and r = 0 randomizes.
    printed_keep = 2 / (math.exp(epsilon) + 1)
    assert epsilon_of_keeping(RandomizedResponse(epsilon).keep_probability) == pytest.approx(epsilon)
    assert epsilon_of_keeping(printed_keep) > 1.05 * epsilon


def printed_step(public_key, state, event, step, source):
    """Algorithm 5, lines 8–17, as printed: c_0, d_0 first, then upwards."""
    size = len(state) // 2
    c, d = list(state[:size]), list(state[size:])
    if not event:
        return tuple(public_key.rerandomize(x, source) for x in state)
    c[0] = public_key.encrypt(0, source, rerandomizations=step)
    d[0] = public_key.encrypt(1, source, rerandomizations=step)
    for i in range(1, size):
        c[i], d[i] = public_key.rerandomize(c[i - 1], source), public_key.rerandomize(d[i - 1], source)
    return (*c, *d)


def test_shift_upwards_as_in_algorithm_5_loses_the_count():
    key, source = TransparentPrivateKey(), random.Random(1)
    mechanism = Histogram(HistogramParameters(**COMMON))
    start = mechanism.start(key.public_key, source)
    ours = mechanism.step(key.public_key, start, True, 1, source)
    printed = printed_step(key.public_key, start, True, 1, source)
    assert decrypted(key, ours) == [0, 1, 0, 0, 1, 1, 0, 0]
    # No count at all, and at once "k or more".
    assert decrypted(key, printed) == [0, 0, 0, 0, 1, 1, 1, 1]


def test_sum_of_i_times_c_i_as_in_algorithm_4_loses_counts_above_k():
    key, source = TransparentPrivateKey(), random.Random(1)
    stream = (1, 1, 1, 1, 1)
    c = decrypted(key, run(Histogram(HistogramParameters(**COMMON)), key.public_key, stream, source))[:4]
    d = decrypted(
        key,
        run(
            Mean(MeanParameters(**COMMON, guarantee="local", noise_scale=1.0)), key.public_key, stream, source
        ),
    )
    assert sum(i * c_i for i, c_i in enumerate(c)) == 0
    assert sum(d) == 3


def test_variance_k_sigma_squared_as_in_algorithm_4_breaks_the_guarantee():
    # σ is the scale for counts that differ by 1; for counts that differ by k the standard deviation is k·σ.
    k, epsilon, delta = 10, 1.0, 1e-6
    sigma = smallest_scale(1, 1, epsilon, delta)
    assert delta_of(1, math.sqrt(k) * sigma, k, epsilon) > 1000 * delta
    assert delta_of(1, k * sigma, k, epsilon) < 1.1 * delta
    ours = MeanParameters(**(COMMON | {"k": k}), guarantee="local").calibrated()
    assert delta_of(1, ours.noise_scale, k, epsilon) <= delta


def test_scale_for_the_sum_gives_one_device_no_useful_local_guarantee():
    mechanism = Mean(
        MeanParameters(**(COMMON | {"cohort_size": 10_000}), guarantee="aggregator").calibrated()
    )
    epsilon = {(g.model, g.relation): g.epsilon for g in mechanism.guarantees() if g.dishonest_fraction == 0}
    assert epsilon[Model.AGGREGATOR, Relation.REPLACE] == 1.0
    assert epsilon[Model.LOCAL, Relation.REPLACE] > 50


def exact_epsilon(bits, other_bits, flip):
    """ε between the randomized responses of two vectors of bits, by enumerating every output."""
    ratios = []
    for output in itertools.product((0, 1), repeat=len(bits)):
        first, second = (
            math.prod(flip if out != bit else 1 - flip for out, bit in zip(output, vector, strict=True))
            for vector in (bits, other_bits)
        )
        ratios.append(math.log(first / second))
    return max(ratios)


def test_histogram_of_a_replaced_stream_costs_twice_the_printed_epsilon():
    parameters = HistogramParameters(**COMMON, coin="bucket")
    mechanism, flip = Histogram(parameters), RandomizedResponse(1.0).flip_probability
    stated = {g.relation: g.epsilon for g in mechanism.guarantees() if g.model == Model.LOCAL}
    one_hot = [tuple(int(i == count) for i in range(4)) for count in range(4)]
    worst = max(exact_epsilon(a, b, flip) for a in one_hot for b in one_hot)
    assert worst == pytest.approx(2.0)  # printed: 1 (Theorem 11)
    assert worst == pytest.approx(stated[Relation.REPLACE])
    # Even against the stream without events: it too sets a bit. Only the all-zero report is one ε away.
    assert max(exact_epsilon(a, one_hot[0], flip) for a in one_hot) == pytest.approx(2.0)
    reference = max(exact_epsilon(*pair, flip) for a in one_hot for pair in ((a, (0,) * 4), ((0,) * 4, a)))
    assert reference == pytest.approx(stated[Relation.ADD_REMOVE])


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0])
def test_error_of_theorem_6_as_printed_is_too_small(epsilon):
    response = RandomizedResponse(epsilon)
    # The exact variance of one debiased response, from its two outcomes.
    p = response.flip_probability
    outcomes = [(response.debiased(y, 1), p if y == 1 else 1 - p) for y in (0, 1)]  # of a device with bit 0
    mean = sum(value * weight for value, weight in outcomes)
    variance = sum((value - mean) ** 2 * weight for value, weight in outcomes)
    assert mean == pytest.approx(0, abs=1e-12)
    assert variance == pytest.approx(math.exp(epsilon) / (math.exp(epsilon) - 1) ** 2)
    assert response.variance == pytest.approx(variance)
    # Printed: 1 + e^ε/(1 + e^ε)², which never exceeds 5/4, however small ε.
    printed = 1 + math.exp(epsilon) / (1 + math.exp(epsilon)) ** 2
    if epsilon <= 0.5:
        assert variance > 3 * printed
    assert math.exp(epsilon) / (1 + math.exp(epsilon)) ** 2 < variance / 3


@pytest.mark.parametrize(("steps", "p"), [(5, Fraction(3, 10)), (8, Fraction(1, 4)), (11, Fraction(2, 5))])
def test_equality_of_theorem_12_as_printed_is_twice_too_large(steps, p):
    def binomial(n):
        return [math.comb(n, m) * p**m * (1 - p) ** (n - m) for m in range(n + 1)]

    shorter = binomial(steps - 1)
    with_flip = [
        (shorter[m] if m < steps else 0) * p + (shorter[m - 1] if m else 0) * (1 - p)
        for m in range(steps + 1)
    ]
    distance = sum(abs(a - b) for a, b in zip(binomial(steps), with_flip, strict=True)) / 2
    top = math.ceil(steps * p)
    printed = 2 * (1 - 2 * p) * Fraction(top) / (steps * p) * binomial(steps)[top]
    assert printed == 2 * distance
    assert float(distance) <= (1 - 2 * float(p)) / math.sqrt(4 * float(p * (1 - p)) * steps)
