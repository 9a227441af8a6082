"""Published documents as devices and servers read them."""

import json
import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from panprivacy.encryption import DEFAULT_SCHEME, generate_private_key
from panprivacy.errors import FieldError
from panprivacy.recipe import PublishedRecipe
from panprivacy.recipe_draft import RecipeDraft
from panprivacy.trust import Trust
from panprivacy.trust_models.single_server import OneServer

SIGNING_KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))


def published(**changes: object) -> PublishedRecipe:
    """A change to None leaves the member out."""
    draft = {
        "name": "Crashes",
        "question": "How many crashes does a device have?",
        "statistic": "mean",
        "guarantee": "local",
        "k": 2,
        "steps": 4,
        "epsilon": 2.0,
        "delta": 1e-6,
        "cohort_size": 5,
    } | changes
    members = {name: value for name, value in draft.items() if value is not None}
    key = generate_private_key(DEFAULT_SCHEME, random.Random(1)).public_key
    return RecipeDraft.from_mapping(members).publish(OneServer.of(key), datetime(2026, 1, 1, tzinfo=UTC))


def verified(recipe: PublishedRecipe) -> PublishedRecipe:
    """As a device reads it: every signature here is the server's own."""
    return PublishedRecipe.verified(
        recipe.document, recipe.identifier, recipe.sign(SIGNING_KEY), SIGNING_KEY.public_key()
    )


def with_noise(recipe: PublishedRecipe, scale: float) -> PublishedRecipe:
    return replace(recipe, parameters=replace(recipe.parameters, noise_scale=scale))


@pytest.mark.parametrize("guarantee", ["local", "aggregator"])
def test_verified_honest_document_comes_back_equal(guarantee):
    recipe = published(guarantee=guarantee)
    assert verified(recipe) == recipe


@pytest.mark.parametrize("guarantee", ["local", "aggregator"])
@pytest.mark.parametrize("share", [0.001, 0.1, 0.9, 0.999])
def test_verified_document_whose_noise_breaks_its_promise_is_refused_though_signed(guarantee, share):
    honest = published(guarantee=guarantee)
    scale = max(0.04, honest.parameters.noise_scale * share)
    with pytest.raises(FieldError, match=f"too small for the {guarantee} guarantee") as refused:
        verified(with_noise(honest, scale))
    assert refused.value.field == "noise_scale"


@pytest.mark.parametrize("scale", [1e-300, 1e-9, 0.039])
def test_from_document_with_noise_too_small_to_compute_with_is_refused(scale):
    members = published().document | {"noise_scale": scale}
    with pytest.raises(FieldError, match=r"at least 0\.04") as refused:
        PublishedRecipe.from_document(members)
    assert refused.value.field == "noise_scale"


def test_verified_document_with_more_noise_than_promised_is_accepted():
    recipe = published()
    louder = with_noise(recipe, recipe.parameters.noise_scale * 2)
    assert verified(louder) == louder


@pytest.mark.parametrize("name", ["noise_scale", "sampling_rate", "guarantee", "k", "steps"])
def test_from_document_without_a_parameter_is_refused_derived_and_defaulted_ones_included(name):
    document = published().document
    without = {member: value for member, value in document.items() if member != name}
    for members in (without, document | {name: None}):
        with pytest.raises(FieldError) as refused:
            PublishedRecipe.from_document(members)
        assert refused.value.field == name


GOLDEN = Path(__file__).with_name("published_documents.json")
"""Documents as earlier versions published them, with their identifier and signature."""


@pytest.mark.parametrize("stored", json.loads(GOLDEN.read_text()), ids=lambda stored: stored["id"][:8])
def test_document_of_an_earlier_version_keeps_its_identifier_and_signature(stored):
    # Absent means absent: a default filled in here would change what was signed.
    recipe = PublishedRecipe.verified(
        stored["document"], stored["id"], bytes.fromhex(stored["signature"]), SIGNING_KEY.public_key()
    )
    assert recipe.document == stored["document"]
    assert recipe.identifier == stored["id"]
    assert recipe.sign(SIGNING_KEY).hex() == stored["signature"]
    assert recipe.trust == Trust.SINGLE_SERVER
    assert (recipe.population is None) == (stored["document"]["format"] == "panapp-recipe-1")


def test_signature_is_over_the_documents_own_format_a_newline_and_the_canonical_form():
    new = published()
    second = replace(new, format="panapp-recipe-2")
    first = replace(new, format="panapp-recipe-1", population=None)
    for recipe, format_ in (
        (new, b"panapp-recipe-3"),
        (second, b"panapp-recipe-2"),
        (first, b"panapp-recipe-1"),
    ):
        assert recipe.document["format"] == format_.decode()
        SIGNING_KEY.public_key().verify(recipe.sign(SIGNING_KEY), format_ + b"\n" + recipe.canonical)


@pytest.mark.parametrize(
    ("format_", "name"),
    [
        ("panapp-recipe-1", "population"),
        ("panapp-recipe-1", "trust"),
        ("panapp-recipe-1", "event"),
        ("panapp-recipe-2", "trust"),
        ("panapp-recipe-2", "event_definition"),
        ("panapp-recipe-2", "labels"),
    ],
)
def test_document_with_a_member_that_its_format_has_not_is_refused(format_, name):
    later = {
        "population": "everyone",
        "trust": "single_server",
        "event": "crash",
        "event_definition": "It ended.",
        "labels": ["no", "yes", "often"],
    }
    document = {member: value for member, value in published().document.items() if member not in later}
    if format_ != "panapp-recipe-1":
        document["population"] = "everyone"
    with pytest.raises(FieldError, match=f"not a member of a {format_} document") as refused:
        PublishedRecipe.from_document(document | {"format": format_, name: later[name]})
    assert refused.value.field == name


@pytest.mark.parametrize(
    ("format_", "name"),
    [("panapp-recipe-2", "population"), ("panapp-recipe-3", "population"), ("panapp-recipe-3", "trust")],
)
def test_document_without_a_member_that_its_format_has_is_refused(format_, name):
    document = published().document | {"format": format_}
    if format_ == "panapp-recipe-2":
        del document["trust"]
    del document[name]
    with pytest.raises(FieldError, match="is missing") as refused:
        PublishedRecipe.from_document(document)
    assert refused.value.field == name


@pytest.mark.parametrize("unknown", ["panapp-recipe-4", "", None, ["panapp-recipe-2"], 2])
def test_unknown_format_is_refused_naming_what_is_known(unknown):
    document = published().document | {"format": unknown}
    known = "must be panapp-recipe-3 or panapp-recipe-2 or panapp-recipe-1"
    with pytest.raises(FieldError, match=known) as refused:
        PublishedRecipe.from_document(document)
    assert refused.value.field == "format"
    with pytest.raises(FieldError, match=known):
        PublishedRecipe.verified(document, "0" * 64, bytes(64), SIGNING_KEY.public_key())


def test_published_document_names_its_population_explicitly():
    assert published().document["population"] == "everyone"
    assert published(population="clinic-terminals").document["population"] == "clinic-terminals"


@pytest.mark.parametrize("population", ["", "Clinics", "a b", "x" * 61, "a\n", 7, ["everyone"]])
def test_impossible_name_of_a_population_is_refused_in_drafts_and_documents(population):
    with pytest.raises(FieldError) as refused:
        published(population=population)
    assert refused.value.field == "population"
    for impossible in (population, None):
        with pytest.raises(FieldError) as refused:
            PublishedRecipe.from_document(published().document | {"population": impossible})
        assert refused.value.field == "population"


@pytest.mark.parametrize("difference", [timedelta(0), timedelta(seconds=-1), timedelta(days=-400)])
def test_from_document_that_closes_no_later_than_it_opens_is_refused(difference):
    recipe = published()
    with pytest.raises(FieldError, match="later than opens_at") as refused:
        PublishedRecipe.from_document(replace(recipe, closes_at=recipe.opens_at + difference).document)
    assert refused.value.field == "closes_at"


@pytest.mark.parametrize("statistic", ["count_nonzero", "histogram"])
def test_verified_statistic_whose_parameters_are_its_promise_is_accepted(statistic):
    recipe = published(statistic=statistic, guarantee=None)
    assert verified(recipe) == recipe
