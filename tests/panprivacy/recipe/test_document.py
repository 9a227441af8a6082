"""Published documents as devices and servers read them."""

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from panprivacy.accounting.trust import Trust
from panprivacy.formats.errors import FieldError
from panprivacy.recipe.document import PublishedRecipe
from tests.panprivacy.recipe import scene
from tests.refusals import field_refused

SIGNING_KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))


def published(**changes: object) -> PublishedRecipe:
    return scene.published(**({"statistic": "mean", "guarantee": "local", "k": 2} | changes))


def verified(recipe: PublishedRecipe) -> PublishedRecipe:
    """As a device reads it: every signature here is the server's own."""
    return PublishedRecipe.verified(
        recipe.document, recipe.identifier, recipe.sign(SIGNING_KEY), SIGNING_KEY.public_key()
    )


def with_noise(recipe: PublishedRecipe, scale: float) -> PublishedRecipe:
    return replace(recipe, parameters=replace(recipe.parameters, noise_scale=scale))


@pytest.mark.parametrize("changes", [
    {"guarantee": "local"}, {"guarantee": "aggregator"}, {"statistic": "count_nonzero", "guarantee": None},
    {"statistic": "histogram", "guarantee": None},
])  # fmt: skip
def test_verified_document_that_keeps_its_promise_comes_back_equal(changes):
    recipe = published(**changes)
    assert verified(recipe) == recipe
    if recipe.statistic == "mean":
        louder = with_noise(recipe, recipe.parameters.noise_scale * 2)
        assert verified(louder) == louder


@pytest.mark.parametrize("guarantee", ["local", "aggregator"])
@pytest.mark.parametrize("share", [0.001, 0.1, 0.9, 0.999])
def test_verified_document_whose_noise_breaks_its_promise_is_refused(guarantee, share):
    honest = published(guarantee=guarantee)
    scale = max(0.04, honest.parameters.noise_scale * share)
    with field_refused("noise_scale", match=f"too small for the {guarantee} guarantee"):
        verified(with_noise(honest, scale))


@pytest.mark.parametrize("scale", [1e-300, 1e-9, 0.039])
def test_from_document_with_noise_too_small_to_compute_with_is_refused(scale):
    members = published().document | {"noise_scale": scale}
    with field_refused("noise_scale", match=r"at least 0\.04"):
        PublishedRecipe.from_document(members)


@pytest.mark.parametrize(
    "name", ["noise_scale", "sampling_rate", "guarantee", "k", "steps", "population", "trust"]
)
def test_from_document_without_a_member_is_refused(name):
    document = published().document
    without = {member: value for member, value in document.items() if member != name}
    for members in (without, document | {name: None}):
        with field_refused(name):
            PublishedRecipe.from_document(members)


GOLDEN = Path(__file__).with_name("published_documents.json")
"""Documents as they were published, with their identifier and signature."""


@pytest.mark.parametrize("stored", json.loads(GOLDEN.read_text()), ids=lambda stored: stored["id"][:8])
def test_published_document_keeps_its_identifier_and_signature(stored):
    # Absent means absent: a default filled in here would change what was signed.
    recipe = PublishedRecipe.verified(
        stored["document"], stored["id"], bytes.fromhex(stored["signature"]), SIGNING_KEY.public_key()
    )
    assert recipe.document == stored["document"]
    assert recipe.identifier == stored["id"]
    assert recipe.sign(SIGNING_KEY).hex() == stored["signature"]
    assert recipe.trust == Trust.SINGLE_SERVER


def test_signature_is_over_format_newline_and_canonical_form():
    recipe = published()
    assert recipe.document["format"] == "panapp-recipe-3"
    SIGNING_KEY.public_key().verify(recipe.sign(SIGNING_KEY), b"panapp-recipe-3\n" + recipe.canonical)


@pytest.mark.parametrize("unknown", ["panapp-recipe-2", "panapp-recipe-4", "", None, ["panapp-recipe-3"], 3])
def test_unknown_format_is_refused_naming_the_known_one(unknown):
    document = published().document | {"format": unknown}
    known = "must be panapp-recipe-3"
    with field_refused("format", match=known):
        PublishedRecipe.from_document(document)
    with pytest.raises(FieldError, match=known):
        PublishedRecipe.verified(document, "0" * 64, bytes(64), SIGNING_KEY.public_key())


@pytest.mark.parametrize("population", ["", "Clinics", "a b", "x" * 61, "a\n", 7, ["everyone"]])
def test_impossible_name_of_a_population_is_refused(population):
    assert published().document["population"] == "everyone"
    assert published(population="clinic-terminals").document["population"] == "clinic-terminals"
    with field_refused("population"):
        published(population=population)
    for impossible in (population, None):
        with field_refused("population"):
            PublishedRecipe.from_document(published().document | {"population": impossible})


@pytest.mark.parametrize("difference", [timedelta(0), timedelta(seconds=-1), timedelta(days=-400)])
def test_from_document_that_closes_no_later_than_it_opens_is_refused(difference):
    recipe = published()
    with field_refused("closes_at", match="later than opens_at"):
        PublishedRecipe.from_document(replace(recipe, closes_at=recipe.opens_at + difference).document)
