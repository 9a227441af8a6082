"""The estimate is drawn once, in the place of the state: whatever crashes, there is no second one."""

import secrets
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone

from panprivacy.encryption.sealing import SealBrokenError
from panprivacy.estimate import Estimate
from panprivacy.streams.density import Density
from panprivacy.streams.state import StreamState
from recipes.models import Recipe
from releases import operations as release_operations
from releases.models import Release
from releases.operations import collections_advance, result_release, result_withhold
from streams.errors import IntrusionRefusedError, NotEstimatedError, StreamClosedError, StreamLostError
from streams.models import Stream
from streams.operations import (
    estimate_draw,
    intrusion_announce,
    old_keys_erase,
    stream_estimate,
    stream_forget,
)
from streams.sealed_state import estimate_unseal, key_slots, state_unseal
from tests.collections.streams.crashes import CRASHES, CrashError, crash
from tests.collections.streams.scene import fold, in_thread, keys_on_disk, opens, stream_of
from tests.collections.streams.search import in_database, in_files
from tests.factories import published_stream
from tests.patience import PATIENCE
from trust_models.publishing import recipe_close

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


def numbers_of(release: Release) -> tuple[Any, ...]:
    return (
        release.values,
        release.standard_errors,
        release.standard_error_note,
        release.projection,
        release.error_bounds,
        release.confidence,
        release.details,
    )


def estimate_of(recipe: Recipe) -> Estimate | None:
    return stream_estimate(identifier=recipe.identifier)


# The release


def test_release_that_crashed_is_repeated_with_exactly_the_same_numbers(
    closed: Recipe, drawn: list[Estimate], monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[tuple[Any, ...]] = []
    save = Release.save

    def noting(release: Release, **named: Any) -> None:
        written.append(numbers_of(release))
        save(release, **named)

    monkeypatch.setattr(Release, "save", noting)
    with monkeypatch.context() as patched:
        patched.setattr(release_operations, "entry_append", crash)
        for _ in range(2):
            with pytest.raises(CrashError):
                result_release(recipe=closed)
    assert not Release.objects.exists()
    collections_advance()
    release = Release.objects.get()
    assert len(written) == 3
    assert written == [numbers_of(release)] * 3
    assert [tuple(release.values)] == [estimate.values for estimate in drawn], "drawn once"


def test_released_numbers_are_those_that_were_drawn(closed: Recipe, drawn: list[Estimate]) -> None:
    result_release(recipe=closed)
    (estimate,) = drawn
    release = Release.objects.get()
    assert tuple(release.values) == estimate.values
    assert tuple(release.error_bounds) == estimate.error_bounds
    assert tuple(release.projection) == estimate.projection
    assert release.confidence == estimate.confidence
    assert release.standard_error_note == estimate.standard_error_note
    assert release.details == estimate.details


def test_two_workers_that_release_at_the_same_time_have_one_estimate(
    closed: Recipe, drawn: list[Estimate], caplog: pytest.LogCaptureFixture
) -> None:
    for thread in [in_thread(collections_advance) for _ in range(4)]:
        thread.join(PATIENCE)
    assert [tuple(Release.objects.get().values)] == [estimate.values for estimate in drawn]
    assert "recipe_not_advanced" not in caplog.text


def test_estimate_stands_nowhere_in_plain_before_the_attempt_to_release_it(
    closed: Recipe, drawn: list[Estimate], monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, name, replacement, _ = CRASHES["after the row is saved"]
    with monkeypatch.context() as patched:
        patched.setattr(owner, name, replacement)
        with pytest.raises(CrashError):
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


def test_where_no_estimate_can_be_computed_nobody_tries_again(
    closed: Recipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries = []

    def overflowing(*_: object) -> None:
        tries.append(1)
        raise OverflowError

    monkeypatch.setattr(Density, "estimate", overflowing)
    with monkeypatch.context() as patched:
        patched.setattr(release_operations, "entry_append", crash)
        with pytest.raises(CrashError):
            result_release(recipe=closed)
    collections_advance()
    release = Release.objects.get()
    assert (release.outcome, release.cause) == (Release.Outcome.WITHHELD, Release.Cause.INCOMPUTABLE)
    assert len(tries) == 1
    assert not Stream.objects.exists()


def test_missing_key_of_the_estimate_holds_up_the_release_until_it_is_back(
    closed: Recipe, drawn: list[Estimate], caplog: pytest.LogCaptureFixture
) -> None:
    estimate_draw(identifier=closed.identifier)
    path = key_slots(stream_of(closed).id).path
    elsewhere = path.with_suffix(".elsewhere")
    path.rename(elsewhere)
    with pytest.raises(StreamLostError, match="is not in"):
        estimate_of(closed)
    collections_advance()
    assert not Release.objects.exists()
    assert "stream_lost" in caplog.text
    assert "recipe_not_advanced" not in caplog.text
    elsewhere.rename(path)
    collections_advance()
    assert [tuple(Release.objects.get().values)] == [estimate.values for estimate in drawn]


def test_result_that_is_withheld_after_the_drawing_is_told_nowhere(
    closed: Recipe, drawn: list[Estimate]
) -> None:
    estimate_draw(identifier=closed.identifier)
    path = key_slots(stream_of(closed).id).path
    result_withhold(recipe=closed, reason="nobody wants it", actor=None)
    value = repr(drawn[0].values[0]).encode()
    assert (in_files(value), in_database(value)) == (set(), set())
    assert not Stream.objects.exists()
    assert not path.exists()


# The drawing


def test_after_the_drawing_there_is_no_state_any_more(closed: Recipe) -> None:
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
def test_whichever_point_a_drawing_crashes_at_what_was_committed_is_not_drawn_again(
    point: str, closed: Recipe, drawn: list[Estimate], monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, name, replacement, is_drawn = CRASHES[point]
    before = stream_of(closed)
    with monkeypatch.context() as patched:
        patched.setattr(owner, name, replacement)
        with pytest.raises(CrashError):
            estimate_draw(identifier=closed.identifier)
    assert (stream_of(closed).estimate is not None) == is_drawn
    assert keys_on_disk(before) <= {before.version, before.version + 1}
    estimate_draw(identifier=closed.identifier)
    assert len(drawn) == (1 if is_drawn else 2)
    assert estimate_of(closed) == drawn[-1]
    assert keys_on_disk(before) == {before.version + 1}, "also of the state whose key a crash left"
    assert not opens(before)


@pytest.mark.parametrize("point", CRASHES)
def test_what_a_crashed_drawing_leaves_readable_besides_upkeep_erases(
    point: str, closed: Recipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, name, replacement, is_drawn = CRASHES[point]
    before = stream_of(closed)
    with monkeypatch.context() as patched:
        patched.setattr(owner, name, replacement)
        with pytest.raises(CrashError):
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
    with pytest.raises(StreamClosedError, match="no more items"):
        estimate_draw(identifier=recipe.identifier)
    recipe_close(recipe=recipe, actor=None)
    with pytest.raises(NotEstimatedError):
        estimate_of(recipe)


def test_a_drawing_inside_of_another_transaction_is_refused(closed: Recipe) -> None:
    # Its rollback would bring back a state whose key is gone.
    with pytest.raises(RuntimeError, match="durable"), transaction.atomic():
        estimate_draw(identifier=closed.identifier)


def test_after_the_drawing_nobody_looks_at_a_state_or_adds_to_it() -> None:
    recipe = published_stream()
    nonce = fold(recipe, ["3"])
    recipe_close(recipe=recipe, actor=None)
    estimate_draw(identifier=recipe.identifier)
    fold(recipe, ["3"], nonce)  # acknowledged: it is in the estimate
    with pytest.raises(StreamClosedError):
        fold(recipe, ["3"])
    with pytest.raises(IntrusionRefusedError, match="closed"):
        intrusion_announce(identifier=recipe.identifier, actor=None, reason="File 7", now=timezone.now())
