import pytest

from panprivacy.accounting.gaussian import Gaussian
from research.reproduction.sampled_gaussian import renyi_epsilon


def test_renyi_epsilon_agrees_with_reference_numbers():
    event = Gaussian(sigma=5.1, sampling_rate=0.02, rounds=2_500)
    assert renyi_epsilon(event, 1e-8) == pytest.approx(1.0826, rel=1e-4)
    event = Gaussian(sigma=1.660, sampling_rate=0.01, rounds=1_000)
    assert renyi_epsilon(event, 1e-6) == pytest.approx(1.0, rel=1e-3)


def test_renyi_epsilon_is_silent(caplog, capfd):
    renyi_epsilon(Gaussian(sigma=5.1, sampling_rate=0.02, rounds=2_500), 1e-8)
    assert not caplog.records
    assert capfd.readouterr() == ("", "")
