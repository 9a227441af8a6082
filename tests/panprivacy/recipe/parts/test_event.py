"""An event and its labels: through recipe files and documents, and refused where they cannot be."""

from functools import partial
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from panprivacy.planning.recipe_plan import PLAN_FIELDS
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.recipe.file_fields import draft_fields
from panprivacy.recipe.parts.event import DEFINITION_LENGTH, LABEL_LENGTH, MOST_LABELS, names_events
from panprivacy.recipe.parts.interface import Subject
from panprivacy.statistics.catalogue import STATISTICS
from panprivacy.statistics.trust_models import TRUST_MODELS, trusts_of
from tests.panprivacy.recipe import scene
from tests.refusals import field_refused

SIGNING_KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
BUCKETS = {"statistic": "histogram", "k": 2}
SAID = {
    "event": "form.opened_2-b",
    "event_definition": "Someone opened the form “Order”.",
    "labels": ["never", "on one day", "on several days"],
}
PLANNED = {"population_size": 20_000, "target_margin": 2.5}


drafted, published = partial(scene.drafted, **BUCKETS), partial(scene.published, **BUCKETS)


def test_event_and_labels_are_signed_and_read_back() -> None:
    recipe = published(**SAID)
    assert {name: recipe.document[name] for name in SAID} == SAID
    read = PublishedRecipe.verified(
        recipe.document, recipe.identifier, recipe.sign(SIGNING_KEY), SIGNING_KEY.public_key()
    )
    assert read == recipe
    assert [read.label(place) for place in range(3)] == SAID["labels"]
    assert recipe.identifier != published().identifier


def test_recipe_without_them_has_the_labels_of_its_statistic() -> None:
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
        with field_refused(name):
            PublishedRecipe.from_document(published().document | {name: value})


@pytest.mark.parametrize("name", sorted(SAID))
def test_null_is_refused_in_a_signed_document(name: str) -> None:
    with field_refused("event" if name == "event" else name):
        PublishedRecipe.from_document(published(**SAID).document | {name: None})


@pytest.mark.parametrize(
    ("field", "value", "message"),
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
        ("labels", ["a", "b", "a "], "is repeated"),
        ("labels", ["a", "b", 3], f"one line of 1 to {LABEL_LENGTH} characters each"),
        ("labels", ["a", "b", "x" * (LABEL_LENGTH + 1)], f"1 to {LABEL_LENGTH} characters each"),
        ("labels", ["a", "b", "\x1b[2J"], "one line"),
    ],
)
def test_impossible_names_are_refused_in_drafts_and_documents(
    field: str, value: object, message: str
) -> None:
    with field_refused(field, match=message):
        drafted(**{**SAID, field: value})
    with field_refused(field, match=message):
        PublishedRecipe.from_document(published(**SAID).document | {field: value})


@pytest.mark.parametrize(
    ("changes", "field", "message"),
    [
        ({"event_definition": "It ended."}, "event", "is missing"),
        ({"statistic": "count_nonzero", "k": None, "labels": ["yes"]}, "labels", "single number"),
        ({"population_size": 0}, "population_size", "must be a"),
        ({"population_size": 1.5}, "population_size", "must be a"),
        ({"target_margin": 0}, "target_margin", "must be a"),
        ({"target_margin": "2"}, "target_margin", "must be a"),
    ],
)
def test_impossible_members_of_a_file_are_refused(changes: dict[str, Any], field: str, message: str) -> None:
    with field_refused(field, match=message):
        drafted(**changes)


@pytest.mark.parametrize("name", sorted(STATISTICS))
def test_statistics_of_one_number_take_no_labels(name: str) -> None:
    statistic = STATISTICS[name]
    fields = draft_fields(Subject(statistic, TRUST_MODELS[trusts_of(statistic)[0]]))
    assert ("labels" in fields) != statistic.scalar
    assert (set(PLAN_FIELDS) <= set(fields)) == (not statistic.planning_obstacle)
    assert ("event" in fields) != names_events(statistic)
