"""An analyzer and its devices, against the shuffler's addresses."""

import json
import random
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from panprivacy.encryption import generate_private_key
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.recipe.parts.admission import Admission
from panprivacy.recipe.statistic import statistic_as
from panprivacy.statistics.shuffle.interface import ShuffleStatistic
from panprivacy.statistics.trust_models.shuffler import ShufflerAndAnalyzer
from partners.client import PeerClient
from partners.shuffler_calls import recipe_register
from shuffle.shuffler.models import Batch
from storage.signing_key import verification_key
from tests.factories import as_json
from tests.network import in_process, verification_key_of
from tests.tokens import token_admission

SCHEME = "elgamal-secp256k1"
ORIGIN = "https://shuffler.test"
SHUFFLER_URL = f"{ORIGIN}/shuffler"
ANALYZER_SIGNING_KEY = bytes(range(32))
ANALYZER_KEY = verification_key_of(ANALYZER_SIGNING_KEY)
OTHER_SIGNING_KEY = bytes(range(1, 33))

transport = in_process(ORIGIN)


def shuffle_members(**changes: Any) -> dict[str, Any]:
    """A recipe file of a small cohort; a change to None leaves the member out."""
    members = {
        "name": "Kinds of terminals",
        "question": "How many different terminals are in use?",
        "statistic": "distinct_elements",
        "epsilon": 1.0,
        "delta": 1e-2,
        "cohort_size": 3,
        "k": 2,
        **changes,
    }
    return {name: value for name, value in members.items() if value is not None}


def peer(signing_key: bytes = ANALYZER_SIGNING_KEY) -> PeerClient:
    return PeerClient(
        url=SHUFFLER_URL,
        verification_key=verification_key().public_bytes_raw(),
        signing_key=signing_key,
        transport=transport,
    )


def body_of(content: Mapping[Any, Any]) -> bytes:
    """JSON, bytes in base64."""
    return json.dumps(as_json(content)).encode()


class Collection:
    """One recipe through the shuffler: its analyzer, and as many devices as are wanted."""

    def __init__(
        self, *, simulation: bool = True, servers: Mapping[str, Any] | None = None, **changes: Any
    ) -> None:
        self.private_key = generate_private_key(SCHEME, secrets.SystemRandom())
        named = {
            "shuffler_url": SHUFFLER_URL,
            "shuffler_verification_key": verification_key().public_bytes_raw(),
            "analyzer_key_members": self.private_key.public_key.to_json(),
            **(servers or {}),
        }
        draft = RecipeDraft.from_mapping(shuffle_members(**changes))
        self.recipe: PublishedRecipe = draft.publish(
            ShufflerAndAnalyzer(**named),
            timezone.now(),
            simulation=simulation,
            admission=token_admission() if draft.admission == Admission.TOKEN else None,
        )

    @property
    def identifier(self) -> str:
        return self.recipe.identifier

    @property
    def statistic(self) -> ShuffleStatistic[Any]:
        return statistic_as(self.recipe, ShuffleStatistic)

    @property
    def batch(self) -> Batch:
        return Batch.objects.get(identifier=self.identifier)

    def register(self) -> bytes:
        return recipe_register(peer(), identifier=self.identifier, document=self.recipe.canonical)

    def registered(self) -> "Collection":
        self.register()
        return self

    def encrypted(self, messages: Sequence[int]) -> list[bytes]:
        source = secrets.SystemRandom()
        return [bytes(self.recipe.public_key.encrypt(message, source)) for message in messages]

    def messages(self, value: int = 0) -> list[int]:
        """Those of an honest user."""
        return self.statistic.randomize(value, random.Random(value))

    def send(
        self, messages: Sequence[bytes] | None = None, *, nonce: bytes | None = None, **changes: Any
    ) -> HttpResponse:
        """What one device posts: by default an honest user's messages."""
        ciphertexts = self.encrypted(self.messages()) if messages is None else list(messages)
        content = {"nonce": nonce or secrets.token_bytes(16), "messages": ciphertexts}
        return self.post(body_of(content), **changes)

    def post(self, body: bytes, content_type: str = "application/json", **environ: Any) -> HttpResponse:
        return Client().post(f"/shuffler/recipes/{self.identifier}/messages", body, content_type, **environ)

    def fill(self, values: Sequence[int] | None = None) -> list[int]:
        """Honest devices that are taken in, by default as many as fill the batch; what they sent in all."""
        sent = []
        for value in values or [0] * self.statistic.cohort_size:
            messages = self.messages(value)
            assert self.send(self.encrypted(messages)).status_code == 201
            sent += messages
        return sent

    def decrypted(self, payload: bytes) -> list[int]:
        key = self.recipe.public_key
        size = key.ciphertext_bytes
        pieces = [payload[start : start + size] for start in range(0, len(payload), size)]
        return [self.private_key.decrypt(key.parse(piece), self.statistic.allowed_values) for piece in pieces]
