"""How much Gaussian noise a release needs: the smallest σ that keeps ε = 1 at δ = 1e-6."""

from panprivacy.accounting.calibration import calibrated
from panprivacy.accounting.gaussian import Gaussian

release = calibrated(
    Gaussian, members={"rounds": 10, "sampling_rate": 0.1}, solve_for="sigma", epsilon=1.0, delta=1e-6
)

print(release)
assert release.epsilon(1e-6) <= 1.0
