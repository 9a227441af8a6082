"""Documents that name two servers, as the devices of both read them."""

import base64
import random
import re
from dataclasses import replace

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from panprivacy.encryption import DEFAULT_SCHEME, generate_private_key
from panprivacy.formats.errors import FieldError
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.statistics.trust_models.members import RecipeVerificationError, require_url
from panprivacy.statistics.trust_models.two_server import TwoServers
from tests.panprivacy.recipe.scene import COUNT, NOW, one_server
from tests.refusals import field_refused

LEADER_KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
HELPER_KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32, 64)))
OTHER_KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(64, 96)))


def public_key(seed: int, scheme: str = DEFAULT_SCHEME):
    return generate_private_key(scheme, random.Random(seed)).public_key


def two_servers(**changes: object) -> TwoServers:
    members = {
        "leader_url": "https://leader.example/leader",
        "leader_key_members": public_key(1).to_json(),
        "helper_url": "https://helper.example/helper",
        "helper_key_members": public_key(2).to_json(),
        "helper_verification_key": HELPER_KEY.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw),
    }
    return TwoServers(**(members | changes))


def draft(**changes: object) -> RecipeDraft:
    return RecipeDraft.from_mapping(COUNT | {"trust": "two_server"} | changes)


def published(**changes: object) -> PublishedRecipe:
    return draft(**changes).publish(two_servers(), NOW)


def verified(recipe: PublishedRecipe, *, pinned=HELPER_KEY, signed_by=HELPER_KEY) -> PublishedRecipe:
    return PublishedRecipe.verified(
        recipe.document,
        recipe.identifier,
        recipe.sign(LEADER_KEY),
        LEADER_KEY.public_key(),
        partner_key=pinned.public_key() if pinned else None,
        partner_signature=recipe.sign(signed_by) if signed_by else None,
    )


@pytest.mark.parametrize("statistic", [{"statistic": "count_nonzero"}, {"statistic": "histogram", "k": 3}])
def test_document_of_two_servers_comes_back_equal(statistic):
    recipe = published(**statistic)
    assert recipe.document["trust"] == "two_server"
    assert "public_key" not in recipe.document
    assert recipe.document["leader"] == {
        "url": "https://leader.example/leader",
        "public_key": public_key(1).to_json(),
    }
    assert set(recipe.document["helper"]) == {"url", "public_key", "verification_key"}
    assert verified(recipe) == recipe
    alone = draft(trust="single_server").publish(one_server(), NOW)
    assert verified(alone, pinned=None, signed_by=None) == alone


def test_document_of_two_servers_is_identified_by_every_word_about_them():
    recipe = published()
    changed = [
        two_servers(leader_url="https://another.example"),
        two_servers(helper_url="https://another.example"),
        two_servers(leader_key_members=public_key(3).to_json()),
        two_servers(helper_key_members=public_key(3).to_json()),
        two_servers(helper_verification_key=bytes(32)),
    ]
    identifiers = {recipe.identifier, *(replace(recipe, servers=servers).identifier for servers in changed)}
    assert len(identifiers) == 6


@pytest.mark.parametrize(
    ("pinned", "signed_by", "refusal"),
    [
        (None, HELPER_KEY, "needs the helper's key"),
        # What a leader that plays its own helper would publish.
        (OTHER_KEY, HELPER_KEY, "another helper"),
        (HELPER_KEY, None, "the helper's"),
        (HELPER_KEY, LEADER_KEY, "the helper's"),
        (HELPER_KEY, OTHER_KEY, "the helper's"),
    ],
)
def test_recipe_of_a_helper_that_is_not_the_pinned_one_is_refused(pinned, signed_by, refusal):
    with pytest.raises(RecipeVerificationError, match=refusal):
        verified(published(), pinned=pinned, signed_by=signed_by)


@pytest.mark.parametrize(
    ("trust", "shown"),
    [("three", '"three"'), ("", '""'), (None, "null"), (True, "true"), (["two_server"], '["two_server"]')],
)
def test_unknown_trust_is_refused_as_it_stands_in_drafts_and_documents(trust, shown):
    said = f"must be single_server or two_server or joint_key for count_nonzero, not {shown}"
    for read in (
        lambda: draft(trust=trust),
        lambda: PublishedRecipe.from_document(published().document | {"trust": trust}),
    ):
        with field_refused("trust", match=re.escape(said)):
            read()


def test_two_servers_for_a_mean_are_refused():
    with field_refused("trust", match="must be single_server for mean"):
        draft(statistic="mean", k=3, guarantee="local")


def test_publish_under_servers_of_another_trust_model_or_scheme_is_refused():
    with pytest.raises(ValueError, match="two_server"):
        draft().publish(one_server(), NOW)
    with pytest.raises(ValueError, match="single_server"):
        draft(trust="single_server").publish(two_servers(), NOW)
    with pytest.raises(ValueError, match="paillier-2048"):
        draft(encryption="paillier-2048").publish(two_servers(), NOW)


def test_one_server_under_two_names_is_refused():
    for changes in (
        {"helper_url": "https://leader.example/leader"},
        {"helper_key_members": public_key(1).to_json()},
    ):
        with pytest.raises(FieldError, match="must differ from the leader's"):
            two_servers(**changes)


def test_document_whose_members_do_not_fit_its_trust_is_refused():
    document = published().document
    single = draft(trust="single_server").publish(one_server(), NOW)
    for members in (
        document | {"public_key": public_key(1).to_json()},
        document | {"trust": "single_server"},
        {name: value for name, value in document.items() if name != "helper"},
        {name: value for name, value in document.items() if name != "leader"},
        single.document | {"helper": document["helper"]},
        single.document | {"trust": "two_server"},
    ):
        with pytest.raises(FieldError):
            PublishedRecipe.from_document(members)


@pytest.mark.parametrize(
    ("server", "changes", "field"),
    [
        ("leader", {"url": "ftp://leader.example"}, "leader.url"),
        ("leader", {"url": None}, "leader.url"),
        ("leader", {"more": 1}, "leader"),
        ("helper", {"url": "https://helper.example/"}, "helper.url"),
        ("helper", {"public_key": "x"}, "helper.public_key"),
        ("helper", {"verification_key": base64.b64encode(bytes(31)).decode()}, "helper.verification_key"),
        ("helper", {"verification_key": "A" * 43 + "=\n"}, "helper.verification_key"),
        # The same bytes in another spelling: the last character's unused bits are not zero.
        ("helper", {"verification_key": "A" * 42 + "B="}, "helper.verification_key"),
        ("helper", {"verification_key": 7}, "helper.verification_key"),
    ],
)
def test_document_with_an_impossible_server_is_refused_naming_the_member(server, changes, field):
    document = published().document
    with field_refused(field):
        PublishedRecipe.from_document(document | {server: document[server] | changes})


def test_document_whose_servers_use_different_schemes_is_refused():
    document = published().document
    paillier = public_key(1, "paillier-2048").to_json()
    with pytest.raises(FieldError, match="leader's scheme"):
        PublishedRecipe.from_document(document | {"helper": document["helper"] | {"public_key": paillier}})


@pytest.mark.parametrize("address", [
    "", "helper.example", "https://", "https:///path", "https://name@helper.example",
    "https://helper.example:99999", "https://helper.example/a?b", "https://helper.example/a#b",
    "https://helper.example/ a", "https://helper.example/\n", "https://hélper.example",
    "https://helper.example/" + "a" * 500,
])  # fmt: skip
def test_impossible_address_of_a_server_is_refused_and_others_come_back(address):
    with pytest.raises(FieldError, match="http or https"):
        require_url("helper.url", address)
    for possible in ("http://127.0.0.1:8001/helper", "https://helper.example", "http://[::1]:80/a"):
        assert require_url("helper.url", possible) == possible


def test_two_servers_of_devices_that_keep_nothing_name_no_keys():
    servers = two_servers(leader_key_members=None, helper_key_members=None)
    assert servers.scheme is None
    assert "public_key" not in servers.members()["leader"]
    assert type(servers).from_members(servers.members()) == servers
    assert servers.device_key("00" * 32) is None
    with pytest.raises(FieldError, match=r"helper\.public_key"):
        two_servers(helper_key_members=None)
