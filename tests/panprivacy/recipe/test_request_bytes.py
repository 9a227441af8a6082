"""Who publishes a recipe and every device that answers it agree on how long its requests are."""

import json
import random
from typing import Any

import pytest

from panprivacy.formats.base64_text import encode
from panprivacy.protocols.oblivious_http.binary_http import Request
from panprivacy.protocols.privacy_pass.tokens import TOKEN_BYTES
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.recipe.request_bytes import published_report_bytes, report_bytes
from panprivacy.statistics.trust_models import Servers
from tests.panprivacy.recipe import scene
from tests.panprivacy.recipe.joint_key_scene import joint_recipe
from tests.panprivacy.recipe.test_token import NOW, drafted, one_server, shuffled, token_admission
from tests.panprivacy.statistics.test_servers import two_servers

SHUFFLER = shuffled().servers
VALUES = {"statistic": "distinct_elements", "k": 5, "steps": "absent"}


def published(servers: Servers, admission: str, **members: Any) -> tuple[RecipeDraft, PublishedRecipe]:
    members = {"trust": servers.trust.value, "encryption": servers.scheme, **members}
    draft = drafted(admission=admission, **members)
    return draft, draft.publish(servers, NOW, admission=token_admission() if admission == "token" else None)


@pytest.mark.parametrize("admission", ["open", "token"])
@pytest.mark.parametrize(
    ("servers", "members"),
    [(one_server(), {}), (two_servers(), {}), (SHUFFLER, VALUES)],
    ids=["one server", "two servers", "shuffler"],
)
def test_devices_find_a_request_as_long_as_who_published_the_recipe(servers, members, admission):
    draft, recipe = published(servers, admission, **members)
    assert published_report_bytes(recipe) == report_bytes(draft, recipe.calibrated_statistic)


def test_devices_with_a_joint_key_find_a_request_as_long_too():
    recipe = joint_recipe(random.Random(1)).recipe
    draft = scene.drafted(trust="joint_key")
    assert published_report_bytes(recipe) == report_bytes(draft, recipe.calibrated_statistic)


@pytest.mark.parametrize("admission", ["open", "token"])
def test_most_messages_of_a_user_are_no_longer(admission):
    _, recipe = published(SHUFFLER, admission, **VALUES)
    messages = [bytes(recipe.public_key.ciphertext_bytes)] * recipe.calibrated_statistic.most_ciphertexts
    body = {"nonce": encode(bytes(16)), "messages": list(map(encode, messages))}
    if admission == "token":
        body["token"] = encode(bytes(TOKEN_BYTES))
    fields = ((b"accept", b"application/json"), (b"content-type", b"application/json"))
    path = f"/shuffler/recipes/{recipe.identifier}/messages".encode()
    request = Request(b"POST", b"https", b"shuffler.example:8443", path, fields, json.dumps(body).encode())
    assert len(request.encode()) <= published_report_bytes(recipe)
