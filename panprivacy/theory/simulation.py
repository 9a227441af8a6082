"""Seeded randomness for simulations. Nothing that protects anybody draws from here."""

import random

import numpy as np


def source(seed: int, *place: object) -> random.Random:
    """A generator of its own for each place of a demonstration, so that one number can be computed alone."""
    return random.Random("/".join(map(str, (seed, *place))))  # noqa: S311  # a simulation


def generator(random_source: random.Random) -> np.random.Generator:
    """A NumPy generator seeded by the next 128 bits of `random_source`."""
    return np.random.Generator(np.random.PCG64(random_source.getrandbits(128)))
