"""Rounds of the sampled Gaussian over wide ranges, drawn at random: a second method, and monotonicity.

Nothing here fails by chance: the seeds are fixed.
"""

import math
import random

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution

from panprivacy.accounting.calibration import calibrated
from panprivacy.accounting.composed_loss import ComposedLoss
from panprivacy.accounting.gaussian import Gaussian
from tests.panprivacy.accounting.long_double import epsilon_of_rounds

RANGES = {"sigma": (0.3, 100), "sampling_rate": (1e-7, 1), "rounds": (2, 1e6), "delta": (1e-12, 1e-3)}


def drawn(source):
    """σ, q, rounds, δ: logarithms uniform over the ranges."""
    sigma, rate, rounds, delta = (
        math.exp(source.uniform(math.log(low), math.log(high))) for low, high in RANGES.values()
    )
    return sigma, rate, round(rounds), delta


def epsilon(sigma, rate, rounds, delta):
    return Gaussian(sigma=sigma, sampling_rate=rate, rounds=rounds).epsilon(delta)


@pytest.mark.parametrize(("sigma", "rate", "rounds", "delta", "expected"), [
    (1.0, 1e-4, 10_000, 1e-8, 0.06231),
    (1.5, 1.003e-3, 555, 2.18e-5, 0.04978),
    pytest.param(0.5, 1e-6, 1_000_000, 1e-8, 0.29631, marks=pytest.mark.long),
])  # fmt: skip
def test_epsilon_at_small_rates_is_not_that_of_the_largest_losses(sigma, rate, rounds, delta, expected):
    assert epsilon(sigma, rate, rounds, delta) == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize(("sigma", "rate", "delta", "expected", "tolerance"), [
    # Errors relative to 1 and not to δ made it 2.5% too large.
    pytest.param(0.43, 3e-7, 2.9e-11, 0.0691165, 1e-4, marks=pytest.mark.long),
    (0.6, 3e-5, 2.9e-8, None, 5e-4),
])  # fmt: skip
def test_epsilon_of_few_rounds_with_rare_large_losses_is_that_of_one(sigma, rate, delta, expected, tolerance):
    """Two of 18 rounds with a large loss are next to impossible: each is given an eighteenth of δ."""
    one = epsilon(sigma, rate, 1, delta / 18)
    assert expected is None or one == pytest.approx(expected, rel=1e-5)
    if np.finfo(np.longdouble).epsneg > 1e-18:
        tolerance = 5e-3
    assert one * (1 - 1e-6) <= epsilon(sigma, rate, 18, delta) <= one * (1 + tolerance)


def spacing_near(sigma, rate, rounds, delta, found):
    """As fine as moves ε by 2e-4 of itself, from the moments of one round's loss."""
    spread = rate * math.sqrt(math.expm1(min(1 / sigma**2, 500.0))) * math.sqrt(rounds)
    steep = 1 + 2 * math.log(1 / delta) / found + 1 / max(spread, found)
    return math.sqrt(12 * 2e-4 * found / (steep * rounds))


@pytest.mark.parametrize(("seed", "cases"), [(21, 1), pytest.param(24, 5, marks=pytest.mark.long)])
def test_epsilon_drawn_at_random_agrees_with_a_second_method(seed, cases):
    """The second method is above, by what its lattice costs, and needs one that its size allows."""
    source, compared = random.Random(seed), 0
    while compared < cases:
        case = drawn(source)
        sigma, rate, rounds, _ = case
        found = epsilon(*case)
        if found < 1e-6:
            continue
        spacing = spacing_near(*case, found)
        reach = 10 / sigma + 1 / sigma**2 + 40 * math.sqrt(rounds) * rate / sigma + found
        if reach / spacing > 2e5:
            continue
        second = epsilon_of_rounds(*case, spacing)
        assert second * (1 - 2e-3) <= found <= second * (1 + 1e-3), case
        compared += 1


@pytest.mark.parametrize(("seed", "cases"), [(21, 1), pytest.param(25, 4, marks=pytest.mark.long)])
def test_epsilon_drawn_at_random_is_within_those_of_dp_accounting(seed, cases):
    source, compared = random.Random(seed), 0
    while compared < cases:
        case = drawn(source)
        sigma, rate, rounds, delta = case
        found = epsilon(*case)
        interval = spacing_near(*case, max(found, 1e-12))
        if not 1e-6 < found < 500 or delta < 1e-9 or (20 / sigma + 1 / sigma**2) / interval > 3e5:
            continue  # its transform has errors near 1e-15 times the rounds
        between = [
            privacy_loss_distribution.from_gaussian_mechanism(
                sigma, sampling_prob=rate, value_discretization_interval=interval, **estimate
            )
            .self_compose(rounds)
            .get_epsilon_for_delta(delta)
            for estimate in ({"pessimistic_estimate": False, "use_connect_dots": False}, {})
        ]
        assert between[0] <= found <= between[1] * 1.002, case
        compared += 1


@pytest.mark.parametrize("seed", [22, pytest.param(26, marks=pytest.mark.long)])
def test_epsilon_drawn_at_random_rises_with_rounds_and_rate(seed):
    sigma, rate, rounds, delta = drawn(random.Random(seed))
    found = epsilon(sigma, rate, rounds, delta)
    for more in (
        (sigma, rate, math.ceil(min(1e6, rounds * 1.5)), delta),
        (sigma, min(1.0, rate * 1.02), rounds, delta),
        (sigma / 1.02, rate, rounds, delta),
        (sigma, rate, rounds, delta / 2),
    ):
        assert found <= epsilon(*more) * (1 + 1e-3), more


def test_sigma_that_is_solved_for_is_the_smallest():
    members = {"sampling_rate": 0.01, "rounds": 100}
    sigma = calibrated(Gaussian, members=members, solve_for="sigma", epsilon=0.5, delta=1e-6).sigma
    assert epsilon(sigma, 0.01, 100, 1e-6) == pytest.approx(0.5, rel=1e-3)
    assert epsilon_of_rounds(sigma * 0.999, 0.01, 100, 1e-6, 1e-3) > 0.5


def test_lattices_that_are_kept_do_not_grow_in_number():
    loss = ComposedLoss([(Gaussian(sigma=2.0).parts()[0][0][0], 3)])
    for value in range(1, 20):
        loss.delta(value / 5)
    assert len(loss._cells) <= 2  # memory is what is asked for


@pytest.mark.parametrize(
    ("sigma", "rounds", "expected"),
    [(0.1, 60, 3329.383628), (1.0, 5957, 3306.697813), (1.0, 5956, 3306.170), (0.1, 1_000_000, 50_056_119)],
)
def test_many_rounds_without_sampling_cost_what_they_cost(sigma, rounds, expected):
    """Where δ at ε = 0 is 1 to all digits. From Balle & Wang’s formula with 60 digits; the last one by its
    normal approximation, ρ²/2 + 5.612·ρ with ρ = 10,000."""
    event = Gaussian(sigma=sigma, rounds=rounds)
    assert event.epsilon(1e-8 if rounds == 1_000_000 else 1e-5) == pytest.approx(expected, rel=1e-4)
    assert event.delta(0.0) == 1.0


@pytest.mark.parametrize(("sigma", "rate", "rounds", "delta"), [
    (0.1, 0.999999999, 1_000_000, 1e-32), (0.1, 1 - 1e-9, 100, 1e-8),
    (0.3, 1 - 1e-16, 10, 1e-8),
    pytest.param(0.3, 1e-7, 1_000_000, 1e-32, marks=pytest.mark.long),
])  # fmt: skip
def test_sampling_costs_no_more_even_if_it_spares_next_to_none(sigma, rate, rounds, delta):
    """Losses that were cut off in each round added up to δ, and no ε came of the first two."""
    found, everybody = (epsilon(sigma, q, rounds, delta) for q in (rate, 1.0))
    assert 0 < found <= everybody
    if rate > 0.9:
        assert found == pytest.approx(everybody, rel=1e-3)
