"""Reference numbers, second methods, and limits of the Gaussian mechanism."""

import pytest
from dp_accounting.pld import privacy_loss_distribution
from mpmath import mp

from panprivacy.accounting.gaussian import Gaussian
from tests.panprivacy.accounting.contract import EventContract


class TestContract(EventContract):
    @pytest.fixture
    def event(self):
        return Gaussian(sigma=2.0)


class TestContractOfSampledRounds(EventContract):
    @pytest.fixture
    def event(self):
        return Gaussian(sigma=2.0, sampling_rate=0.1, rounds=20)


@pytest.mark.parametrize(("event", "delta", "epsilon", "tolerance"), [
    (Gaussian(sigma=5.1), 1e-8, 1.0000638, 1e-7),
    (Gaussian(sigma=5.1, sampling_rate=0.02), 1e-8, 0.026276, 2e-5),
    (Gaussian(sigma=5.1, sampling_rate=0.02, rounds=2_500), 1e-8, 1.0204, 5e-5),
    (Gaussian(sigma=1.563, sampling_rate=0.01, rounds=1_000), 1e-6, 1.0, 5e-4),
])  # fmt: skip
def test_epsilon_agrees_with_reference_numbers(event, delta, epsilon, tolerance):
    assert event.epsilon(delta) == pytest.approx(epsilon, rel=tolerance)


def densities_divergence(sigma, rate, epsilon, *, removed):
    """The divergence of the two mixtures at ε, by integration of max(0, p − e^ε·q) with 30 digits."""
    with mp.workdps(30):
        sigma, rate, growth = mp.mpf(sigma), mp.mpf(rate), mp.exp(mp.mpf(epsilon))

        def mixture_cdf(x):
            return (1 - rate) * mp.ncdf(x / sigma) + rate * mp.ncdf((x - 1) / sigma)

        def at_loss(loss):  # the output at which the mixture is e^loss times as likely
            return mp.mpf(1) / 2 + sigma**2 * mp.log((mp.exp(loss) - 1 + rate) / rate)

        if removed:
            x = at_loss(mp.mpf(epsilon))
            return (1 - mixture_cdf(x)) - growth * (1 - mp.ncdf(x / sigma))
        if 1 / growth <= 1 - rate:
            return mp.mpf(0)
        x = at_loss(-mp.mpf(epsilon))
        return mp.ncdf(x / sigma) - growth * mixture_cdf(x)


@pytest.mark.parametrize("sigma", [0.3, 2.0, 50.0])
@pytest.mark.parametrize("rate", [1e-4, 0.3, 0.999])
@pytest.mark.parametrize("share", [0.0, 0.5, 3.0])
def test_delta_of_one_sampled_round_is_that_of_many_digits(sigma, rate, share):
    epsilon = share * rate / sigma
    exact = max(densities_divergence(sigma, rate, epsilon, removed=removed) for removed in (True, False))
    found = Gaussian(sigma=sigma, sampling_rate=rate).delta(epsilon)
    assert exact <= found <= exact * (1 + 1e-9) + 1e-300


@pytest.mark.parametrize(("sigma", "rate", "rounds", "delta", "interval"), [
    pytest.param(0.8, 0.01, 1_000, 1e-6, 1e-4, marks=pytest.mark.long),
    pytest.param(1.0, 0.001, 10_000, 1e-8, 2e-5, marks=pytest.mark.long),
    (30.0, 0.3, 3, 1e-6, 1e-5),
    (0.5, 0.9, 2, 1e-6, 1e-3),
])  # fmt: skip
def test_epsilon_of_rounds_agrees_with_dp_accounting(sigma, rate, rounds, delta, interval):
    single = privacy_loss_distribution.from_gaussian_mechanism(
        sigma, sampling_prob=rate, value_discretization_interval=interval
    )
    peer = single.self_compose(rounds).get_epsilon_for_delta(delta)
    found = Gaussian(sigma=sigma, sampling_rate=rate, rounds=rounds).epsilon(delta)
    assert found == pytest.approx(peer, rel=1e-3)


def test_epsilon_of_nearly_full_samples_meets_that_of_no_sampling():
    whole = Gaussian(sigma=4.0, rounds=9)
    nearly = Gaussian(sigma=4.0, sampling_rate=1 - 1e-12, rounds=9)
    for delta in (1e-4, 1e-12, 1e-29):
        assert whole.epsilon(delta) <= nearly.epsilon(delta) * (1 + 1e-9)
        assert nearly.epsilon(delta) == pytest.approx(whole.epsilon(delta), rel=5e-4)


def test_delta_of_rounds_without_sampling_is_that_of_one_with_less_noise():
    assert Gaussian(sigma=6.0, rounds=4).delta(0.3) == Gaussian(sigma=3.0).delta(0.3)


def test_delta_of_the_widest_noise_stays_an_upper_bound():
    with mp.workdps(60):
        sigma = mp.mpf(10) ** 9
        exact = mp.ncdf(1 / (2 * sigma)) - mp.ncdf(-1 / (2 * sigma))
    assert exact <= Gaussian(sigma=1e9).delta(0.0) <= exact * (1 + mp.mpf("1e-5"))
