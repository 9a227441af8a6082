"""How many of 50,000 items appeared, from a table that reveals little even to an intruder (PPS, Figure 1)."""

import secrets

import numpy as np

from panprivacy.statistics.streams.density import Density, DensityParameters

source = secrets.SystemRandom()
statistic = Density(DensityParameters(epsilon=0.5, universe_size=50_000, table_size=50_000))
state = statistic.start(source)
statistic.process_batch(state, np.arange(15_000), source)  # an item is its cell; each tosses one bit anew
statistic.process_batch(state, np.arange(15_000), source)  # that it came twice leaves no trace

estimate = statistic.estimate(state, source)
print(f"about {estimate.values[0]:.0%} ± {estimate.error_bounds[0]:.0%} of all items; the truth is 30%")
