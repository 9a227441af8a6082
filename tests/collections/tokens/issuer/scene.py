"""A site, an attester and its devices, against the issuer's addresses. Keys are made once."""

import json
import random
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from panprivacy.formats import base64_text
from panprivacy.protocols.oblivious_http import capsules, keys, padding
from panprivacy.protocols.oblivious_http.binary_http import Request, Response
from panprivacy.protocols.oblivious_prf.evaluation import ClientRequest, ask
from panprivacy.protocols.privacy_pass import issuance
from panprivacy.protocols.privacy_pass.rsa_keys import PublicKey
from panprivacy.protocols.privacy_pass.tokens import Token, TokenResponse
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.recipe.parts.admission import TokenAdmission
from panprivacy.recipe.token import challenge
from panprivacy.statistics.trust_models.single_server import OneServer
from partners.client import PeerClient, PeerRefusedError
from partners.partner import ask_json
from storage.signing_key import verification_key
from tests.factories import recipe_members
from tests.network import in_process, verification_key_of
from tests.panprivacy.protocols.privacy_pass.keys import seeded_key
from tests.panprivacy.statistics.test_servers import public_key
from tokens.issuer.models import Handle, Issuance

ORIGIN = "https://issuer.test"
ISSUER_URL, ISSUER_NAME = f"{ORIGIN}/issuer", "issuer.test"
ATTESTER_URL = "https://attester.test/attester"
SITE_SIGNING_KEY, ATTESTER_SIGNING_KEY, OTHER_SIGNING_KEY = (bytes(range(n, n + 32)) for n in (0, 1, 2))

SOURCE = random.Random(9497)

transport = in_process(ORIGIN)


SETTINGS: dict[str, Any] = {
    "ROOT_URLCONF": "panapp.issuer_urls",
    "ISSUER_URL": ISSUER_URL,
    "ATTESTER_URL": ATTESTER_URL,
    "SITE_KEY": verification_key_of(SITE_SIGNING_KEY),
    "ATTESTER_KEY": verification_key_of(ATTESTER_SIGNING_KEY),
    "SMALLEST_COHORT": 2,
    "OBLIVIOUS_ADDRESSES": frozenset(),
}
"""With which this process answers as an issuer would."""


def seeded_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the issuer take keys that were made before, each once: making one takes a fifth of a second."""
    made = iter(range(100))
    monkeypatch.setattr("tokens.issuer.keys.generate", lambda _: seeded_key(next(made)))


def peer(signing_key: bytes) -> PeerClient:
    return PeerClient(
        url=ISSUER_URL,
        verification_key=verification_key().public_bytes_raw(),
        signing_key=signing_key,
        transport=transport,
    )


def site() -> PeerClient:
    return peer(SITE_SIGNING_KEY)


def attester() -> PeerClient:
    return peer(ATTESTER_SIGNING_KEY)


def token_key(request: bytes) -> dict[str, Any]:
    return ask_json(site(), "POST", "/token-keys", {"request": request.hex()})


class Collection:
    """One recipe with tokens: its site, and as many devices as are wanted."""

    def __init__(
        self, *, simulation: bool = True, changes: Mapping[str, Any] | None = None, **asked: Any
    ) -> None:
        self.request = secrets.token_bytes(16)
        answer = token_key(self.request)
        members: dict[str, Any] = {
            "issuer_name": answer["issuer_name"],
            "issuer_key": verification_key().public_bytes_raw(),
            "attester_url": answer["attester_url"],
            "token_key": base64_text.decode(answer["token_key"]),
        }
        draft = RecipeDraft.from_mapping(recipe_members(admission="token", **asked))
        admission = TokenAdmission(**{**members, **(changes or {})})
        self.recipe: PublishedRecipe = draft.publish(
            OneServer.of(public_key(1)), timezone.now(), simulation=simulation, admission=admission
        )
        self.key = PublicKey.decode(admission.token_key)

    @property
    def identifier(self) -> str:
        return self.recipe.identifier

    @property
    def issuance(self) -> Issuance:
        return Issuance.objects.get(identifier=self.identifier)

    @property
    def counted(self) -> int:
        return Handle.objects.filter(issuance=self.issuance, withheld=False).count()

    def register(self, **changes: Any) -> bytes:
        identifier = changes.pop("identifier", self.identifier)
        content = {"document": self.recipe.canonical.decode(), "request": self.request.hex(), **changes}
        answer = ask_json(site(), "PUT", f"/recipes/{identifier}", content)
        return base64_text.decode(answer["signature"])

    def registered(self) -> "Collection":
        self.register()
        return self

    def end(self, reason: str = "closed") -> dict[str, Any]:
        return ask_json(site(), "POST", f"/recipes/{self.identifier}/end", {"reason": reason})

    def device(self) -> "Device":
        return Device(self, issuance.ask(self.key, challenge(self.recipe), SOURCE))


@dataclass(frozen=True)
class Told:
    """What attester and device got.

    Attributes:
        element, handle: the attester's; None where the device got no token.
        response: the device's.
    """

    element: bytes | None
    handle: bytes | None
    response: Response

    @property
    def problem(self) -> str:
        """Last part of the type of the problem that the device was told."""
        return str(json.loads(self.response.content)["type"].rpartition("/")[2])


@dataclass(frozen=True)
class Device:
    """A device with its pending token."""

    collection: Collection
    pending: issuance.PendingToken

    def request(self, **changes: Any) -> Request:
        members: dict[str, Any] = {
            "method": b"POST",
            "scheme": b"https",
            "authority": b"issuer.test",
            "path": f"/recipes/{self.collection.identifier}/token".encode(),
            "headers": ((b"content-type", b"application/private-token-request"),),
            "content": self.pending.request.encode(),
        }
        return Request(**{**members, **changes})

    def ask(
        self, *, withheld: Sequence[bytes] = (), asked: ClientRequest | None = None, **changes: Any
    ) -> Told:
        """Through the attester, which asks for itself, too."""
        return send(self.request(**changes).encode(), withheld=withheld, element=(asked or asking()).element)

    def token(self, told: Told) -> Token:
        assert told.response.status == 200, told.response.content
        return self.pending.finish(TokenResponse.decode(told.response.content))


def asking(pseudonym: bytes = b"device 1") -> ClientRequest:
    return ask(pseudonym, SOURCE)


def sealed(request: bytes) -> tuple[bytes, capsules.ClientContext]:
    config, *_ = keys.decode_list(Client().get("/.well-known/ohttp-gateway").content)
    return capsules.seal(config, padding.padded(request), SOURCE)


def send(request: bytes, *, withheld: Sequence[bytes] = (), element: bytes | None = None) -> Told:
    """Seal a request, send it as the attester does, and open the answer."""
    capsule, context = sealed(request)
    answer = send_capsule(capsule, withheld=withheld, element=element)
    opened = context.open(base64_text.decode(answer["capsule"]))
    assert len(opened) == padding.CLASSES[0]
    element, handle = (
        None if answer[name] is None else base64_text.decode(answer[name]) for name in ("element", "handle")
    )
    return Told(element, handle, Response.decode(opened))


def content_of(
    capsule: bytes, *, withheld: Sequence[bytes] = (), element: bytes | None = None
) -> dict[str, Any]:
    return {
        "element": base64_text.encode(element or asking().element),
        "capsule": base64_text.encode(capsule),
        "withheld": [base64_text.encode(handle) for handle in withheld],
    }


def send_capsule(capsule: bytes, **members: Any) -> dict[str, Any]:
    return ask_json(attester(), "POST", "/tokens", content_of(capsule, **members))


def refusal(content: Mapping[str, Any]) -> PeerRefusedError:
    with pytest.raises(PeerRefusedError) as error:
        ask_json(attester(), "POST", "/tokens", content)
    return error.value
