"""How much of a population's total comes with those of its devices that take part, if each has 0 or k."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from panprivacy.accounting.rounding import log_one_plus
from panprivacy.statistics.intervals.exact import Numbers

_FEW = 100.0
"""Up to this variance of how many devices with k are chosen, their numbers are gone through one by one."""

_DEVIATIONS = 12
_LEAST_REACH = 40
"""They are used within these standard deviations and numbers to each side of the mean."""


@dataclass(frozen=True)
class Choice:
    """C, how many of n devices drawn without replacement from about n/q have k, if a share p of all has.

    A share that is no whole number of devices is taken as one of its two neighbours by chance, so that C
    grows with p. If C varies much, it is taken as a constant and two binomial numbers, X₁ − X₂, which have
    its first three cumulants.

    Attributes:
        reports: n, at least 1.
        sampling_rate: q, above 0.
    """

    reports: int
    sampling_rate: float

    def variance(self, share: Numbers) -> Numbers:
        """Var C for each share."""
        devices = share * self._population
        part = devices - np.floor(devices)
        within = (1 - part) * self._variance(np.floor(devices)) + part * self._variance(np.ceil(devices))
        return np.asarray(within + part * (1 - part) * (self.reports / self._population) ** 2)

    def log_characteristic(self, share: Numbers, angles: Numbers, varying: Numbers) -> NDArray[np.complex128]:
        """ln E exp(i·t·C).

        Args:
            share: a column.
            angles: t, a row for each share.
            varying: a column: the part of the reports, from 0 to 1, that the chance of the choice decides
                about. Of the rest the share p has k.
        """
        found = self._continued(share, angles, varying)
        few = (self.variance(share) <= _FEW) & (varying == 1)
        for row in np.flatnonzero(few):
            found[row] = self._exact(float(share[row, 0]), angles[row])
        return found

    @property
    def _population(self) -> int:
        return max(self.reports, round(self.reports / self.sampling_rate))

    def _variance(self, devices: Numbers) -> Numbers:
        n, population = self.reports, self._population
        share = devices / population
        return np.asarray(n * share * (1 - share) * (population - n) / max(population - 1, 1))

    def _continued(self, share: Numbers, angles: Numbers, varying: Numbers) -> NDArray[np.complex128]:
        n, missing = self.reports, 1 - self.reports / self._population
        drawn = varying * n * missing * self._population / max(self._population - 1, 1)
        added, taken = drawn * missing, drawn * (1 - missing)
        fixed = share * (n - added + taken)
        up, down = np.expm1(1j * angles), np.expm1(-1j * angles)
        return np.asarray(
            1j * angles * fixed + added * log_one_plus(share * up) + taken * log_one_plus(share * down)
        )

    def _exact(self, share: float, angles: Numbers) -> NDArray[np.complex128]:
        devices = share * self._population
        whole = math.floor(devices)
        part = devices - whole
        lowest, chances = self._hypergeometric(whole)
        waves = np.polynomial.polynomial.polyval(np.exp(1j * angles), chances)
        found = (1 - part) * waves * np.exp(1j * angles * lowest)
        if part > 0:
            lowest, chances = self._hypergeometric(whole + 1)
            waves = np.polynomial.polynomial.polyval(np.exp(1j * angles), chances)
            found = found + part * waves * np.exp(1j * angles * lowest)
        return np.asarray(np.log(np.where(found == 0, 1e-300, found)))

    def _hypergeometric(self, devices: int) -> tuple[int, Numbers]:
        """The least number that is considered, and the probabilities from there on."""
        n, population = self.reports, self._population
        mean = n * devices / population
        reach = _DEVIATIONS * math.sqrt(float(self._variance(np.asarray(float(devices))))) + _LEAST_REACH
        lowest = max(0, n - (population - devices), math.floor(mean - reach))
        highest = min(devices, n, math.ceil(mean + reach))
        chosen = np.arange(lowest, highest, dtype=np.float64)
        ratios = (devices - chosen) * (n - chosen)
        ratios /= (chosen + 1) * (population - devices - n + chosen + 1)
        logs = np.concatenate([[0.0], np.cumsum(np.log(ratios))])
        chances = np.exp(logs - logs.max())
        return lowest, chances / chances.sum()
