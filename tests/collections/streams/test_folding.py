"""A batch counts once: whatever is repeated, comes at the same time, or crashes."""

import secrets
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone

from panprivacy.encryption.sealing import SealBrokenError
from panprivacy.statistics.streams.item_bytes import ItemError
from publishing.publication import recipe_close
from recipes.models import Recipe
from storage.key_slots import KeySlots, KeysNotErasedError
from streams import operations
from streams.errors import StreamClosedError
from streams.models import ItemBatch, Stream
from streams.operations import items_fold, old_keys_erase, stream_forget
from streams.sealed_state import key_slots
from tests.collections.streams.scene import (
    CRASHES,
    counted,
    crashing,
    crashing_at,
    fold,
    is_committed_at,
    keys_on_disk,
    opens,
    state_of,
    stream_of,
)
from tests.concurrency import Pause, in_thread
from tests.factories import published_stream
from tests.patience import PATIENCE
from tests.refusals import field_refused

pytestmark = pytest.mark.django_db(transaction=True)


def test_state_too_large_to_be_rewritten_for_every_batch_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operations, "LARGEST_STATE", 1_000)
    published_stream(universe_size=900, table_size=900, statistic="density", t=None)
    with field_refused("table_size", r"at most about 9\d\d with these parameters"):
        published_stream(universe_size=2_000, table_size=2_000, statistic="density", t=None)
    assert (Stream.objects.count(), Recipe.objects.count()) == (1, 1)


def test_every_item_is_counted_and_a_batch_once() -> None:
    recipe = published_stream()
    start = state_of(recipe)
    nonce = fold(recipe, ["3", "4", "3"])
    fold(recipe, ["5"], nonce)
    fold(recipe, [])
    fold(recipe, ["4"])
    assert counted(recipe, start) == [0, 0, 0, 2, 2, 0, 0, 0, 0, 0]
    assert ItemBatch.objects.count() == 3


@pytest.mark.parametrize("simulation", [False, True])
def test_only_a_simulation_is_not_bound_by_its_times(simulation: bool) -> None:
    recipe = published_stream(simulation=simulation)
    late = recipe.closes_at + timedelta(seconds=1)
    arguments = {"identifier": recipe.identifier, "nonce": bytes(16), "items": ["1"], "now": late}
    if simulation:
        items_fold(**arguments)
    else:
        with pytest.raises(StreamClosedError):
            items_fold(**arguments)
        assert not ItemBatch.objects.exists()


def test_a_batch_with_a_bad_item_counts_nothing_and_is_not_quoted() -> None:
    recipe = published_stream()
    start = state_of(recipe)
    nonce = secrets.token_bytes(16)
    with pytest.raises(ItemError) as refusal:
        fold(recipe, ["3", "N123"], nonce)
    assert refusal.value.index == 1
    assert "N123" not in str(refusal.value)
    fold(recipe, ["3"], nonce)
    assert counted(recipe, start)[3] == 1


def test_listed_items_are_those_of_the_list() -> None:
    recipe = published_stream(
        items="listed", universe=["x", "y", "ß"], universe_size=3, table_size=3, statistic="cropped_mean"
    )
    start = state_of(recipe)
    fold(recipe, ["ß", "z", "ß", "x"])
    assert sorted(counted(recipe, start)) == [0, 1, 2]


def test_states_before_the_last_batch_cannot_be_opened() -> None:
    recipe = published_stream()
    copies = [stream_of(recipe)]
    for _ in range(3):
        fold(recipe, ["1"])
        copies.append(stream_of(recipe))
    assert [opens(copy) for copy in copies] == [False, False, False, True]
    assert len({bytes(copy.state) for copy in copies}) == 4


@pytest.mark.parametrize("point", CRASHES)
def test_batch_sent_again_after_any_crash_counts_once(point: str, monkeypatch: pytest.MonkeyPatch) -> None:
    is_counted = is_committed_at(point)
    recipe = published_stream()
    start = state_of(recipe)
    fold(recipe, ["3"])
    nonce = secrets.token_bytes(16)
    with crashing_at(point):
        fold(recipe, ["4"], nonce)
    assert counted(recipe, start)[3:5] == [1, int(is_counted)]
    assert len(keys_on_disk(stream_of(recipe))) <= 2
    fold(recipe, ["4"], nonce)
    assert counted(recipe, start)[3:5] == [1, 1]
    fold(recipe, ["5"])
    assert counted(recipe, start)[3:6] == [1, 1, 1]
    assert keys_on_disk(stream_of(recipe)) == {stream_of(recipe).version}


def test_key_that_a_crash_left_is_written_over_after_synchronizing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once the version after it is on the disk, and not before."""
    recipe = published_stream()
    with crashing(operations, "sync_committed"):
        fold(recipe, ["4"])
    assert len(keys_on_disk(stream_of(recipe))) == 2
    order: list[str] = []

    def noting(owner: Any, name: str) -> None:
        function = getattr(owner, name)
        monkeypatch.setattr(owner, name, lambda *given: (order.append(name), function(*given))[1])

    noting(operations, "sync_committed")
    noting(KeySlots, "write")
    fold(recipe, ["5"])
    assert order[:2] == ["sync_committed", "write"]


@pytest.mark.parametrize("point", CRASHES)
def test_what_a_crash_leaves_readable_upkeep_erases(point: str, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = published_stream()
    before = stream_of(recipe)
    with crashing_at(point):
        fold(recipe, ["4"])
    old_keys_erase()
    now = stream_of(recipe)
    assert keys_on_disk(now) == {now.version}
    assert opens(now)
    assert opens(before) == (before.version == now.version)


@pytest.mark.parametrize("ended", [False, True])
def test_upkeep_that_meets_a_broken_file_erases_all_others_and_fails(
    ended: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    broken, left, gone = (published_stream(name=name) for name in ("broken", "left", "gone"))
    paths = {recipe: key_slots(stream_of(recipe).id).path for recipe in (broken, left, gone)}
    with crashing(operations, "sync_committed"):
        fold(left, ["4"])
    for recipe in [broken, gone] if ended else [gone]:
        with crashing(operations, "sync_committed"):
            stream_forget(identifier=recipe.identifier)
    paths[broken].unlink()
    paths[broken].mkdir()
    with pytest.raises(KeysNotErasedError, match="1 of 3"):
        old_keys_erase()
    now = stream_of(left)
    assert keys_on_disk(now) == {now.version}
    assert not paths[gone].exists()
    assert f"'file': '{paths[broken].name}'" in caplog.text
    paths[broken].rmdir()
    old_keys_erase()


def test_upkeep_that_meets_a_fold_in_progress_leaves_both_its_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = published_stream()
    start = state_of(recipe)
    saving = Pause(monkeypatch, Stream, "save")
    threads = [in_thread(lambda: fold(recipe, ["1"]))]
    saving.reached()
    assert len(keys_on_disk(stream_of(recipe))) == 2
    threads.append(in_thread(old_keys_erase))
    threads[1].join(0.3)
    saving.go_on()
    for thread in threads:
        thread.join(PATIENCE)
    assert counted(recipe, start)[1] == 1


def test_batches_that_come_at_the_same_time_are_all_counted_each_once() -> None:
    recipe = published_stream()
    start = state_of(recipe)
    nonces = [secrets.token_bytes(16) for _ in range(12)]

    def send(order: list[bytes]) -> None:
        for nonce in order:
            fold(recipe, [str(nonces.index(nonce) % 3)], nonce)

    for thread in [in_thread(lambda order=order: send(order)) for order in (nonces, nonces[::-1], nonces)]:
        thread.join(PATIENCE)
    assert counted(recipe, start) == [4, 4, 4] + [0] * 7
    assert keys_on_disk(stream_of(recipe)) == {stream_of(recipe).version}


def test_closing_waits_for_a_fold_that_has_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = published_stream()
    start = state_of(recipe)
    unsealing = Pause(monkeypatch, operations, "state_unseal")
    first = in_thread(lambda: fold(recipe, ["1"]))
    unsealing.reached()
    second = in_thread(lambda: recipe_close(recipe=recipe, actor=None))
    second.join(0.5)
    assert stream_of(recipe).is_open, "closing must wait"
    unsealing.go_on()
    first.join(PATIENCE)
    second.join(PATIENCE)
    assert not stream_of(recipe).is_open
    assert counted(recipe, start)[1] == 1


def test_a_fold_inside_of_another_transaction_is_refused() -> None:
    # Its rollback would bring back a state whose key is gone.
    recipe = published_stream()
    with pytest.raises(RuntimeError, match="durable"), transaction.atomic():
        fold(recipe, ["1"])


def test_a_state_cannot_be_put_into_another_streams_row() -> None:
    first, second = published_stream(name="One"), published_stream(name="Two")
    key = key_slots(stream_of(first).id).read(1)
    key_slots(stream_of(second).id).write(1, key)
    Stream.objects.filter(identifier=second.identifier).update(state=stream_of(first).state)
    with pytest.raises(SealBrokenError):
        fold(second, ["1"])


def test_nothing_shows_how_many_items_came_or_when() -> None:
    recipe = published_stream()
    now = timezone.now()
    before = {field.name: getattr(stream_of(recipe), field.name) for field in Stream._meta.fields}
    items_fold(identifier=recipe.identifier, nonce=bytes(16), items=["1", "1", "2"], now=now)
    stream = stream_of(recipe)
    changed = {name for name, value in before.items() if getattr(stream, name) != value}
    assert changed == {"version", "state"}
    assert stream.version == before["version"] + 1
    assert len(stream.state) == len(before["state"])
    assert {field.column for field in ItemBatch._meta.concrete_fields} == {"stream_id", "nonce"}
