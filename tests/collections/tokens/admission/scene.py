"""A site, and an issuer that is only what its resources say: keys, signatures, a number at the end."""

import json
from collections.abc import Mapping
from typing import Any

from django.conf import settings

from panprivacy.formats import base64_text
from panprivacy.protocols.dap.signatures import sign_response
from panprivacy.protocols.signed_count import IssuedTokens
from panprivacy.recipe.document import PublishedRecipe
from partners.partner import Partner
from publishing.admission import Admitting
from publishing.publication import recipe_publish_file
from recipes.models import Recipe
from tests.factories import recipe_members
from tests.panprivacy.protocols.privacy_pass.keys import seeded_key
from tests.tokens import ISSUER_KEY

ISSUER_URL = "https://issuer.example/issuer"
RELAY_URL = "https://relay.example/relay/hospital"

Answered = tuple[int, Mapping[str, str], bytes]


class FakeIssuer:
    """Is called as a transport. `silent` are methods and ends of addresses to which no answer comes back:
    before the request arrives, or after (`lost`).

    Attributes:
        issued: what it says at the end.
        said: members that replace those of its answers.
        refusal: status and type of the problem with which it answers everything.
    """

    def __init__(self, issued: int = 7) -> None:
        self.issued = issued
        self.silent = self.lost = ""
        self.said: dict[str, Any] = {}
        self.refusal: tuple[int, str] | None = None
        self.keys: dict[str, int] = {}
        self.documents: dict[str, str] = {}
        self.ended: list[tuple[str, str]] = []
        self.signing_key = ISSUER_KEY

    def __call__(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> Answered:
        assert url.startswith(f"{ISSUER_URL}/"), url
        what = f"{method} {url.removeprefix(ISSUER_URL)}"
        if self.silent and what.startswith(self.silent):
            raise ConnectionRefusedError
        status, answer = 200, self._answer(what, json.loads(body))
        if self.refusal:
            status, type_ = self.refusal
            answer = {"type": type_, "title": "No", "detail": "It may not be."}
        if self.lost and what.startswith(self.lost):
            raise ConnectionResetError
        content = json.dumps({**answer, **self.said}).encode()
        answered = {"Content-Type": "application/json"}
        signed = sign_response(
            status=status,
            headers=answered,
            body=content,
            request_headers=headers,
            signing_key=self.signing_key,
        )
        return status, answered | signed, content

    def _answer(self, what: str, members: dict[str, str]) -> dict[str, Any]:
        match what.split("/"):
            case ["POST ", "token-keys"]:
                seed = self.keys.setdefault(members["request"], len(self.keys) % 2)
                return {
                    "token_key": base64_text.encode(seeded_key(seed).public.encoded),
                    "issuer_name": "issuer.example",
                    "attester_url": "https://attester.example/attester",
                }
            case ["PUT ", "recipes", identifier]:
                recipe = PublishedRecipe.from_document(json.loads(members["document"]))
                assert recipe.identifier == identifier
                assert recipe.canonical.decode() == members["document"]
                assert members["request"] in self.keys
                self.documents[identifier] = members["document"]
                return {"signature": base64_text.encode(recipe.sign(ISSUER_KEY))}
            case ["POST ", "recipes", identifier, "end"]:
                self.ended.append((identifier, members["reason"]))
                signature = IssuedTokens(identifier, self.issued).sign(ISSUER_KEY)
                return {"issued": self.issued, "signature": base64_text.encode(signature)}
        raise AssertionError(what)

    def admitting(self, relay_url: str | None = RELAY_URL) -> Admitting:
        key = ISSUER_KEY.public_key().public_bytes_raw()
        return Admitting(Partner(ISSUER_URL, key, "", settings.SIGNING_KEY, self), relay_url)


def token_recipe(issuer: FakeIssuer, *, simulation: bool = False, **changes: Any) -> Recipe:
    members = recipe_members(**{"admission": "token", **changes})
    return recipe_publish_file(
        members=members, actor=None, simulation=simulation, admitting=issuer.admitting()
    )
