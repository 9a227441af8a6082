"""docs/errata.md, the numbers: each test fails on the printed version, mostly by a second method."""

import math

import numpy as np
import pytest
from mpmath import mp, mpf, ncdf
from scipy.stats import binom

from panprivacy.accounting.discrete_gaussian_sum import delta_of
from panprivacy.accounting.shuffling import ShuffledReports
from research.reproduction import histogram_errors as errors
from research.reproduction.histogram_errors import Setting
from research.reproduction.local_pan_privacy import continuous_scale
from research.reproduction.samplable_anonymous_aggregation import (
    aggregated_error,
    dummy_reports_delta,
    largest_epsilon0_2022,
    sampled_error,
)
from research.reproduction.sampled_gaussian import renyi_divergence_of_order_2


@pytest.mark.parametrize("rate", [0.001, 0.02, 0.5, 0.99])
@pytest.mark.parametrize("sigma", [0.8, 5.1, 50.0])
def test_renyi_bound_of_example_1_as_printed_is_exceeded_at_every_rate(rate, sigma):
    printed = rate**2 * 2 / (2 * sigma**2)
    assert renyi_divergence_of_order_2(sigma, rate) > printed
    # The same by quadrature of the definition.
    x, step = np.linspace(-12 * sigma, 12 * sigma + 2 / sigma + 2, 400_001, retstep=True)
    density = np.exp(-(x**2) / (2 * sigma**2)) / (sigma * math.sqrt(2 * math.pi))
    ratio = 1 - rate + rate * np.exp((2 * x - 1) / (2 * sigma**2))
    # E (ratio − 1)² = E ratio² − 1, without cancellation
    assert math.log1p(float((density * (ratio - 1) ** 2).sum() * step)) == pytest.approx(
        renyi_divergence_of_order_2(sigma, rate), rel=1e-6
    )


def analytic_gaussian_delta(sigma, epsilon):
    with mp.workdps(40):
        sigma, epsilon = mpf(sigma), mpf(epsilon)
        return ncdf(1 / (2 * sigma) - epsilon * sigma) - mp.e**epsilon * ncdf(
            -1 / (2 * sigma) - epsilon * sigma
        )


def test_sigma_of_example_3_as_printed_misses_its_guarantee():
    assert analytic_gaussian_delta("5.1", 1) > mpf("1e-8")
    assert analytic_gaussian_delta("5.1004", 1) < mpf("1e-8")


def test_shuffle_bound_that_example_4_cites_gives_more_than_printed():
    assert ShuffledReports(n=10_000, epsilon0=4.0).epsilon(1e-10) > 0.89


def test_closed_form_of_footnote_3_is_used_beyond_its_condition():
    assert largest_epsilon0_2022(n=10_000, delta=1e-10) < 4


def test_rappor_of_example_4_exceeds_the_printed_epsilon_if_replaced():
    # All others hold value i; the user's is i, or j instead. Both coordinates at once, by plain convolution.
    n, flip = 10_000, 1 / (math.exp(4) + 1)
    at_i = binom.pmf(np.arange(n - 600, n), n - 1, 1 - flip)
    at_j = binom.pmf(np.arange(600), n - 1, flip)
    one, zero = [flip, 1 - flip], [1 - flip, flip]
    stays = np.multiply.outer(np.convolve(at_i, one), np.convolve(at_j, zero))
    moves = np.multiply.outer(np.convolve(at_i, zero), np.convolve(at_j, one))
    assert np.maximum(stays - math.exp(0.61) * moves, 0).sum() > 10e-10
    assert np.maximum(stays - math.exp(0.662) * moves, 0).sum() < 1e-10
    # The rare counts that are left out weigh less than 1e-30.
    assert binom.sf(599, n - 1, flip) < 1e-30


def sampled_gaussian_delta_from_below(sigma, rate, rounds, epsilon):
    """An optimistic estimate: no accountant can prove a smaller δ."""
    from dp_accounting.pld import privacy_loss_distribution

    loss = privacy_loss_distribution.from_gaussian_mechanism(
        sigma,
        sampling_prob=rate,
        pessimistic_estimate=False,
        value_discretization_interval=1e-5,
        use_connect_dots=False,
    )
    return loss.self_compose(rounds).get_delta_for_epsilon(epsilon)


def test_epsilon_of_example_5_as_printed_is_below_any_accountants():
    # With the printed 0.8 rounded up to 0.85, too; and by a factor, not by a rounding error.
    assert sampled_gaussian_delta_from_below(5.1, 0.02, 2_500, 0.85) > 1e-7


def test_sample_of_section_3_is_below_the_cohort_more_often_than_printed():
    devices, rate, failure = 1_000_000, 0.02, 1e-6
    expected = devices * rate
    printed = expected - math.sqrt(expected * math.log(1 / failure))
    ours = expected - math.sqrt(2 * expected * math.log(1 / failure))
    assert binom.cdf(math.floor(printed), devices, rate) > 50 * failure
    assert binom.cdf(math.floor(ours), devices, rate) < failure


def test_inequality_of_footnote_4_as_printed_is_reversed():
    for shares in ([0.5, 0.25, 0.25], [0.7, 0.1, 0.1, 0.1], [0.2, 0.3, 0.5]):
        error = sum(share * (1 - share) for share in shares)
        assert 1 - max(shares) < error < 1


def test_dummy_reports_at_the_rate_of_section_4_6_show_the_exact_count():
    assert dummy_reports_delta(10_000, 1.0) > 0.36
    # By definition: whoever sees the smallest possible count knows that there was no dummy.
    assert pytest.approx(dummy_reports_delta(10_000, 1.0), rel=1e-9) == (1 - 1 / 10_000) ** 10_000


def test_population_of_appendix_b_changes_the_error():
    large = Setting(population=1_000_000, reports=10_000, buckets=10_000, tasks=1_000)
    small = Setting(population=100_000, reports=10_000, buckets=10_000, tasks=1_000)
    assert errors.without_privacy(small) == errors.without_privacy(large)
    assert aggregated_error(small) > 9 * aggregated_error(large)
    assert sampled_error(small) > 40 * sampled_error(large)


def test_continuous_rule_for_theorem_13_costs_more_than_it_promises():
    scale = continuous_scale(10_000, 10, 1.0, 1e-6)
    assert delta_of(10_000, scale, 10, 1.3) > 1e-6
