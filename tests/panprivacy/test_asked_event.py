"""An event and its labels: through recipe files and documents, and refused where they cannot be."""

import random
from datetime import UTC, datetime
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from panprivacy.asked_event import DEFINITION_LENGTH, LABEL_LENGTH, MOST_LABELS
from panprivacy.catalogue import STATISTICS
from panprivacy.encryption import DEFAULT_SCHEME, generate_private_key
from panprivacy.errors import FieldError
from panprivacy.recipe import PublishedRecipe
from panprivacy.recipe_draft import RecipeDraft
from panprivacy.recipe_members import draft_fields
from panprivacy.recipe_plan import PLAN_FIELDS
from panprivacy.trust_models import trusts_of
from panprivacy.trust_models.single_server import OneServer

SIGNING_KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
BUCKETS: dict[str, Any] = {
    "name": "Crashes",
    "question": "On how many days did it crash?",
    "statistic": "histogram",
    "k": 2,
    "steps": 4,
    "epsilon": 2.0,
    "delta": 1e-6,
    "cohort_size": 5,
}
SAID = {
    "event": "form.opened_2-b",
    "event_definition": "Someone opened the form “Order”.",
    "labels": ["never", "on one day", "on several days"],
}
PLANNED = {"population_size": 20_000, "target_margin": 2.5}


def drafted(**changes: object) -> RecipeDraft:
    return RecipeDraft.from_mapping({**BUCKETS, **changes})


def published(**changes: object) -> PublishedRecipe:
    key = generate_private_key(DEFAULT_SCHEME, random.Random(1)).public_key
    return drafted(**changes).publish(OneServer.of(key), datetime(2026, 1, 1, tzinfo=UTC))


def test_event_and_labels_are_signed_and_read_back() -> None:
    recipe = published(**SAID)
    assert {name: recipe.document[name] for name in SAID} == SAID
    read = PublishedRecipe.verified(
        recipe.document, recipe.identifier, recipe.sign(SIGNING_KEY), SIGNING_KEY.public_key()
    )
    assert read == recipe
    assert [read.label(place) for place in range(3)] == SAID["labels"]
    assert recipe.identifier != published().identifier


def test_recipe_without_them_signs_none_of_them_and_has_the_labels_of_its_statistic() -> None:
    for nothing in ({}, dict.fromkeys(SAID)):
        recipe = published(**nothing)
        assert not SAID.keys() & recipe.document.keys()
        assert recipe.label(0) == "0 events"


def test_plan_is_kept_with_the_draft_and_is_not_part_of_the_document() -> None:
    draft = drafted(**PLANNED)
    assert RecipeDraft.from_mapping(draft.as_dict()) == draft
    assert PLANNED.items() <= draft.as_dict().items()
    assert published(**PLANNED) == published()
    for name, value in PLANNED.items():
        with pytest.raises(FieldError) as refused:
            PublishedRecipe.from_document(published().document | {name: value})
        assert refused.value.field == name


@pytest.mark.parametrize("name", sorted(SAID))
def test_null_is_refused_in_a_signed_document(name: str) -> None:
    with pytest.raises(FieldError) as refused:
        PublishedRecipe.from_document(published(**SAID).document | {name: None})
    assert refused.value.field == ("event" if name == "event" else name)


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("event", "", "1 to 60 of the characters a-z, 0-9, dot, _ and -"),
        ("event", "a" * 61, "1 to 60"),
        ("event", "Crash", "1 to 60"),
        ("event", "crash\n", "1 to 60"),
        ("event", "ćrash", "1 to 60"),
        ("event", 7, "1 to 60"),
        ("event_definition", " ", f"one line of 1 to {DEFINITION_LENGTH}"),
        ("event_definition", "x" * (DEFINITION_LENGTH + 1), f"1 to {DEFINITION_LENGTH}"),
        ("event_definition", "two\nlines", "one line"),
        ("event_definition", "\u202ebackwards", "one line"),
        ("labels", [], f"1 to {MOST_LABELS:,}"),
        ("labels", "abc", "a list of texts"),
        ("labels", {"a": 1, "b": 2, "c": 3}, "a list of texts"),
        ("labels", ["a", "b"], "must be 3, one for each value from “0 events” to “2 or more events”, not 2"),
        ("labels", ["a", "b", "c", "d"], "must be 3"),
        ("labels", ["a"] * (MOST_LABELS + 1), f"1 to {MOST_LABELS:,}"),
        ("labels", ["a", "b", "a "], "stands twice"),
        ("labels", ["a", "b", 3], f"one line of 1 to {LABEL_LENGTH} characters each"),
        ("labels", ["a", "b", "x" * (LABEL_LENGTH + 1)], f"1 to {LABEL_LENGTH} characters each"),
        ("labels", ["a", "b", "\x1b[2J"], "one line"),
    ],
)
def test_impossible_names_are_refused_in_drafts_and_documents(field: str, value: object, said: str) -> None:
    with pytest.raises(FieldError, match=said) as refused:
        drafted(**{**SAID, field: value})
    assert refused.value.field == field
    with pytest.raises(FieldError, match=said) as refused:
        PublishedRecipe.from_document(published(**SAID).document | {field: value})
    assert refused.value.field == field


def test_definition_without_its_event_is_refused() -> None:
    with pytest.raises(FieldError, match="is missing") as refused:
        drafted(event_definition="It ended.")
    assert refused.value.field == "event"


@pytest.mark.parametrize(
    ("field", "value"),
    [("population_size", 0), ("population_size", 1.5), ("target_margin", 0), ("target_margin", "2")],
)
def test_impossible_plan_is_refused(field: str, value: object) -> None:
    with pytest.raises(FieldError, match="must be a") as refused:
        drafted(**{field: value})
    assert refused.value.field == field


@pytest.mark.parametrize("name", sorted(STATISTICS))
def test_statistics_of_one_number_take_no_labels_and_only_those_of_devices_a_plan(name: str) -> None:
    statistic = STATISTICS[name]
    fields = draft_fields(statistic, trusts_of(statistic)[0])
    assert ("labels" in fields) != statistic.scalar
    assert (set(PLAN_FIELDS) <= set(fields)) == (not statistic.unplanned)
    assert "event" in fields


def test_labels_of_a_single_number_are_refused() -> None:
    members = {name: value for name, value in BUCKETS.items() if name != "k"}
    with pytest.raises(FieldError, match="single number") as refused:
        RecipeDraft.from_mapping({**members, "statistic": "count_nonzero", "labels": ["yes"]})
    assert refused.value.field == "labels"
