"""Segments of a recipe: through files and documents, and refused where they cannot be."""

import random
from datetime import UTC, datetime
from typing import Any

import pytest

from panprivacy.asked_segments import MOST_SEGMENTS, SEGMENT_LENGTH
from panprivacy.catalogue import STATISTICS
from panprivacy.encryption import DEFAULT_SCHEME, generate_private_key
from panprivacy.errors import FieldError
from panprivacy.recipe import PublishedRecipe
from panprivacy.recipe_draft import RecipeDraft
from panprivacy.recipe_members import draft_fields
from panprivacy.trust_models import trusts_of
from panprivacy.trust_models.single_server import OneServer

CRASHES: dict[str, Any] = {
    "name": "Crashes",
    "question": "On how many devices did it crash?",
    "statistic": "count_nonzero",
    "steps": 4,
    "epsilon": 2.0,
    "delta": 1e-6,
    "cohort_size": 5,
}
VERSIONS = ["2.0 (control)", "2.1 <b>"]


def drafted(**changes: object) -> RecipeDraft:
    return RecipeDraft.from_mapping({**CRASHES, **changes})


def published(**changes: object) -> PublishedRecipe:
    key = generate_private_key(DEFAULT_SCHEME, random.Random(1)).public_key
    return drafted(**changes).publish(OneServer.of(key), datetime(2026, 1, 1, tzinfo=UTC))


def test_segments_are_signed_and_read_back_in_their_order() -> None:
    recipe = published(segments=VERSIONS)
    assert recipe.document["segments"] == VERSIONS
    assert PublishedRecipe.from_document(recipe.document) == recipe
    assert recipe.calibrated_statistic.labels == ("at least one event",)
    assert published(segments=VERSIONS[::-1]).identifier != recipe.identifier
    draft = drafted(segments=VERSIONS)
    assert RecipeDraft.from_mapping(draft.as_dict()) == draft


@pytest.mark.parametrize("nothing", [{}, {"segments": None}])
def test_recipe_without_segments_has_the_identifier_of_before(nothing: dict[str, None]) -> None:
    recipe = published(**nothing)
    assert "segments" not in recipe.document
    assert recipe.identifier == "3aa07cc24dd85130cef53256433b8b20ea263da5d6b85c1778e61dd54b3f4998"


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ([], f"1 to {MOST_SEGMENTS} texts, not 0"),
        ([str(number) for number in range(21)], "1 to 20 texts, not 21"),
        ("2.0", "a list of texts"),
        ({"2.0": 1}, "a list of texts"),
        (True, "a list of texts"),
        (["2.0", "2.0 "], "stands twice"),
        (["2.0", 2.1], "one line of 1 to 60 characters each"),
        (["2.0", " "], "one line of 1 to 60"),
        (["2.0", "x" * (SEGMENT_LENGTH + 1)], "1 to 60 characters each"),
        (["2.0", "x" * 10_000], "1 to 60 characters each"),
        (["2.0", "2.1\n"], "one line"),
        (["2.0", "\x1b[2J"], "one line"),
        (["2.0", "\u202e1.2"], "one line"),
    ],
)
def test_impossible_segments_are_refused_in_drafts_and_documents(value: object, said: str) -> None:
    document = published(segments=VERSIONS).document | {"segments": value}
    for read, members in ((RecipeDraft.from_mapping, CRASHES | {"segments": value}),
                          (PublishedRecipe.from_document, document)):  # fmt: skip
        with pytest.raises(FieldError, match=said) as refused:
            read(members)
        assert refused.value.field == "segments"
        assert len(str(refused.value)) < 300


def test_null_is_refused_in_a_signed_document() -> None:
    with pytest.raises(FieldError, match="list of texts"):
        PublishedRecipe.from_document(published().document | {"segments": None})


def test_too_many_cells_are_refused_where_the_recipe_is_read() -> None:
    with pytest.raises(FieldError, match="at most 1,001 are counted") as refused:
        drafted(statistic="histogram", k=1_000, segments=["2.0", "2.1"])
    assert refused.value.field == "segments"


@pytest.mark.parametrize("name", sorted(STATISTICS))
def test_statistics_that_cannot_be_asked_by_segment_say_which_can(name: str) -> None:
    statistic = STATISTICS[name]
    allowed = name in ("count_nonzero", "histogram")
    assert ("segments" in draft_fields(statistic, trusts_of(statistic)[0])) == allowed
    if not allowed:
        with pytest.raises(FieldError, match="but count_nonzero and histogram can") as refused:
            drafted(statistic=name, segments=VERSIONS)
        assert refused.value.field == "segments"
