"""Statistics of numbered items, each with a cell of its own, as the tests of streams take them."""

import random
from fractions import Fraction

import numpy as np
import pytest

from panprivacy.accounting import discrete_laplace
from panprivacy.statistics.streams.cropped_mean import CroppedMeanParameters
from panprivacy.statistics.streams.density import DensityParameters
from panprivacy.statistics.streams.heavy_hitters import HeavyHitters
from panprivacy.statistics.streams.incidence import Incidence
from panprivacy.statistics.streams.mod_incidence import ModIncidence


def _numbered(statistic, size, epsilon=0.5, announced=2, universe=None, **members):
    parameters = statistic.parameters_class(
        epsilon=epsilon,
        universe_size=universe or size,
        table_size=size,
        announced_intrusions=announced,
        items="numbered",
        **members,
    )
    return statistic(parameters)


def heavy_hitters(size=2_000, **changes):
    return _numbered(HeavyHitters, size, **({"k": 4, "n_max": 20, "rho": 1.0} | changes))


def incidence(size=2_000, **changes):
    return _numbered(Incidence, size, **({"t": 3, "n_max": 10} | changes))


def mod_incidence(size=400, **changes):
    return _numbered(ModIncidence, size, **({"k": 3} | changes))


def cropped_mean_parameters(**changes):
    members = {"epsilon": 0.5, "universe_size": 4_000, "table_size": 4_000, "items": "numbered", "t": 3}
    return CroppedMeanParameters(**(members | changes))


def density_parameters(**changes):
    members = {"epsilon": 0.5, "universe_size": 4_000, "table_size": 4_000, "items": "numbered"}
    return DensityParameters(**(members | changes))


def no_noise(monkeypatch, drawn=0):
    """Every draw of the result's noise is `drawn`; returns the scales that were asked for."""
    scales = []
    monkeypatch.setattr(discrete_laplace, "sample", lambda scale, _: scales.append(scale) or drawn)
    return scales


def state_with(statistic, ones):
    """A state with so many ones."""
    state = statistic.start(random.Random(1))
    state.arrays["bits"][:] = np.arange(statistic.parameters.table_size) < ones
    return state


def require_noise_before_scaling(monkeypatch, statistic, step, ones=2_000):
    """The noise is added to the share of ones, not to the value: it costs ε, and 4 as printed.

    Args:
        step: by how much one more 1 moves the value, in units of 1/(εm). Printed is noise of a
            quarter of that.
    """
    epsilon, m = statistic.parameters.epsilon, statistic.parameters.table_size
    outputs = {}
    for count, noise in ((ones, 0), (ones + 1, 0), (ones, 1)):
        with monkeypatch.context() as patch:
            scales = no_noise(patch, noise)
            outputs[count, noise] = statistic.estimate(state_with(statistic, count), None).values[0]
        assert scales == [1 / Fraction(epsilon)]
    moved_by_an_item = outputs[ones + 1, 0] - outputs[ones, 0]
    moved_by_noise = (outputs[ones, 1] - outputs[ones, 0]) * float(scales[0])
    assert moved_by_an_item / moved_by_noise == pytest.approx(epsilon)
    assert moved_by_an_item == pytest.approx(step / (epsilon * m), rel=1e-9)
