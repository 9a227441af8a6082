"""Keys for tests, generated once a session from fixed seeds. Worth nothing, known to everyone."""

import functools
import random
from collections.abc import Callable

import pytest

from panprivacy.encryption import generate_private_key
from panprivacy.encryption.interface import PrivateKey

KeyOf = Callable[..., PrivateKey]


@pytest.fixture(scope="session")
def key_of() -> KeyOf:
    """key_of(scheme, seed=1): the same key each time."""

    @functools.cache
    def generate(scheme: str, seed: int = 1) -> PrivateKey:
        return generate_private_key(scheme, random.Random(seed))

    return generate
