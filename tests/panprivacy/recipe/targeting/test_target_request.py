"""The member `target` of recipe files and documents: protected, or refused; read in one spelling."""

import json
from pathlib import Path
from typing import Any

import pytest

from panprivacy.formats.errors import FieldError
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.recipe.rounds.draft import RoundsDraft
from panprivacy.recipe.series import SeriesDraft
from tests.panprivacy.recipe.targeting.results import NOW, SERVERS, categories_recipe, members_of
from tests.tokens import token_admission

EXAMPLES = Path(__file__).parents[4] / "examples"
COUNTED, RESULT = "a" * 64, "b" * 64
LINUX = {"os": {"value": "linux", "recipe": COUNTED}}
PROTECTED = {"admission": "token", "relay": True, "target": LINUX}


def draft(**changes: Any) -> RecipeDraft:
    return RecipeDraft.from_mapping(members_of(**PROTECTED | changes))


def published(**changes: Any) -> PublishedRecipe:
    asked = draft(**changes)
    assert asked.target is not None
    cited = asked.target.cited(dict.fromkeys(asked.target.recipes, RESULT), asked.parameters)
    return asked.publish(
        SERVERS, NOW, admission=token_admission(), relay="https://relay.example/relay/site", target=cited
    )


def refused(members: dict[str, Any], read: Any = PublishedRecipe.from_document) -> FieldError:
    with pytest.raises(FieldError) as refusal:
        read(members)
    return refusal.value


def test_file_and_document_are_read_back_as_they_were_written():
    asked = draft(smallest_target=20_000)
    assert RecipeDraft.from_mapping(asked.as_dict()) == asked
    recipe = published()
    assert recipe.document["target"] == {"os": {"value": "linux", "recipe": COUNTED, "result": RESULT}}
    assert recipe.document["smallest_target"] == 10 * recipe.document["cohort_size"]
    assert PublishedRecipe.from_document(recipe.document) == recipe
    assert published(smallest_target=2_000).identifier != recipe.identifier


def test_documents_without_a_target_have_neither_member():
    """So their identifiers stay what they were."""
    assert not {"target", "smallest_target"} & categories_recipe().document.keys()
    assert draft(target=None).target is None


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"admission": "open"}, "admission"),
        ({"relay": False}, "relay"),
        ({"sampling_rate": 1.0}, "sampling_rate"),
        ({"smallest_target": 999}, "smallest_target"),
        ({"smallest_target": "many"}, "smallest_target"),
        ({"target": None, "smallest_target": 20_000}, "smallest_target"),
        ({"target": {}}, "target"),
        ({"target": "linux"}, "target"),
        ({"target": {"os": "linux"}}, "target.os"),
        ({"target": {"os": {"value": "linux"}}}, "target.os"),
        ({"target": {"os": {"value": "linux", "recipe": "1"}}}, "target.os.recipe"),
        ({"target": {"os": {"value": "li nux", "recipe": COUNTED}}}, "target"),
        ({"target": dict.fromkeys("abcd", LINUX["os"])}, "target"),
    ],
)
def test_target_that_is_unprotected_or_malformed_is_refused_by_field(changes, field):
    assert refused(members_of(**PROTECTED | changes), RecipeDraft.from_mapping).field == field


def test_devices_refuse_a_document_whose_target_lacks_what_protects_it():
    """A site may sign what its own software would not publish."""
    document = published().document
    for name in ("admission", "relay"):
        without = {member: value for member, value in document.items() if member != name}
        assert refused(without).field == name
    assert refused({**document, "sampling_rate": 1.0}).field == "sampling_rate"
    assert refused({**document, "smallest_target": 999}).field == "smallest_target"
    assert refused({member: document[member] for member in document if member != "smallest_target"})
    assert refused({**document, "target": LINUX}).field == "target.os"
    assert refused({**categories_recipe().document, "smallest_target": 20_000}).field == "smallest_target"


def test_publishing_without_the_drafts_target_fails():
    with pytest.raises(ValueError, match="target"):
        draft().publish(SERVERS, NOW, admission=token_admission(), relay="https://relay.example/relay/site")


def test_repeated_recipes_have_no_target():
    by_clock = members_of(**PROTECTED, every="week", rounds=3)
    assert refused(by_clock, SeriesDraft.from_mapping).field == "target"
    in_rounds = members_of(**PROTECTED, rounds=3, round_seconds=86_400)
    assert refused(in_rounds, RoundsDraft.from_mapping).field == "target"


def test_statistic_that_samples_no_devices_has_no_member_target():
    members = {"statistic": "shuffle_histogram", "name": "-", "question": "-", "target": LINUX}
    refusal = refused(members, RecipeDraft.from_mapping)
    assert refusal.field == "target"
    assert "is not a field" in refusal.message


def test_examples_are_a_count_and_a_target_that_it_can_show():
    count, target = (
        RecipeDraft.from_mapping(json.loads((EXAMPLES / name).read_text()))
        for name in ("systems.json", "target.json")
    )
    assert target.target is not None
    assert target.target.target.where.items() <= {(count.event.name, value) for value in count.event.labels}
