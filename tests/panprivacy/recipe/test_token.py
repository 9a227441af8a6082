"""Recipes that say who may report and on which way, and their tokens."""

import pickle
import random
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from panprivacy.formats import base64_text
from panprivacy.protocols.privacy_pass.tokens import TOKEN_BYTES, TokenChallenge
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.recipe.parts.admission import Admission
from panprivacy.recipe.token import TokenRefusedError, challenge, report_nonce, token_nonce, token_require
from panprivacy.statistics.trust_models import Servers
from panprivacy.statistics.trust_models.members import RecipeVerificationError
from panprivacy.statistics.trust_models.shuffler import ShufflerAndAnalyzer
from panprivacy.statistics.trust_models.single_server import OneServer
from tests.panprivacy.protocols.privacy_pass.keys import seeded_key
from tests.panprivacy.recipe.joint_key_scene import joint_recipe
from tests.panprivacy.statistics.test_servers import LEADER_KEY, OTHER_KEY, public_key, two_servers
from tests.refusals import field_refused
from tests.tokens import ISSUER_KEY, STRANGERS_KEY, issued_token, token_admission

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SOURCE = random.Random(9578)
RELAY = "https://relay.example/relay/hospital"
COUNT = {"statistic": "count_nonzero", "steps": 4, "epsilon": 2.0, "delta": 1e-6, "cohort_size": 100}
STREAM = {
    "statistic": "density",
    "universe_size": 100,
    "table_size": 10,
    **dict.fromkeys(("steps", "delta", "cohort_size"), "absent"),
}


def drafted(**changes: Any) -> RecipeDraft:
    members = {"name": "Crashes", "question": "How many?", **COUNT, **changes}
    return RecipeDraft.from_mapping({name: value for name, value in members.items() if value != "absent"})


def one_server() -> OneServer:
    return OneServer.of(public_key(1))


def with_tokens(servers: Servers | None = None, seed: int = 0, **members: Any) -> PublishedRecipe:
    servers = servers or one_server()
    draft = drafted(trust=servers.trust.value, admission="token", **members)
    return draft.publish(servers, NOW, admission=token_admission(seed))


RECIPE = with_tokens()


# --- recipe files -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "nothing", [{}, {"admission": "open", "relay": False}, {"admission": None, "relay": None}]
)
def test_file_that_asks_for_nothing_gives_the_draft_and_document_of_before(nothing):
    draft = drafted(**nothing)
    document = draft.publish(one_server(), NOW).document
    assert not {"admission", "relay"} & (draft.as_dict().keys() | document.keys())
    assert (
        PublishedRecipe.from_document(document).identifier == drafted().publish(one_server(), NOW).identifier
    )


def test_draft_with_token_and_relay_is_read_back_equal():
    draft = drafted(admission="token", relay=True)
    assert (draft.admission, draft.relay) == (Admission.TOKEN, True)
    assert RecipeDraft.from_mapping(draft.as_dict()) == draft


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("admission", value) for value in ("tokens", "", 1, True, ["token"], {"kind": "token"})),
        *(("relay", value) for value in ("true", 1, 0, RELAY, [])),
    ],
)
def test_impossible_member_of_a_file_is_refused_by_its_name(field, value):
    with field_refused(field):
        drafted(**{field: value})


@pytest.mark.parametrize(("field", "value"), [("admission", "token"), ("admission", "open"), ("relay", True)])
def test_stream_takes_neither_for_nobody_reports(field, value):
    with field_refused(field, match="is not a field"):
        drafted(**STREAM, **{field: value})


@pytest.mark.parametrize(
    ("asked", "given"),
    [
        ({}, {"admission": token_admission()}),
        ({"admission": "token"}, {}),
        ({}, {"relay": RELAY}),
        ({"relay": True}, {"admission": token_admission()}),
    ],
)
def test_publish_with_more_or_less_than_the_draft_asks_for_is_an_error(asked, given):
    with pytest.raises(ValueError, match="exactly if"):
        drafted(**asked).publish(one_server(), NOW, **given)


# --- documents ----------------------------------------------------------------------------------------------


def test_document_says_who_issues_and_which_relay_and_is_read_back_equal():
    recipe = drafted(admission="token", relay=True).publish(
        one_server(), NOW, admission=token_admission(), relay=RELAY
    )
    assert recipe.document["relay"] == RELAY
    assert recipe.document["admission"] == {
        "kind": "token",
        "issuer_name": "issuer.example",
        "issuer_key": base64_text.encode(ISSUER_KEY.public_key().public_bytes_raw()),
        "attester_url": "https://attester.example/attester",
        "token_key": base64_text.encode(seeded_key().public.encoded),
    }
    assert PublishedRecipe.from_document(recipe.document) == recipe


def test_every_word_about_admission_changes_the_identifier():
    changes = [
        {"issuer_name": "other.example"},
        {"issuer_key": bytes(32)},
        {"attester_url": "https://other.example"},
        {"token_key": seeded_key(1).public.encoded},
    ]
    changed = [RECIPE.having(admission=token_admission(**change)) for change in changes]
    open_one = RECIPE.having(admission=None)
    through_relay = RECIPE.having(relay=RELAY)
    assert len({each.identifier for each in (RECIPE, open_one, through_relay, *changed)}) == 7


MEMBERS = token_admission().as_dict()
NO_NAMES = (
    "", None, 7, "a.example/x", "a.example,b.example", "a.example:port", "a.example:99999", "user@a.example",
    "a.example?", "a.example#", "a b", "ä.example", "a.example\n", "a\\b", "x" * 261,
)  # fmt: skip
UNUSED_BITS_SET = MEMBERS["issuer_key"][:-2] + chr(ord(MEMBERS["issuer_key"][-2]) + 1) + "="
SHORT_KEY = base64_text.encode(seeded_key(0, 1024).public.encoded)


@pytest.mark.parametrize(
    ("value", "field"),
    [
        (None, "admission"),
        ("token", "admission"),
        ([], "admission"),
        ({}, "admission"),
        ({"kind": "open"}, "admission"),
        ({"kind": "token"}, "admission"),
        ({**MEMBERS, "more": ""}, "admission"),
        ({name: value for name, value in MEMBERS.items() if name != "attester_url"}, "admission"),
        *(({**MEMBERS, "kind": kind}, "admission.kind") for kind in ("Token", "", None, 1, ["token"])),
        *(({**MEMBERS, "issuer_name": name}, "admission.issuer_name") for name in NO_NAMES),
        *(
            ({**MEMBERS, "attester_url": url}, "admission.attester_url")
            for url in (None, "", "attester.example", "https://a.example/", "ftp://a.example")
        ),
        *(
            ({**MEMBERS, "issuer_key": key}, "admission.issuer_key")
            for key in (None, "AAAA", UNUSED_BITS_SET, UNUSED_BITS_SET.rstrip("="), MEMBERS["token_key"])
        ),
        *(
            ({**MEMBERS, "token_key": key}, "admission.token_key")
            for key in (None, "", "AAAA", MEMBERS["issuer_key"], MEMBERS["token_key"] + "AAAA", SHORT_KEY)
        ),
    ],
)
def test_document_with_another_admission_is_refused_by_its_name(value, field):
    assert base64_text.decode(UNUSED_BITS_SET) == base64_text.decode(MEMBERS["issuer_key"])
    with field_refused(field):
        PublishedRecipe.from_document(RECIPE.document | {"admission": value})


@pytest.mark.parametrize(
    "value", [None, True, "", "relay.example", "https://relay.example/", "https://r.example?a=b"]
)
def test_document_with_another_relay_is_refused(value):
    with field_refused("relay"):
        PublishedRecipe.from_document(RECIPE.document | {"relay": value})


# --- what a device checks -----------------------------------------------------------------------------------


def verified(
    recipe: PublishedRecipe, pinned: Ed25519PrivateKey | None, signed_by: Ed25519PrivateKey | None
) -> PublishedRecipe:
    return PublishedRecipe.verified(
        recipe.document,
        recipe.identifier,
        recipe.sign(LEADER_KEY),
        LEADER_KEY.public_key(),
        issuer_key=None if pinned is None else pinned.public_key(),
        issuer_signature=None if signed_by is None else recipe.sign(signed_by),
    )


def test_recipe_is_read_if_the_pinned_issuer_signed_it():
    assert verified(RECIPE, ISSUER_KEY, ISSUER_KEY) == RECIPE
    recipe = drafted().publish(one_server(), NOW)
    assert verified(recipe, None, None) == verified(recipe, ISSUER_KEY, None) == recipe
    for call in (lambda: challenge(recipe), lambda: token_nonce(recipe, b"")):
        with pytest.raises(ValueError, match="any sender may report"):
            call()


@pytest.mark.parametrize(
    ("pinned", "signed_by", "refusal"),
    [
        (None, ISSUER_KEY, "needs the issuer's key"),
        (OTHER_KEY, OTHER_KEY, "names another issuer"),
        (ISSUER_KEY, None, "signature is missing"),
        (ISSUER_KEY, OTHER_KEY, "not the issuer's"),
        (ISSUER_KEY, LEADER_KEY, "not the issuer's"),
    ],
)
def test_recipe_with_tokens_of_another_than_the_pinned_issuer_is_refused(pinned, signed_by, refusal):
    with pytest.raises(RecipeVerificationError, match=refusal):
        verified(RECIPE, pinned, signed_by)


# --- challenges and tokens ----------------------------------------------------------------------------------


def refusal_of(call: Callable[[], object]) -> str:
    with pytest.raises(TokenRefusedError) as refused:
        call()
    return refused.value.reason


def shuffled() -> PublishedRecipe:
    servers = ShufflerAndAnalyzer(
        shuffler_url="https://shuffler.example:8443/shuffler",
        shuffler_verification_key=STRANGERS_KEY,
        analyzer_key_members=public_key(1).to_json(),
    )
    return with_tokens(servers, statistic="distinct_elements", k=5, steps="absent")


@pytest.mark.parametrize(
    ("recipe", "hosts"),
    [
        (RECIPE, b""),
        (with_tokens(two_servers()), b"leader.example,helper.example"),
        (shuffled(), b"shuffler.example:8443"),
        (joint_recipe(SOURCE).recipe, b"helper.example"),
    ],
    ids=["one server", "two servers", "shuffler", "joint key"],
)
def test_challenge_follows_from_the_document_and_names_who_verifies(recipe, hosts):
    identifier = bytes.fromhex(recipe.identifier)
    assert challenge(recipe) == TokenChallenge(2, b"issuer.example", identifier, hosts)
    token = issued_token(recipe, SOURCE)
    assert token_nonce(recipe, token.encode()) == report_nonce(token)


def test_token_is_good_for_the_one_report_whose_nonce_it_has():
    token = issued_token(RECIPE, SOURCE)
    encoded = token.encode()
    assert len(encoded) == TOKEN_BYTES == 354
    assert token_nonce(RECIPE, encoded) == token.nonce[16:32]
    token_require(RECIPE, encoded, token.nonce[16:32])
    for nonce in (token.nonce[:16], bytes(16), token.nonce, b""):
        assert refusal_of(lambda nonce=nonce: token_require(RECIPE, encoded, nonce)) == "token_invalid"


def test_token_of_another_length_is_invalid_and_none_is_missing():
    encoded = issued_token(RECIPE, SOURCE).encode()
    for wrong in (encoded[:1], encoded[:98], encoded[:-1], encoded + b"\0", encoded * 2, encoded * 300):
        assert refusal_of(lambda wrong=wrong: token_nonce(RECIPE, wrong)) == "token_invalid"
    for missing in (None, b""):
        assert refusal_of(lambda missing=missing: token_nonce(RECIPE, missing)) == "token_missing"


def test_token_with_any_bit_changed_is_refused_as_what_it_then_is():
    """One bit of every byte. The middle says for which challenge and of which key it is."""
    encoded = issued_token(RECIPE, SOURCE).encode()
    for position in range(len(encoded)):
        changed = bytearray(encoded)
        changed[position] ^= 1 << position % 8
        reason = "token_of_another_recipe" if 34 <= position < 98 else "token_invalid"
        assert refusal_of(lambda changed=changed: token_nonce(RECIPE, bytes(changed))) == reason


def test_token_of_another_recipe_or_of_another_key_is_refused():
    others = [
        replace(RECIPE, name="Another"),
        with_tokens(seed=1),
        with_tokens(two_servers()),
        RECIPE.having(admission=token_admission(issuer_name="other.example")),
    ]
    for other, seed in zip(others, (0, 1, 0, 0), strict=True):
        token = issued_token(other, SOURCE, seed).encode()
        assert refusal_of(lambda token=token: token_nonce(RECIPE, token)) == "token_of_another_recipe"


def test_token_signed_by_another_key_is_invalid_though_it_names_ours():
    theirs = issued_token(RECIPE, SOURCE, seed=1)
    renamed = replace(theirs, key_id=seeded_key().public.key_id)
    assert refusal_of(lambda: token_nonce(RECIPE, theirs.encode())) == "token_of_another_recipe"
    assert refusal_of(lambda: token_nonce(RECIPE, renamed.encode())) == "token_invalid"


def test_refusal_comes_through_a_pool_of_processes():
    error = pickle.loads(pickle.dumps(TokenRefusedError("token_invalid")))  # noqa: S301  # our own
    assert (error.reason, str(error)) == ("token_invalid", str(TokenRefusedError("token_invalid")))
