import functools
import random
import secrets
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from devices_sim.transport import WireReport
from panprivacy.encryption import DEFAULT_SCHEME, generate_private_key
from panprivacy.encryption.interface import PrivateKey
from panprivacy.recipe import RecipeDraft
from panprivacy.trust_models.single_server import OneServer
from tests.devices_sim.server import MemoryServer

MakeServer = Callable[..., MemoryServer]


@functools.cache
def private_key_of(scheme: str) -> PrivateKey:
    """The same key each time: worth nothing, known to everyone."""
    return generate_private_key(scheme, random.Random(20261120))


@pytest.fixture(scope="session")
def make_server() -> MakeServer:
    """A server with one open recipe; keyword arguments replace members of its draft."""

    def make(*, simulation: bool = True, encryption: str = DEFAULT_SCHEME, **members: object) -> MemoryServer:
        draft = {
            "name": "Late arrivals",
            "question": "How many devices had an event?",
            "statistic": "count_nonzero",
            "steps": 4,
            "epsilon": 2.0,
            "delta": 1e-6,
            "cohort_size": 2,
            "encryption": encryption,
        } | members
        key = private_key_of(encryption)
        recipe = RecipeDraft.from_mapping(draft).publish(
            OneServer.of(key.public_key), datetime(2026, 1, 1, tzinfo=UTC), simulation=simulation
        )
        return MemoryServer(recipe, key)

    return make


@pytest.fixture
def server(make_server: MakeServer) -> MemoryServer:
    return make_server()


@pytest.fixture
def reports(server):
    key = server.private_key.public_key
    source = secrets.SystemRandom()
    return [WireReport(bytes([i]) * 16, (bytes(key.encrypt(i % 2, source)),)) for i in range(5)]
