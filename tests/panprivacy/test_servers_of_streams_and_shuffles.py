import random
from datetime import UTC, datetime

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from panprivacy.encryption import generate_private_key
from panprivacy.errors import FieldError
from panprivacy.recipe import PublishedRecipe
from panprivacy.recipe_draft import RecipeDraft
from panprivacy.trust_models import Servers
from panprivacy.trust_models.curator import Curator
from panprivacy.trust_models.members import RecipeVerificationError
from panprivacy.trust_models.shuffler import ShufflerAndAnalyzer

PUBLISHER_KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
SHUFFLER_KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(1, 33)))
OTHER_KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(2, 34)))
OF_A_STREAM = {"statistic": "density", "epsilon": 0.5, "universe_size": 100, "table_size": 10}
OF_A_SHUFFLE = {"statistic": "distinct_elements", "epsilon": 1, "delta": 1e-6, "cohort_size": 100, "k": 5}


def published(members: dict[str, object], servers: Servers) -> PublishedRecipe:
    draft = RecipeDraft.from_mapping({"name": "Test", "question": "How many?", **members})
    return draft.publish(servers, datetime(2026, 1, 1, tzinfo=UTC))


def curated(digest: bytes = bytes(32)) -> PublishedRecipe:
    return published(OF_A_STREAM, Curator(sample_digest=digest))


def shuffled() -> PublishedRecipe:
    key = generate_private_key("elgamal-secp256k1", random.Random(1)).public_key
    servers = ShufflerAndAnalyzer(
        shuffler_url="https://shuffler.example/shuffler",
        shuffler_verification_key=SHUFFLER_KEY.public_key().public_bytes_raw(),
        analyzer_key_members=key.to_json(),
    )
    return published(OF_A_SHUFFLE, servers)


@pytest.mark.parametrize("recipe", [curated(), shuffled()], ids=["curator", "shuffler"])
def test_document_comes_back_equal_and_says_nothing_of_what_does_not_exist(recipe: PublishedRecipe) -> None:
    read = PublishedRecipe.from_document(recipe.document)
    assert read == recipe
    assert read.identifier == recipe.identifier
    assert "step_seconds" not in recipe.document
    assert ("encryption" in recipe.document) == (recipe.statistic == "distinct_elements")


def test_documents_of_two_samples_differ_though_everything_else_is_the_same() -> None:
    assert curated(bytes(32)).identifier != curated(bytes([1] * 32)).identifier


@pytest.mark.parametrize("digest", [None, "", "0" * 63, "G" * 64, "A" * 64, 0])
def test_document_with_a_digest_that_is_none_is_refused(digest: object) -> None:
    document = {**curated().document, "curator": {"sample_digest": digest}}
    with pytest.raises(FieldError, match="sample_digest"):
        PublishedRecipe.from_document(document)


@pytest.mark.parametrize("name", ["step_seconds", "encryption"])
def test_document_of_a_stream_with_a_member_of_devices_is_refused(name: str) -> None:
    with pytest.raises(FieldError, match=name):
        PublishedRecipe.from_document({**curated().document, name: 1})


@pytest.mark.parametrize(
    ("pinned", "signed_by", "refusal"),
    [
        (None, SHUFFLER_KEY, "needs the shuffler's key"),
        (OTHER_KEY, OTHER_KEY, "names another shuffler"),
        (SHUFFLER_KEY, None, "signature is missing"),
        (SHUFFLER_KEY, OTHER_KEY, "not the shuffler's"),
    ],
)
def test_recipe_of_a_shuffler_that_is_not_the_pinned_one_is_refused(
    pinned: Ed25519PrivateKey | None, signed_by: Ed25519PrivateKey | None, refusal: str
) -> None:
    recipe = shuffled()
    with pytest.raises(RecipeVerificationError, match=refusal):
        PublishedRecipe.verified(
            recipe.document,
            recipe.identifier,
            recipe.sign(PUBLISHER_KEY),
            PUBLISHER_KEY.public_key(),
            partner_key=None if pinned is None else pinned.public_key(),
            partner_signature=None if signed_by is None else recipe.sign(signed_by),
        )


def test_recipe_that_the_pinned_shuffler_signed_is_read() -> None:
    recipe = shuffled()
    read = PublishedRecipe.verified(
        recipe.document,
        recipe.identifier,
        recipe.sign(PUBLISHER_KEY),
        PUBLISHER_KEY.public_key(),
        partner_key=SHUFFLER_KEY.public_key(),
        partner_signature=recipe.sign(SHUFFLER_KEY),
    )
    assert read == recipe


def test_nothing_can_be_encrypted_to_a_curator() -> None:
    with pytest.raises(ValueError, match="nothing is encrypted"):
        _ = curated().public_key
