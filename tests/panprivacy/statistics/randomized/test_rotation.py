"""The rotation against its matrix, and how evenly it spreads lengths."""

import math

import numpy as np
import pytest
from scipy.linalg import hadamard

from panprivacy.statistics.randomized.rotation import Rotation

DIMENSIONS = [1, 2, 3, 8, 100, 513, 1_000]


@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_rotated_is_the_product_with_the_matrix(dimension):
    rotation = Rotation(dimension, 7)
    signs = np.array([rotation.rotated(row)[0] for row in np.eye(dimension)]) * math.sqrt(rotation.padded)
    assert np.abs(signs) == pytest.approx(1.0)
    matrix = hadamard(rotation.padded)[:, 1 : dimension + 1] * signs / math.sqrt(rotation.padded)
    for vector in np.random.default_rng(dimension).normal(size=(2, dimension)):
        assert rotation.rotated(vector) == pytest.approx(matrix @ vector, abs=1e-12)


@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_rotation_keeps_lengths_and_turns_back(dimension):
    rotation = Rotation(dimension, 0)
    vector = np.random.default_rng(1).normal(size=dimension)
    rotated = rotation.rotated(vector)
    assert len(rotated) == rotation.padded > dimension >= rotation.padded / 2
    assert np.linalg.norm(rotated) == pytest.approx(np.linalg.norm(vector), rel=1e-13)
    # What is added to all rotated coordinates alike turns back to nothing.
    for shift in (0.0, 7.0):
        assert rotation.turned_back(rotated + shift) == pytest.approx(vector, abs=1e-12)


def test_rotation_follows_from_its_seed_alone():
    one = np.eye(63)[0]
    found = [tuple(np.sign(Rotation(63, seed).rotated(np.ones(63)))) for seed in (0, 0, 1, 2**64 - 1)]
    assert found[0] == found[1]
    assert len(set(found)) == 3
    assert np.abs(Rotation(63, 0).rotated(one)) == pytest.approx(1 / 8)


def test_no_coordinate_of_a_fixed_vector_is_large_under_most_signs():
    """Hoeffding: any of 256 coordinates is above 4.5/√D with probability 0.021 at most. So of 200 seeds, 25
    or more have such a coordinate with probability 2e-12 at most."""
    vector = np.zeros(255)
    vector[:16] = 1 / 4
    beyond = [np.abs(Rotation(255, seed).rotated(vector)).max() > 4.5 / 16 for seed in range(200)]
    assert sum(beyond) < 25
