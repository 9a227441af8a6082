"""Making a joint key: neither side takes from the other what it did not commit to and prove."""

import json
import secrets
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client, override_settings
from django.utils import timezone

from joint_key.helper import keys as helper_keys
from joint_key.helper.keys import UNUSED_KEY_LIFETIME
from joint_key.helper.models import JointRecipe, WaitingKey
from joint_key.helper.sums import upkeep
from panprivacy.formats import base64_text
from panprivacy.protocols.ed25519 import public_key_of
from panprivacy.protocols.joint_key.keys import (
    KeyHalf,
    StringHalf,
    commitment,
    key_bases,
    key_half,
    string_half,
)
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.recipe.rounds.draft import RoundsDraft
from panprivacy.statistics.trust_models.joint_key import (
    KEY_BYTES,
    ROLES,
    STRING_BYTES,
    JointKeyServers,
    document_context,
    role_context,
)
from partners.client import PeerRefusedError
from partners.joint_key_calls import key_commit, key_reveal, recipe_join, strings_reveal
from recipes.errors import PartnerUnavailableError
from recipes.models import PartnerSignature, Recipe, RecipeKey
from storage.signing_key import verification_key
from tests import network
from tests.collections.joint_key.scene import SOURCE, answering, joint_recipe
from tests.collections.publishing.scene import (
    HELPER_SIGNING_KEY,
    HELPER_URL,
    partner,
    reached,
    verification_key_of,
)
from tests.concurrency import at_once
from tests.factories import recipe_members
from tests.panprivacy.recipe.scene import NOW, drafted
from tests.refusals import field_refused
from tests.tokens import ISSUER_KEY, STRANGERS_KEY, token_admission

pytestmark = pytest.mark.django_db

HELPER_KEY = verification_key_of(HELPER_SIGNING_KEY)


class Leader:
    """One that makes a recipe's key step by step, and may cheat at each.

    Args:
        named: fields of the servers in the document, instead of the helper's own.
        changes: to the draft.
    """

    def __init__(self, named: dict[str, Any] | None = None, **changes: Any):
        self.draft = drafted(trust="joint_key", **changes)
        self.request = secrets.token_bytes(16)
        self.blank = JointKeyServers.blank(
            **{"helper_url": HELPER_URL, "helper_verification_key": HELPER_KEY} | (named or {})
        )
        self.context = document_context(self.published(self.blank).document)
        self.ours = role_context(self.context, ROLES[0])
        self.key, _ = key_half(self.ours, SOURCE)

    def published(self, servers: JointKeyServers) -> PublishedRecipe:
        return self.draft.publish(servers, NOW, admission=token_admission())

    def commit(self, **changes: bytes) -> bytes:
        asked = {"context": self.context, "commitment": commitment(self.ours, self.key)} | changes
        return key_commit(partner().client(), request=self.request, **asked)

    def reveal(self, key: KeyHalf | None = None) -> None:
        self.theirs, self.promised = key_reveal(
            partner().client(), request=self.request, key=(key or self.key).encode()
        )
        self.bases = key_bases([self.key, KeyHalf.decode(self.theirs)])
        self.string = string_half(self.ours, *self.bases, SOURCE)

    def strings(self, promised: bytes | None = None) -> None:
        promised = commitment(self.ours, self.string) if promised is None else promised
        self.their_string = strings_reveal(partner().client(), request=self.request, commitment=promised)

    def made(self) -> "Leader":
        self.commit()
        self.reveal()
        self.strings()
        return self

    def recipe(self, string: StringHalf | None = None) -> PublishedRecipe:
        own = (string or self.string).encode()
        keys = (self.key.encode(), self.theirs)
        return self.published(replace(self.blank, keys=keys, strings=(own, self.their_string)))

    def join(self, recipe: PublishedRecipe | None = None) -> bytes:
        asked = recipe or self.recipe()
        return recipe_join(
            partner().client(),
            identifier=asked.identifier,
            document=asked.canonical,
            request=self.request,
        )


def other_key(leader: Leader) -> KeyHalf:
    """As good as the leader's, and another one."""
    return key_half(leader.ours, SOURCE)[0]


def other_string(leader: Leader) -> StringHalf:
    return string_half(leader.ours, *leader.bases, SOURCE)


def test_key_is_made_and_the_same_answers_come_again() -> None:
    leader = Leader().made()
    first = leader.theirs, leader.promised, leader.their_string
    # Sent again, before and after the recipe has the halves.
    assert commitment(role_context(leader.context, ROLES[1]), KeyHalf.decode(first[0])) == leader.commit()
    leader.strings()
    signature = leader.join()
    assert (leader.theirs, leader.promised, leader.their_string) == first
    assert leader.join() == signature
    public_key_of(HELPER_KEY).verify(signature, leader.recipe().signed_message)
    assert not WaitingKey.objects.exists()
    assert JointRecipe.objects.get().identifier == leader.recipe().identifier


def test_halves_differ_for_every_request() -> None:
    first, second = Leader().made(), Leader().made()
    assert first.context == second.context
    assert first.theirs != second.theirs
    assert first.their_string != second.their_string


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has one writer at a time")
def test_recipe_that_is_joined_twice_at_once_is_signed_twice() -> None:
    leader = Leader().made()
    recipe = leader.recipe()

    def join() -> bytes:
        return helper_keys.recipe_join(
            identifier=recipe.identifier,
            document=recipe.canonical.decode(),
            request=leader.request,
            now=timezone.now(),
        )

    with override_settings(SIGNING_KEY=HELPER_SIGNING_KEY, SMALLEST_COHORT=3):
        first, second = at_once(join, join)
    assert first == second
    assert JointRecipe.objects.count() == 1


CHEATS: dict[str, tuple[Callable[[Leader], Any], str]] = {
    "reveals another half": (lambda it: it.reveal(other_key(it)), "key: must open the commitment"),
    "reveals a half without its proof": (
        lambda it: it.reveal(replace(it.key, proof_2=other_key(it).proof_2)),
        "key: the proof of knowledge does not hold",
    ),
    "commits again": (lambda it: it.commit(commitment=bytes(32)), "another context or commitment"),
    "commits for another document": (lambda it: it.commit(context=bytes(32)), "another context"),
    "skips the halves of the key": (lambda it: it.strings(bytes(32)), "must be exchanged first"),
}


@pytest.mark.parametrize("cheat", CHEATS)
def test_leader_that_cheats_about_the_key_is_refused(cheat: str) -> None:
    step, words = CHEATS[cheat]
    leader = Leader()
    leader.commit()
    with pytest.raises(PeerRefusedError, match=words):
        step(leader)
    leader.made().join()


def question_changed(leader: Leader) -> PublishedRecipe:
    """The halves that were made for one question, in the document of another."""
    leader.draft = replace(leader.draft, question="Where were you?")
    return leader.recipe()


def others_halves(leader: Leader) -> PublishedRecipe:
    """A whole recipe of halves that were made for another request."""
    return Leader().made().recipe()


JOINS: dict[str, tuple[Callable[[Leader], PublishedRecipe], str]] = {
    "another document": (question_changed, "document: the leader's half of the joint key"),
    "halves of another request": (others_halves, "must be the halves that were exchanged"),
    "another string": (lambda it: it.recipe(other_string(it)), "leader.string: must open the commitment"),
    "a string without its proof": (
        lambda it: it.recipe(replace(it.string, proof_u=other_string(it).proof_u)),
        "document: the leader's half of the joint key",
    ),
}


@pytest.mark.parametrize("cheat", JOINS)
def test_recipe_with_other_halves_is_refused_and_the_honest_joined(cheat: str) -> None:
    made, words = JOINS[cheat]
    leader = Leader().made()
    with pytest.raises(PeerRefusedError, match=words):
        leader.join(made(leader))
    leader.draft = Leader().draft
    leader.join()


def test_strings_are_committed_to_once() -> None:
    leader = Leader().made()
    with pytest.raises(PeerRefusedError, match="Another commitment came"):
        leader.strings(bytes(32))


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"cohort_size": 2}, "cohort_size: this helper takes cohorts of at least 3"),
        ({"named": {"helper_url": "https://other.example"}}, f"helper.url: must be {HELPER_URL}"),
        ({"named": {"helper_verification_key": STRANGERS_KEY}}, "helper.verification_key: must be ours"),
    ],
)
def test_recipe_in_which_the_helper_takes_no_part_is_refused(asked: dict[str, Any], words: str) -> None:
    with pytest.raises(PeerRefusedError, match=words):
        Leader(**asked).made().join()
    assert not JointRecipe.objects.exists()


def test_request_serves_one_recipe_and_for_a_day() -> None:
    used, late = Leader().made(), Leader().made()
    used.join()
    with pytest.raises(PeerRefusedError, match="No half waits for this request"):
        used.join(used.recipe(other_string(used)))
    upkeep(now=timezone.now() + UNUSED_KEY_LIFETIME - timedelta(minutes=1))
    late.strings()
    upkeep(now=timezone.now() + UNUSED_KEY_LIFETIME)
    with pytest.raises(PeerRefusedError, match="one is kept for 1 day only"):
        late.join()
    assert not WaitingKey.objects.exists()


def test_recipe_in_rounds_is_refused_before_any_server_is_asked() -> None:
    members = recipe_members(trust="joint_key", rounds=3, round_seconds=600, step_seconds=60)
    with field_refused("rounds", "must be left out under joint_key"):
        RoundsDraft.from_mapping(members)


# The helper cheats -----------------------------------------------------------------------------------


def assert_nothing_is_published() -> None:
    for model in (Recipe, RecipeKey, PartnerSignature):
        assert not model.objects.exists()


def context() -> bytes:
    """To which the helper's half of the only request is bound."""
    return role_context(bytes(WaitingKey.objects.get().context), ROLES[1])


def fresh_string(bound: bytes) -> StringHalf:
    row = WaitingKey.objects.get()
    halves = [KeyHalf.decode(bytes(half)) for half in (row.leader_key, row.key)]
    return string_half(bound, *key_bases(halves), SOURCE)


ANSWERS: dict[str, tuple[str, str, Callable[[], bytes], str]] = {
    "another half": ("/half", "key", lambda: key_half(context(), SOURCE)[0].encode(), "committed to"),
    "a half for another": ("/half", "key", lambda: key_half(bytes(32), SOURCE)[0].encode(), "proof of know"),
    "the leader's half": (
        "/half",
        "key",
        lambda: bytes(WaitingKey.objects.get().leader_key),
        "proof of know",
    ),
    "no half": ("/half", "key", lambda: bytes(KEY_BYTES), "cannot be used"),
    "a short half": ("/half", "key", lambda: b"", "cannot be used"),
    "another string": ("/strings", "string", lambda: fresh_string(context()).encode(), "committed to"),
    "a string for another": ("/strings", "string", lambda: fresh_string(bytes(32)).encode(), "proof of know"),
    "no string": ("/strings", "string", lambda: bytes(STRING_BYTES), "cannot be used"),
    "another commitment": ("/commitment", "commitment", lambda: bytes(32), "committed to"),
    "a late commitment": ("/half", "commitment", lambda: bytes(32), "committed to"),
}


@pytest.mark.parametrize("answer", ANSWERS)
def test_helper_that_cheats_about_a_half_is_found(answer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ending, name, half, words = ANSWERS[answer]

    def other(response: Any) -> None:
        said = json.loads(response.content) | {name: base64_text.encode(half())}
        response.content = json.dumps(said).encode()

    with pytest.raises(PartnerUnavailableError, match=words):
        joint_recipe(answering(ending, other, monkeypatch))
    assert_nothing_is_published()


def test_published_recipe_is_served_as_a_device_verifies_it(client: Client) -> None:
    recipe = joint_recipe()
    served = client.get(f"/api/v1/recipes/{recipe.identifier}/").json()
    signatures = {name: base64_text.decode(served[f"{name}signature"]) for name in ("", "helper_", "issuer_")}
    found = PublishedRecipe.verified(
        served["document"],
        served["id"],
        signatures[""],
        verification_key(),
        partner_key=public_key_of(HELPER_KEY),
        partner_signature=signatures["helper_"],
        issuer_key=ISSUER_KEY.public_key(),
        issuer_signature=signatures["issuer_"],
    )
    assert isinstance(found.servers, JointKeyServers)
    assert not WaitingKey.objects.exists()


@pytest.mark.parametrize("lost", range(4))
def test_publish_without_an_answer_can_be_tried_again(lost: int) -> None:
    """The helper has done what it was asked; whatever is left there waits for no recipe."""
    requests = 0

    def losing(*request: Any) -> network.Answer:
        nonlocal requests
        requests += 1
        answer = reached(*request)
        if requests == lost + 1:
            raise TimeoutError
        return answer

    with pytest.raises(PartnerUnavailableError, match="did not answer"):
        joint_recipe(losing)
    assert_nothing_is_published()
    assert joint_recipe(losing).status == Recipe.Status.PUBLISHED
