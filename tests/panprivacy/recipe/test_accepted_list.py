"""Recipes with a joint key: their keys, and the list of accepted reports."""

import json
import pickle
import random

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from panprivacy.formats.errors import FieldError
from panprivacy.protocols.joint_key.sums import DecryptionPart, count_of
from panprivacy.recipe.accepted_list import (
    PART_REPORTS,
    RECORD_BYTES,
    AcceptedList,
    CheckedPart,
    ListRefusedError,
    failing,
    joint_key_of,
    part_checked,
    part_digest,
)
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.statistics.trust_models.joint_key import ROLES, JointKeyServers
from panprivacy.statistics.trust_models.members import RecipeVerificationError
from tests.panprivacy.recipe.joint_key_scene import joint_recipe
from tests.panprivacy.recipe.scene import drafted
from tests.tokens import ISSUER_KEY

SOURCE = random.Random(380)
KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
HELPER = Ed25519PrivateKey.from_private_bytes(bytes(range(128, 160)))
JOINT = joint_recipe(SOURCE)
RECIPE = JOINT.recipe
RECORDS = JOINT.records(6, SOURCE)


def checked(*records: bytes, first: int = 1, after: bytes = b"") -> CheckedPart:
    return part_checked(RECIPE, b"".join(records), first=first, after=after, random_source=SOURCE)


def verified(recipe: PublishedRecipe) -> PublishedRecipe:
    message = recipe.signed_message
    return PublishedRecipe.verified(
        recipe.document,
        recipe.identifier,
        KEY.sign(message),
        KEY.public_key(),
        partner_key=HELPER.public_key(),
        partner_signature=HELPER.sign(message),
        issuer_key=ISSUER_KEY.public_key(),
        issuer_signature=ISSUER_KEY.sign(message),
    )


def test_document_is_read_back_and_its_halves_hold():
    assert PublishedRecipe.from_document(json.loads(RECIPE.canonical)).canonical == RECIPE.canonical
    assert verified(RECIPE) == RECIPE
    assert "encryption" not in RECIPE.document
    assert pickle.loads(pickle.dumps(RECIPE.public_key)).joint == joint_key_of(RECIPE).joint  # noqa: S301


@pytest.mark.parametrize("field", ["key", "string"])
@pytest.mark.parametrize("role", ROLES)
def test_half_of_another_recipe_is_refused(role, field):
    other = joint_recipe(SOURCE, question="Another one?").recipe.document[role][field]
    document = RECIPE.document
    swapped = document | {role: document[role] | {field: other}}
    with pytest.raises(RecipeVerificationError, match="half of the joint key"):
        verified(PublishedRecipe.from_document(swapped))


@pytest.mark.parametrize(
    ("field", "value"), [("key", "AAAA"), ("string", "not base64"), ("key", None), ("key", "A" * 364)]
)
def test_half_that_is_none_is_refused_with_its_field(field, value):
    document = RECIPE.document
    with pytest.raises(FieldError, match=rf"leader\.{field}"):
        verified(PublishedRecipe.from_document(document | {"leader": document["leader"] | {field: value}}))


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"admission": "open"}, "admission"),
        ({"segments": ["a", "b"]}, "segments"),
        ({"bundle": "everyone"}, "bundle"),
        ({"statistic": "histogram", "k": 3}, "trust"),
        ({"encryption": "elgamal-secp256k1"}, "encryption"),
        ({"trust": "single_server", "bundle": "public"}, "bundle"),
    ],
)
def test_draft_that_cannot_have_a_joint_key_is_refused(changes, field):
    with pytest.raises(FieldError) as refused:
        drafted(**{"trust": "joint_key"} | changes)
    assert refused.value.field == field


def test_who_may_have_the_bundle_is_in_the_document_unless_everyone():
    assert "bundle" not in RECIPE.document
    assert joint_recipe(SOURCE, bundle="auditors").recipe.document["bundle"] == "auditors"
    with pytest.raises(FieldError, match="bundle"):
        PublishedRecipe.from_document(RECIPE.document | {"bundle": "public"})


def test_list_is_checked_decrypted_in_parts_and_its_count_is_that_of_ones():
    servers = RECIPE.servers
    assert isinstance(servers, JointKeyServers)
    part = checked(*RECORDS)
    accepted = AcceptedList.of(RECIPE.identifier, part.reports, [part.digest])
    parts = []
    for role, secret, half in zip(ROLES, JOINT.secrets, servers.halves[0], strict=True):
        context = accepted.decryption_context(role)
        parts.append(DecryptionPart.made(context, part.total, secret, SOURCE))
        parts[-1].require_proved(context, part.total, half)
    secret = JOINT.secrets[0] + JOINT.secrets[1]
    bits = [joint_key_of(RECIPE).parse(record[-864:]) for record in RECORDS]
    # Each by itself, which no server can.
    ones = sum(bit.c[1] != bit.c[0] * secret for bit in bits)
    assert count_of(part.total, parts, part.reports) == ones


def test_report_that_does_not_hold_is_refused_with_its_number():
    first, second, *_ = RECORDS
    other = joint_recipe(SOURCE, question="Another one?").report(1, SOURCE)
    flipped = bytearray(second)
    flipped[-1] ^= 1
    crossed = JOINT.signed(first[-864:-96] + second[-96:], SOURCE)
    for records, refusal in (
        ([second, first], "report 2 is out of order"),
        ([first, first], "report 2 has the token of the one before it"),
        ([other], "report 1: the token is of another recipe"),
        ([first, bytes(RECORD_BYTES)], "report 2: the token is not one"),
        ([first, bytes(flipped)], "report 2: the token is not one"),
        ([first, second[:-864] + first[-864:]], "report 2: the token is not one"),
        ([JOINT.signed(bytes(864), SOURCE)], "report 1: an encrypted bit"),
        ([crossed], "report 1: its proof does not hold"),
        ([first[:-1]], "not made of whole reports"),
        ([], "not made of whole reports"),
    ):
        with pytest.raises(ListRefusedError, match=refusal):
            checked(*records)


def test_only_the_last_part_may_be_short():
    last = checked(*RECORDS[:2]).last_nonce
    with pytest.raises(ListRefusedError, match="every part of the list but the last must have 1,000"):
        checked(*RECORDS[2:], first=3, after=last)
    with pytest.raises(ListRefusedError, match="every part of the list but the last must have 1,000"):
        checked(*RECORDS[:1] * (PART_REPORTS + 1))
    assert checked(*RECORDS[2:], first=PART_REPORTS + 1, after=last).reports == 4
    with pytest.raises(ListRefusedError, match="report 1,001 has the token"):
        checked(*RECORDS[1:], first=PART_REPORTS + 1, after=last)


def test_all_that_fail_are_found_and_no_other():
    key = joint_key_of(RECIPE)
    bits = [key.parse(record[-864:]) for record in RECORDS]
    crossed = [*bits[:2], bits[2].__class__(bits[3].c, bits[2].d, bits[2].pi, bits[2].theta), *bits[3:]]
    both = [bits[1].__class__(bits[0].c, bits[1].d, bits[1].pi, bits[1].theta), *crossed[1:]]
    assert list(failing(key, bits, SOURCE)) == []
    assert list(failing(key, crossed, SOURCE)) == [2]
    assert list(failing(key, both, SOURCE)) == [0, 2]


def test_signature_is_of_one_list_only():
    accepted = AcceptedList.of(RECIPE.identifier, 6, [part_digest(b"".join(RECORDS))])
    signature = accepted.sign(KEY)
    accepted.verify(signature, KEY.public_key())
    for other in (
        AcceptedList(accepted.recipe, 5, accepted.digest),
        AcceptedList(accepted.recipe, 6, "0" * 64),
        AcceptedList("0" * 64, 6, accepted.digest),
    ):
        with pytest.raises(ListRefusedError, match="signature"):
            other.verify(signature, KEY.public_key())
