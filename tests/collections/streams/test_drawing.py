"""The estimate is drawn once, in the place of the state: whatever crashes, there is no second one."""

import secrets
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone

from log.audit.models import Entry
from panprivacy.encryption.sealing import SealBrokenError
from panprivacy.formats.errors import FieldError
from panprivacy.statistics.intervals.estimate import Estimate
from panprivacy.statistics.streams import STREAM_STATISTICS
from panprivacy.statistics.streams.density import Density
from panprivacy.statistics.streams.state import StreamState
from publishing import publication
from publishing.publication import recipe_close
from recipes.errors import RecipeStateError
from recipes.models import Recipe
from results import operations as release_operations
from results.models import Release
from results.operations import result_release, result_withhold
from storage.key_slots import KeySlots
from streams.errors import IntrusionRefusedError, NotEstimatedError, StreamClosedError, StreamLostError
from streams.models import EndedStream, ItemBatch, Stream, StreamSample
from streams.operations import (
    estimate_draw,
    intrusion_announce,
    old_keys_erase,
    stream_estimate,
    stream_forget,
)
from streams.sealed_state import estimate_unseal, key_slots, state_unseal
from streams.selectors import intrusions_of, seen_bytes
from tests.collections.streams.scene import (
    CRASHES,
    CrashError,
    crash,
    crashing,
    crashing_at,
    fold,
    in_database,
    in_files,
    is_committed_at,
    keys_on_disk,
    opens,
    stream_of,
)
from tests.concurrency import in_thread
from tests.driving import collections_advance, rests_end
from tests.factories import published_stream
from tests.patience import PATIENCE
from tests.statistic_members import small_members

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def closed() -> Recipe:
    recipe = published_stream(statistic="density", t=None, universe_size=40, table_size=40)
    fold(recipe, ["1", "2"])
    return recipe_close(recipe=recipe, actor=None)


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Estimate]:
    """Every estimate that was drawn, each with a value that nothing else has.

    From 1 to 2, where JSON writes numbers as Python does: below 1e-4 it would not.
    """
    estimates: list[Estimate] = []
    estimate = Density.estimate

    def noting(statistic: Density, state: StreamState, random_source: Random) -> Estimate:
        value = 1 + secrets.SystemRandom().random()
        made = replace(estimate(statistic, state, random_source), values=(value,), details={"set_size": 7})
        estimates.append(made)
        return made

    monkeypatch.setattr(Density, "estimate", noting)
    return estimates


def estimate_of(recipe: Recipe) -> Estimate | None:
    return stream_estimate(identifier=recipe.identifier)


NUMBERS = (
    *("values", "standard_errors", "standard_error_note", "projection"),
    *("error_bounds", "confidence", "details"),
)


def numbers_of(source: Release | Estimate) -> dict[str, Any]:
    values = {name: getattr(source, name) for name in NUMBERS}
    return {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}


def test_release_that_crashed_is_repeated_with_exactly_the_same_numbers(
    closed: Recipe, drawn: list[Estimate], monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[dict[str, Any]] = []
    save = Release.save

    def noting(release: Release, **named: Any) -> None:
        written.append(numbers_of(release))
        save(release, **named)

    monkeypatch.setattr(Release, "save", noting)
    with monkeypatch.context() as patched:
        patched.setattr(release_operations, "recipe_entry_append", crash)
        for _ in range(2):
            with pytest.raises(CrashError):
                result_release(recipe=closed)
    assert not Release.objects.exists()
    collections_advance()
    (estimate,) = drawn
    assert [*written, numbers_of(Release.objects.get())] == [numbers_of(estimate)] * 4


def test_two_workers_that_release_at_the_same_time_have_one_estimate(
    closed: Recipe, drawn: list[Estimate], caplog: pytest.LogCaptureFixture
) -> None:
    for thread in [in_thread(collections_advance) for _ in range(4)]:
        thread.join(PATIENCE)
    assert [tuple(Release.objects.get().values)] == [estimate.values for estimate in drawn]
    assert "recipe_not_advanced" not in caplog.text


def test_estimate_is_nowhere_in_plain_until_it_is_released(
    closed: Recipe, drawn: list[Estimate], monkeypatch: pytest.MonkeyPatch
) -> None:
    with crashing_at("after the row is saved"):
        estimate_draw(identifier=closed.identifier)
    estimate_draw(identifier=closed.identifier)
    values = [repr(estimate.values[0]).encode() for estimate in drawn]
    assert len(values) == 2
    assert [(in_files(value), in_database(value)) for value in values] == [(set(), set())] * 2
    result_release(recipe=closed)
    # The search finds what is there.
    first, second = values
    assert in_database(second) == {"releases_release", "releases_signedresult"}
    assert in_files(second) or connection.vendor != "sqlite"  # PostgreSQL's files are not ours
    assert (in_files(first), in_database(first)) == (set(), set())


def test_impossible_estimate_is_not_tried_again(closed: Recipe, monkeypatch: pytest.MonkeyPatch) -> None:
    tries = []

    def overflowing(*_: object) -> None:
        tries.append(1)
        raise OverflowError

    monkeypatch.setattr(Density, "estimate", overflowing)
    with crashing(release_operations, "recipe_entry_append"):
        result_release(recipe=closed)
    collections_advance()
    release = Release.objects.get()
    assert (release.outcome, release.cause) == (Release.Outcome.WITHHELD, Release.Cause.INCOMPUTABLE)
    assert len(tries) == 1
    assert not Stream.objects.exists()


@pytest.mark.parametrize("is_drawn", [False, True])
def test_missing_key_holds_up_the_release_until_it_is_back(
    closed: Recipe, drawn: list[Estimate], caplog: pytest.LogCaptureFixture, is_drawn: bool
) -> None:
    path = key_slots(stream_of(closed).id).path
    elsewhere = path.with_suffix(".elsewhere")
    if is_drawn:
        estimate_draw(identifier=closed.identifier)
    path.rename(elsewhere)
    if is_drawn:
        with pytest.raises(StreamLostError, match="is not in"):
            estimate_of(closed)
    collections_advance()
    assert not Release.objects.exists()
    # One line, as the guide has it, and no traceback at every poll.
    (said,) = [record for record in caplog.records if record.levelname == "ERROR"]
    assert "stream_lost" in said.getMessage()
    assert said.exc_info is None
    assert "recipe_not_advanced" not in caplog.text
    elsewhere.rename(path)
    rests_end()
    collections_advance()
    assert [tuple(Release.objects.get().values)] == [estimate.values for estimate in drawn]


def test_result_withheld_after_the_drawing_is_nowhere(closed: Recipe, drawn: list[Estimate]) -> None:
    estimate_draw(identifier=closed.identifier)
    path = key_slots(stream_of(closed).id).path
    result_withhold(recipe=closed, reason="nobody wants it", actor=None)
    value = repr(drawn[0].values[0]).encode()
    assert (in_files(value), in_database(value)) == (set(), set())
    assert not Stream.objects.exists()
    assert not path.exists()


def test_after_the_drawing_there_is_no_state(closed: Recipe) -> None:
    before = stream_of(closed)
    assert opens(before)
    estimate_draw(identifier=closed.identifier)
    now = stream_of(closed)
    assert (bytes(now.state), now.version) == (b"", before.version + 1)
    assert keys_on_disk(now) == {now.version}
    assert not opens(before)


def test_later_drawings_change_nothing(closed: Recipe, drawn: list[Estimate]) -> None:
    estimate_draw(identifier=closed.identifier)
    first = estimate_of(closed)
    estimate_draw(identifier=closed.identifier)
    assert drawn == [first] == [estimate_of(closed)]
    stream_forget(identifier=closed.identifier)
    estimate_draw(identifier=closed.identifier)
    assert len(drawn) == 1
    assert not Stream.objects.exists()


@pytest.mark.parametrize("point", CRASHES)
def test_drawing_that_was_committed_before_a_crash_is_not_repeated(
    point: str, closed: Recipe, drawn: list[Estimate], monkeypatch: pytest.MonkeyPatch
) -> None:
    is_drawn = is_committed_at(point)
    before = stream_of(closed)
    with crashing_at(point):
        estimate_draw(identifier=closed.identifier)
    assert (stream_of(closed).estimate is not None) == is_drawn
    assert keys_on_disk(before) <= {before.version, before.version + 1}
    estimate_draw(identifier=closed.identifier)
    assert len(drawn) == (1 if is_drawn else 2)
    assert estimate_of(closed) == drawn[-1]
    assert keys_on_disk(before) == {before.version + 1}, "also of the state whose key a crash left"
    assert not opens(before)


@pytest.mark.parametrize("point", CRASHES)
def test_what_a_crashed_drawing_leaves_readable_upkeep_erases(
    point: str, closed: Recipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_drawn = is_committed_at(point)
    before = stream_of(closed)
    with crashing_at(point):
        estimate_draw(identifier=closed.identifier)
    old_keys_erase()
    assert keys_on_disk(before) == {before.version + int(is_drawn)}
    assert opens(before) == (not is_drawn)


def test_neither_state_nor_estimate_is_read_as_the_other(closed: Recipe) -> None:
    stream = stream_of(closed)
    stream.estimate = stream.state
    with pytest.raises(SealBrokenError):
        estimate_unseal(stream)
    estimate_draw(identifier=closed.identifier)
    stream = stream_of(closed)
    stream.state = stream.estimate
    with pytest.raises(SealBrokenError):
        state_unseal(stream)


def test_only_a_closed_stream_is_estimated_and_only_once_drawn() -> None:
    recipe = published_stream()
    collections_advance()
    assert not Release.objects.exists()
    with pytest.raises(StreamClosedError, match="no more items"):
        estimate_draw(identifier=recipe.identifier)
    recipe_close(recipe=recipe, actor=None)
    with pytest.raises(NotEstimatedError):
        estimate_of(recipe)


def test_a_drawing_inside_of_another_transaction_is_refused(closed: Recipe) -> None:
    # Its rollback would bring back a state whose key is gone.
    with pytest.raises(RuntimeError, match="durable"), transaction.atomic():
        estimate_draw(identifier=closed.identifier)


def test_after_the_drawing_no_state_is_seen_or_changed() -> None:
    recipe = published_stream()
    nonce = fold(recipe, ["3"])
    recipe_close(recipe=recipe, actor=None)
    estimate_draw(identifier=recipe.identifier)
    fold(recipe, ["3"], nonce)  # acknowledged: it is in the estimate
    with pytest.raises(StreamClosedError):
        fold(recipe, ["3"])
    with pytest.raises(IntrusionRefusedError, match="closed"):
        intrusion_announce(identifier=recipe.identifier, actor=None, reason="File 7", now=timezone.now())


def nothing_is_left() -> bool:
    return not any(model.objects.exists() for model in (Stream, StreamSample, ItemBatch, EndedStream))


@pytest.mark.parametrize("statistic", STREAM_STATISTICS)
def test_every_statistic_goes_the_whole_way_and_leaves_nothing_else(statistic: str) -> None:
    needed = small_members(
        STREAM_STATISTICS[statistic], epsilon=0.5, delta=1e-6, universe_size=10, table_size=10
    )
    recipe = published_stream(statistic=statistic, **{"t": None, **needed})
    fold(recipe, ["1", "2", "1"])
    seen = intrusion_announce(identifier=recipe.identifier, actor=None, reason="File 7", now=timezone.now())
    fold(recipe, ["3"])
    recipe_close(recipe=recipe, actor=None)
    slots = key_slots(stream_of(recipe).id)
    collections_advance()
    release = Release.objects.get()
    assert (release.outcome, release.reports) == (Release.Outcome.RELEASED, None)
    assert len(release.values) == len(release.projection) == len(release.error_bounds)
    assert release.confidence == 0.95
    assert release.guarantees[0]["model"] == "pan"
    assert release.guarantees[0]["announced_intrusions"] == 1
    assert Entry.objects.filter(action="result_released", subject=recipe.identifier).exists()
    assert nothing_is_left()
    assert not slots.path.exists()
    assert list(intrusions_of(recipe.identifier)) == [seen]
    assert seen_bytes(seen) is not None


def test_keys_that_a_crash_left_are_deleted_later(closed: Recipe, monkeypatch: pytest.MonkeyPatch) -> None:
    slots = key_slots(stream_of(closed).id)

    with crashing(KeySlots, "delete"):
        result_release(recipe=closed)
    assert Release.objects.exists()
    assert slots.path.exists()
    old_keys_erase()
    assert not slots.path.exists()
    assert nothing_is_left()


def test_a_result_whose_key_is_gone_for_good_can_be_withheld(closed: Recipe) -> None:
    key_slots(stream_of(closed).id).delete()
    result_withhold(recipe=closed, reason="the key is lost", actor=None)
    assert Release.objects.get().reason == "the key is lost"
    assert nothing_is_left()


def test_a_list_is_not_stored_and_must_be_there_to_publish() -> None:
    with pytest.raises(FieldError, match="items: can be listed only if there is a list"):
        published_stream(items="listed")
    with pytest.raises(FieldError, match="universe: must list 10 items, not 2"):
        published_stream(items="listed", universe=["a", "b"])
    assert not Recipe.objects.exists()
    assert nothing_is_left()


def test_a_recipe_that_is_not_published_leaves_no_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(**named: object) -> None:
        raise RecipeStateError("no")

    monkeypatch.setattr(publication, "recipe_entry_append", fail)
    with pytest.raises(RecipeStateError):
        published_stream()
    assert nothing_is_left()
