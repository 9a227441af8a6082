"""A recipe with a shuffler as a device is served it, and in memory its site and its shuffler."""

import base64
import json
import random
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from panprivacy.device.transport import ServedRecipe
from panprivacy.encryption import DEFAULT_SCHEME, generate_private_key
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.recipe.token import token_require
from panprivacy.statistics.trust_models.shuffler import ShufflerAndAnalyzer
from tests.panprivacy.device.in_process import Application, InProcessTransport
from tests.panprivacy.device.server import SIGNING_KEY, answered, page_of, problem
from tests.tokens import ISSUER_KEY, token_admission

SHUFFLER_SIGNING_KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(2, 34)))
SHUFFLER_KEY = SHUFFLER_SIGNING_KEY.public_key().public_bytes_raw()
SITE_URL = "https://site.example"
SHUFFLER_URL = "https://shuffler.example/shuffler"
ANALYZER_KEY = generate_private_key(DEFAULT_SCHEME, random.Random(20261120))

DISTINCT_ELEMENTS = {
    "statistic": "distinct_elements",
    "epsilon": 2.0,
    "delta": 0.01,
    "cohort_size": 3,
    "k": 4,
}
"""Few users and a weak promise, so that there are few messages."""


def shuffler_recipe(
    *,
    simulation: bool = True,
    shuffler_url: str = SHUFFLER_URL,
    tokens: bool = False,
    relay: str | None = None,
    **members: object,
) -> PublishedRecipe:
    """A published recipe; keyword arguments replace members of its draft."""
    members |= {"admission": "token"} if tokens else {}
    members |= {} if relay is None else {"relay": True}
    draft = {"name": "Models", "question": "How many models are in use?"} | DISTINCT_ELEMENTS | members
    servers = ShufflerAndAnalyzer(
        shuffler_url=shuffler_url,
        shuffler_verification_key=SHUFFLER_KEY,
        analyzer_key_members=ANALYZER_KEY.public_key.to_json(),
    )
    return RecipeDraft.from_mapping(draft).publish(
        servers,
        datetime(2026, 1, 1, tzinfo=UTC),
        simulation=simulation,
        admission=token_admission() if tokens else None,
        relay=relay,
    )


class MemoryShuffler:
    """The site that publishes a recipe and the shuffler behind it: a WSGI application for each.

    Attributes:
        users: nonce → encoded messages, of at most the recipe's cohort.
        takes_messages: whether the recipe is open there.
        lost: how many answers to messages get lost after they were stored.
        beside: other servers that devices reach, by address.
    """

    def __init__(self, **members: object) -> None:
        self.recipe = shuffler_recipe(**members)
        self.status = "open"
        self.users: dict[bytes, list[bytes]] = {}
        self.takes_messages = True
        self.lost = 0
        self.beside: dict[str, Application] = {}

    @property
    def served(self) -> ServedRecipe:
        recipe = self.recipe
        signatures = recipe.sign(SIGNING_KEY), recipe.sign(SHUFFLER_SIGNING_KEY)
        issuer = None if recipe.admission is None else recipe.sign(ISSUER_KEY)
        return ServedRecipe(
            recipe.identifier, recipe.document, signatures[0], self.status, signatures[1], issuer
        )

    def transport(self) -> InProcessTransport:
        return InProcessTransport(self.site, others={SHUFFLER_URL: self.shuffler, **self.beside})

    def total(self) -> list[int]:
        """How often each message came, as the analyzer counts them."""
        public_key, allowed = ANALYZER_KEY.public_key, self.recipe.calibrated_statistic.allowed_values
        counts = Counter(
            ANALYZER_KEY.decrypt(public_key.parse(message), allowed)
            for messages in self.users.values()
            for message in messages
        )
        return [counts[message] for message in allowed]

    def site(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Serves the recipe."""
        if environ["PATH_INFO"] != f"/api/v1/recipes/{self.recipe.identifier}/":
            return answered(start_response, 404, problem("not-found", 404))
        return answered(start_response, 200, page_of(self.served, "shuffler"))

    def shuffler(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Takes messages until it has those of n users."""
        path = environ["PATH_INFO"].removeprefix("/shuffler")
        assert (environ["REQUEST_METHOD"], path) == ("POST", f"/recipes/{self.recipe.identifier}/messages")
        assert environ["CONTENT_TYPE"] == "application/json"
        body = json.loads(environ["wsgi.input"].read())
        nonce, messages = base64.b64decode(body["nonce"]), list(map(base64.b64decode, body["messages"]))
        if self.recipe.admission is not None:
            token_require(self.recipe, base64.b64decode(body["token"]), nonce)
        if any(len(message) != ANALYZER_KEY.public_key.ciphertext_bytes for message in messages):
            return answered(start_response, 422, problem("invalid-ciphertext", 422))
        if not self.takes_messages:
            return answered(start_response, 409, problem("recipe-not-open", 409))
        if nonce not in self.users and len(self.users) == self.recipe.calibrated_statistic.cohort_size:
            return answered(start_response, 409, problem("batch-full", 409))
        self.users.setdefault(nonce, messages)
        if self.lost:
            self.lost -= 1
            return answered(start_response, 503, problem("unavailable", 503))
        return answered(start_response, 201, {"status": "accepted"})
