"""The linear program of PPS Figure 5: the fractions that best explain what counters show."""

import numpy as np

# Its parts are loaded when they are first used (see accounting/discrete_gaussian_sum.py).
import scipy
from numpy.typing import NDArray

Numbers = NDArray[np.float64]


def closest_fractions(distribution: Numbers, shown: Numbers) -> Numbers:
    """f ≥ 0 with sum 1 whose cyclic convolution with `distribution` is as close as possible to `shown`.

    The program minimizes the largest difference. The printed program asks for differences up to a constant
    instead, and has no solution if the noise is larger.

    Args:
        distribution, shown: of the same length.

    Raises:
        ArithmeticError: the solver found no solution.
    """
    size = len(shown)
    residues = np.arange(size)
    convolution = distribution[(residues[:, None] - residues[None, :]) % size]
    violation = np.ones((size, 1))
    solution = scipy.optimize.linprog(
        c=np.append(np.zeros(size), 1.0),
        A_ub=np.block([[convolution, -violation], [-convolution, -violation]]),
        b_ub=np.concatenate([shown, -shown]),
        A_eq=np.append(np.ones(size), 0.0)[None, :],
        b_eq=[1.0],
        bounds=(0, None),
        method="highs",
    )
    if solution.x is None:
        raise ArithmeticError(f"the linear program was not solved: {solution.message}")
    found = np.maximum(solution.x[:size], 0.0)
    return np.asarray(found / found.sum())
