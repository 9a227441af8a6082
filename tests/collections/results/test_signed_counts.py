"""The released number of reports is signed by both servers; who publishes another number has no signature."""

import base64
import json
from collections.abc import Mapping
from functools import partial
from typing import Any
from unittest.mock import Mock

import pytest
import rfc8785
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from django.conf import settings
from django.test import Client
from django.urls import reverse

from dap.helper.models import SignedCount
from dap.leader.models import CountNoise, HelperCount
from dap.models import Side
from log.public_log.selectors import log_verifier_key
from panprivacy.accounting import noisy_count
from panprivacy.protocols.signed_count import ReleasedCount
from panprivacy.protocols.transparency.findings import CheckError
from panprivacy.protocols.transparency.policy import Policy
from panprivacy.recipe.log.checks import NEEDS_PROOF, check_file
from panprivacy.recipe.signed_result import CONTEXT, signed_bytes
from partners.client import PeerRefusedError
from partners.helper_calls import count_signed_at_helper, is_count_refused
from recipes.models import Recipe
from storage.signing_key import signing_key
from tests.collections.pages.scene import recipe_page
from tests.collections.publishing import scene
from tests.collections.publishing.conftest import _leader  # noqa: F401  # for every test
from tests.collections.publishing.scene import reported, settle, tick, two_server_recipe
from tests.network import verification_key_of
from tests.scenes import released

pytestmark = pytest.mark.django_db


def closed(*, reports: int = 5) -> Recipe:
    """Uploaded and closed; not yet collected."""
    return scene.closed(reported(two_server_recipe(), *[1] * reports))


def checked_offline(result: Mapping[str, Any], key: bytes, signature: str) -> None:
    """What docs/protocol.md tells readers to do."""
    statement = rfc8785.dumps({"recipe": result["id"], "reports": result["reports"]})
    verifier = Ed25519PublicKey.from_public_bytes(key)
    verifier.verify(base64.b64decode(signature), b"panapp-counted-1\n" + statement)


def signed_again(result: Mapping[str, Any]) -> bytes:
    """By the site."""
    signature = base64.b64encode(signing_key().sign(CONTEXT + signed_bytes(result))).decode()
    return json.dumps({**result, "signature": signature}).encode()


@pytest.mark.parametrize("noise", [0, 9, -9])
def test_release_number_is_signed_twice(client: Client, monkeypatch: pytest.MonkeyPatch, noise: int) -> None:
    monkeypatch.setattr("panprivacy.accounting.noisy_count.draw", lambda *_: noise)
    recipe = closed()
    settle()
    released(recipe)
    answer: Any = client.get(reverse("api-result", args=[recipe.identifier]))
    result = json.loads(b"".join(answer.streaming_content))
    assert result["reports"] == max(1, 5 + noise)
    leader, helper = result["servers"]
    checked_offline(result, verification_key_of(settings.SIGNING_KEY), leader["signature"])
    helper_key = base64.b64decode(result["recipe"]["helper"]["verification_key"])
    checked_offline(result, helper_key, helper["signature"])
    text = recipe_page(client, recipe, "recipe-verify")
    assert "Signed by the leader and the helper." in text
    log = f"log {log_verifier_key().text}\nquorum none\n"
    offline = partial(check_file, proof=None, policy=Policy.parse(log.encode()))
    told = offline(json.dumps(result).encode())
    by_both = f"The number of reports, {result['reports']:,}, is signed by the leader and the helper."
    assert by_both in told.sentences
    assert told.unchecked == (NEEDS_PROOF,)
    # The site cannot publish another number alone, even with its own key: under no name …
    own = base64.b64encode(ReleasedCount(result["id"], result["reports"]).sign(signing_key())).decode()
    for name, said in (
        ("Helper", "the helper did not sign this number"),
        ("Helper ", "'Helper ', which is no server of this recipe"),
        ("helper", "'helper', which is no server of this recipe"),
        ("Server", "'Server', which is no server of this recipe"),
        ("Leader", "twice"),
        (["Helper"], "no server of this recipe"),
    ):
        with pytest.raises(CheckError, match=said):
            offline(signed_again(result | {"servers": [leader, {"name": name, "signature": own}]}))
    # … nor without the helper's signature, unless readers are told.
    for servers in ([leader], [leader, helper | {"signature": None}], None):
        found = offline(signed_again(result | {"servers": servers}))
        assert any(line.startswith("Whether the helper counted this number") for line in found.unchecked)
        assert not any("the helper." in line for line in found.sentences)
    # Nothing that is signed is finer than what is published.
    assert SignedCount.objects.get().reports == result["reports"]


def test_helper_signs_no_number_that_it_did_not_count() -> None:
    recipe = closed()
    # A leader that would publish more than its noise can explain.
    CountNoise.objects.update(noise=noisy_count.largest(recipe.cohort_size) + 1)
    settle()
    release = released(recipe)
    assert (release.outcome, release.cause) == ("withheld", "refused")
    assert "counted another number of reports" in release.reason
    assert not SignedCount.objects.exists()


def test_helper_signs_one_number_and_not_before_it_released_its_share() -> None:
    recipe = closed()
    tick()
    task = scene.task(recipe, Side.HELPER)
    ask = {"helper": scene.partner().client(), "task_id": bytes(task.task_id)}
    for reports in (5, 0, 10**18):
        with pytest.raises(PeerRefusedError):
            count_signed_at_helper(reports=reports, **ask)
    assert not SignedCount.objects.exists()
    settle()
    assert count_signed_at_helper(reports=5, **ask) == count_signed_at_helper(reports=5, **ask)
    for reports in (6, 0, 10**18):
        with pytest.raises(PeerRefusedError) as refusal:
            count_signed_at_helper(reports=reports, **ask)
        assert is_count_refused(refusal.value) == (reports == 6)


def test_signature_that_does_not_hold_withholds_the_result_and_says_whose() -> None:
    recipe = closed()
    settle()
    HelperCount.objects.update(signature=bytes(64))
    release = released(recipe)
    assert (release.outcome, release.cause) == ("withheld", "refused")
    assert release.reason == "the helper did not sign the number of reports that the sum is of"
    assert [server["signature"] for server in release.servers] == [None, None]


def test_result_says_if_the_helper_did_not_sign(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    unknown_address = Mock(side_effect=PeerRefusedError(404, {}))
    monkeypatch.setattr("dap.leader.collection.count_signed_at_helper", unknown_address)
    recipe = closed()
    settle()
    release = released(recipe)
    assert unknown_address.called
    assert [bool(server["signature"]) for server in release.servers] == [True, False]
    text = recipe_page(client, recipe, "recipe-verify")
    assert "Signed by the leader. The helper did not sign." in text
