"""Seeded randomness for simulations. Code that protects devices never uses it."""

import random

import numpy as np


def source(seed: int, *place: object) -> random.Random:
    """A generator of its own for each part of a demonstration, so that one number can be computed alone."""
    return random.Random("/".join(map(str, (seed, *place))))  # noqa: S311  # a simulation


def simulation_generator(random_source: random.Random) -> np.random.Generator:
    """NumPy's generator, seeded from `random_source`."""
    return np.random.default_rng(random_source.getrandbits(128))
