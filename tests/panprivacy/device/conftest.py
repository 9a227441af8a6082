import functools
import random
import secrets
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from panprivacy.device.transport import WireReport
from panprivacy.encryption import DEFAULT_SCHEME, generate_private_key
from panprivacy.encryption.interface import PrivateKey
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.statistics.trust_models.single_server import OneServer
from tests.panprivacy.device.attester import URL
from tests.panprivacy.device.server import MemoryServer
from tests.tokens import token_admission

MakeServer = Callable[..., MemoryServer]


@functools.cache
def private_key_of(scheme: str) -> PrivateKey:
    """The same key each time: worth nothing, known to everyone."""
    return generate_private_key(scheme, random.Random(20261120))


@pytest.fixture(scope="session")
def make_server() -> MakeServer:
    """A server with one open recipe; keyword arguments replace members of its draft.

    With `tokens` its reports need one of `tests.tokens`, and `relay` is the only way to it. A target cites
    results that are not there.
    """

    def make(
        *,
        simulation: bool = True,
        encryption: str = DEFAULT_SCHEME,
        tokens: bool = False,
        attester_url: str = URL,
        relay: str | None = None,
        **members: object,
    ) -> MemoryServer:
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
        if tokens:
            draft["admission"] = "token"
        if relay is not None:
            draft["relay"] = True
        draft = {name: value for name, value in draft.items() if value is not None}
        key = private_key_of(encryption)
        asked = RecipeDraft.from_mapping(draft)
        target = asked.target
        recipe = asked.publish(
            OneServer.of(key.public_key),
            datetime(2026, 1, 1, tzinfo=UTC),
            simulation=simulation,
            admission=token_admission(attester_url=attester_url) if tokens else None,
            relay=relay,
            target=target and target.cited(dict.fromkeys(target.recipes, "b" * 64), asked.parameters),
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
