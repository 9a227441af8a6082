import pytest
from django.utils import timezone

from audit.models import Entry
from panprivacy.errors import FieldError
from panprivacy.streams import STREAM_STATISTICS
from recipes.errors import RecipeStateError
from recipes.models import Recipe
from releases.models import Release
from releases.operations import collections_advance, result_release, result_withhold
from storage.key_slots import KeySlots
from streams.errors import NotEstimatedError
from streams.models import EndedStream, ItemBatch, Stream, StreamSample
from streams.operations import intrusion_announce, old_keys_erase, stream_estimate
from streams.sealed_state import key_slots
from streams.selectors import intrusions_of, seen_bytes
from tests.collections.streams.crashes import CrashError, crash
from tests.collections.streams.scene import fold, stream_of
from tests.factories import published_stream
from tests.statistic_members import small_members
from trust_models import publishing
from trust_models.publishing import recipe_close

pytestmark = pytest.mark.django_db(transaction=True)


def nothing_is_left() -> bool:
    return not any(model.objects.exists() for model in (Stream, StreamSample, ItemBatch, EndedStream))


@pytest.fixture
def closed() -> Recipe:
    recipe = published_stream(statistic="density", t=None, universe_size=4, table_size=4)
    fold(recipe, ["1", "2"])
    return recipe_close(recipe=recipe, actor=None)


def test_closing_is_followed_by_the_release_and_nothing_else_is_kept(closed: Recipe) -> None:
    slots = key_slots(stream_of(closed).id)
    collections_advance()
    release = Release.objects.get(recipe=closed)
    assert release.outcome == Release.Outcome.RELEASED
    assert release.reports is None
    assert len(release.values) == len(release.error_bounds) == 1
    assert release.confidence == 0.95
    assert 0 <= release.projection[0] <= 1
    assert release.guarantees[0]["model"] == "pan"
    assert nothing_is_left()
    assert not slots.path.exists()
    assert Entry.objects.filter(action="result_released", subject=closed.identifier).exists()


@pytest.mark.parametrize("statistic", STREAM_STATISTICS)
def test_every_statistic_goes_the_whole_way(statistic: str) -> None:
    needed = small_members(
        STREAM_STATISTICS[statistic], epsilon=0.5, delta=1e-6, universe_size=10, table_size=10
    )
    recipe = published_stream(statistic=statistic, **{"t": None, **needed})
    fold(recipe, ["1", "2", "1"])
    intrusion_announce(identifier=recipe.identifier, actor=None, reason="File 7", now=timezone.now())
    fold(recipe, ["3"])
    recipe_close(recipe=recipe, actor=None)
    collections_advance()
    release = Release.objects.get()
    assert len(release.values) == len(release.projection) == len(release.error_bounds)
    assert release.guarantees[0]["announced_intrusions"] == 1
    assert nothing_is_left()


def test_an_open_recipe_is_not_estimated() -> None:
    recipe = published_stream()
    collections_advance()
    assert not Release.objects.exists()
    with pytest.raises(NotEstimatedError):
        stream_estimate(identifier=recipe.identifier)


def test_what_was_seen_at_an_intrusion_stays_when_the_stream_is_gone() -> None:
    recipe = published_stream()
    seen = intrusion_announce(identifier=recipe.identifier, actor=None, reason="File 7", now=timezone.now())
    recipe_close(recipe=recipe, actor=None)
    collections_advance()
    (kept,) = intrusions_of(recipe.identifier)
    assert kept == seen
    assert seen_bytes(kept) is not None
    assert nothing_is_left()


def test_keys_that_a_crash_left_after_the_release_are_deleted_by_upkeep(
    closed: Recipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    slots = key_slots(stream_of(closed).id)

    with monkeypatch.context() as patched:
        patched.setattr(KeySlots, "delete", crash)
        with pytest.raises(CrashError):
            result_release(recipe=closed)
    assert Release.objects.exists()
    assert slots.path.exists()
    old_keys_erase()
    assert not slots.path.exists()
    assert nothing_is_left()


def test_a_missing_key_holds_up_the_release_until_it_is_back(
    closed: Recipe, caplog: pytest.LogCaptureFixture
) -> None:
    path = key_slots(stream_of(closed).id).path
    elsewhere = path.with_suffix(".elsewhere")
    path.rename(elsewhere)
    collections_advance()
    assert not Release.objects.exists()
    # One line, as the guide has it, and no traceback at every look.
    (said,) = [record for record in caplog.records if record.levelname == "ERROR"]
    assert "stream_lost" in said.getMessage()
    assert said.exc_info is None
    assert "recipe_not_advanced" not in caplog.text
    elsewhere.rename(path)
    collections_advance()
    assert Release.objects.get().outcome == Release.Outcome.RELEASED


def test_a_result_whose_key_is_gone_for_good_can_be_withheld(closed: Recipe) -> None:
    key_slots(stream_of(closed).id).delete()
    result_withhold(recipe=closed, reason="the key is lost", actor=None)
    assert Release.objects.get().reason == "the key is lost"
    assert nothing_is_left()


def test_a_list_is_not_stored_and_must_be_there_to_publish() -> None:
    with pytest.raises(FieldError, match="items: can be listed only where there is a list"):
        published_stream(items="listed")
    with pytest.raises(FieldError, match="universe: must list 10 items, not 2"):
        published_stream(items="listed", universe=["a", "b"])
    assert not Recipe.objects.exists()
    assert nothing_is_left()


def test_a_recipe_that_is_not_published_leaves_no_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(**named: object) -> None:
        raise RecipeStateError("no")

    monkeypatch.setattr(publishing, "entry_append", fail)
    with pytest.raises(RecipeStateError):
        published_stream()
    assert nothing_is_left()
