"""Segments of a recipe: through files and documents, and refused where they cannot be."""

import pytest

from panprivacy.formats.errors import FieldError
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.recipe.file_fields import draft_fields
from panprivacy.recipe.parts.interface import Subject
from panprivacy.statistics.catalogue import STATISTICS
from panprivacy.statistics.events import SEGMENTED
from panprivacy.statistics.segments import MOST_SEGMENTS, SEGMENT_LENGTH
from panprivacy.statistics.trust_models import TRUST_MODELS, trusts_of
from tests.panprivacy.recipe.scene import COUNT, drafted, published
from tests.refusals import field_refused

VERSIONS = ["2.0 (control)", "2.1 <b>"]


def test_segments_are_signed_and_read_back_in_their_order() -> None:
    recipe = published(segments=VERSIONS)
    assert recipe.document["segments"] == VERSIONS
    assert PublishedRecipe.from_document(recipe.document) == recipe
    assert recipe.calibrated_statistic.labels == ("at least one event",)
    assert published(segments=VERSIONS[::-1]).identifier != recipe.identifier
    draft = drafted(segments=VERSIONS)
    assert RecipeDraft.from_mapping(draft.as_dict()) == draft


def test_recipe_without_segments_keeps_its_identifier() -> None:
    recipe = published()
    assert "segments" not in recipe.document
    assert recipe.identifier == "3aa07cc24dd85130cef53256433b8b20ea263da5d6b85c1778e61dd54b3f4998"
    assert published(segments=None) == recipe
    with pytest.raises(FieldError, match="list of texts"):
        PublishedRecipe.from_document(recipe.document | {"segments": None})


def test_document_with_more_segments_than_its_statistic_takes_is_refused() -> None:
    recipe = published(statistic="histogram", k=3, segments=VERSIONS)
    too_many = recipe.document | {"segments": [str(number) for number in range(20)], "k": 1_000}
    with field_refused("segments", match="too many"):
        PublishedRecipe.from_document(too_many)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ([], f"1 to {MOST_SEGMENTS} texts, not 0"),
        ([str(number) for number in range(21)], "1 to 20 texts, not 21"),
        ("2.0", "a list of texts"),
        ({"2.0": 1}, "a list of texts"),
        (True, "a list of texts"),
        (["2.0", "2.0 "], "is repeated"),
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
    for read, members in ((RecipeDraft.from_mapping, COUNT | {"segments": value}),
                          (PublishedRecipe.from_document, document)):  # fmt: skip
        with pytest.raises(FieldError, match=said) as refused:
            read(members)
        assert refused.value.field == "segments"
        assert len(str(refused.value)) < 300


def test_too_many_cells_are_refused_where_the_recipe_is_read() -> None:
    with field_refused("segments", match="at most 1,001 are counted"):
        drafted(statistic="histogram", k=1_000, segments=["2.0", "2.1"])


@pytest.mark.parametrize("name", sorted(STATISTICS))
def test_statistics_that_cannot_be_asked_by_segment_say_which_can(name: str) -> None:
    statistic = STATISTICS[name]
    allowed = name in SEGMENTED
    assert ("segments" in draft_fields(Subject(statistic, TRUST_MODELS[trusts_of(statistic)[0]]))) == allowed
    if not allowed:
        with field_refused("segments", match="but count_nonzero, histogram, .* and automaton can"):
            drafted(statistic=name, segments=VERSIONS)
