"""What double precision loses, and how to lose less of it."""

import numpy as np
from numpy.typing import NDArray

UNIT = 2.0**-53
"""The largest relative error of one operation."""


def log_one_plus(z: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """ln(1 + z), also precise relative to its real part if that is small, which NumPy's is not: 10⁹ such
    logarithms are added up."""
    return np.asarray(np.log1p(2 * z.real + z.real**2 + z.imag**2) / 2 + 1j * np.arctan2(z.imag, 1 + z.real))


def upwards(epsilon: float) -> float:
    """A computed number ≥ 0, rounded up by 2⁻⁴⁹ of itself. That covers the rounding of a few operations, each
    by at most 2⁻⁵²: their errors come to at most 7·2⁻⁵² of the result."""
    return epsilon * (1 + 2.0**-49)
