import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from panprivacy.formats.errors import FieldError
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.statistics.trust_models.curator import Curator
from panprivacy.statistics.trust_models.members import RecipeVerificationError
from tests.panprivacy.recipe.scene import OF_A_SHUFFLE, OF_A_STREAM, published_by, shuffler_and_analyzer

PUBLISHER_KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
SHUFFLER_KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(1, 33)))
OTHER_KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(2, 34)))


def curated(digest: bytes = bytes(32)) -> PublishedRecipe:
    return published_by(OF_A_STREAM, Curator(sample_digest=digest))


def shuffled() -> PublishedRecipe:
    key = SHUFFLER_KEY.public_key().public_bytes_raw()
    return published_by(OF_A_SHUFFLE, shuffler_and_analyzer(key))


@pytest.mark.parametrize("recipe", [curated(), shuffled()], ids=["curator", "shuffler"])
def test_document_comes_back_equal_and_says_nothing_of_what_does_not_exist(recipe):
    read = PublishedRecipe.from_document(recipe.document)
    assert read == recipe
    assert read.identifier == recipe.identifier
    assert "step_seconds" not in recipe.document
    assert ("encryption" in recipe.document) == (recipe.statistic == "distinct_elements")


def test_documents_of_two_samples_differ_and_name_no_key():
    assert curated(bytes(32)).identifier != curated(bytes([1] * 32)).identifier
    with pytest.raises(ValueError, match="under no key"):
        _ = curated().public_key


@pytest.mark.parametrize("digest", [None, "", "0" * 63, "G" * 64, "A" * 64, 0])
def test_document_with_a_digest_that_is_none_is_refused(digest):
    document = {**curated().document, "curator": {"sample_digest": digest}}
    with pytest.raises(FieldError, match="sample_digest"):
        PublishedRecipe.from_document(document)


@pytest.mark.parametrize("name", ["step_seconds", "encryption"])
def test_document_of_a_stream_with_a_member_of_devices_is_refused(name):
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
def test_recipe_of_a_shuffler_that_is_not_the_pinned_one_is_refused(pinned, signed_by, refusal):
    recipe = shuffled()

    def read(pinned: Ed25519PrivateKey | None, signed_by: Ed25519PrivateKey | None) -> PublishedRecipe:
        return PublishedRecipe.verified(
            recipe.document,
            recipe.identifier,
            recipe.sign(PUBLISHER_KEY),
            PUBLISHER_KEY.public_key(),
            partner_key=None if pinned is None else pinned.public_key(),
            partner_signature=None if signed_by is None else recipe.sign(signed_by),
        )

    assert read(SHUFFLER_KEY, SHUFFLER_KEY) == recipe
    with pytest.raises(RecipeVerificationError, match=refusal):
        read(pinned, signed_by)
