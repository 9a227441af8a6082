"""A batch counts once: whatever is repeated, comes at the same time, or crashes."""

import secrets
import threading
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone

from panprivacy.encryption.sealing import SealBrokenError
from panprivacy.errors import FieldError
from panprivacy.streams.item_bytes import ItemError
from recipes.models import Recipe
from storage.key_slots import KeySlots, KeysNotErasedError
from streams import operations
from streams.errors import StreamClosedError, StreamLostError
from streams.models import ItemBatch, Stream
from streams.operations import items_fold, old_keys_erase, stream_forget
from streams.sealed_state import key_slots
from tests.collections.streams.crashes import CRASHES, CrashError, crash
from tests.collections.streams.scene import (
    counted,
    fold,
    in_thread,
    keys_on_disk,
    opens,
    state_of,
    stream_of,
)
from tests.factories import published_stream
from tests.patience import PATIENCE
from trust_models.publishing import recipe_close


@pytest.mark.django_db(transaction=True)
def test_a_state_too_large_to_be_rewritten_for_every_batch_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(operations, "LARGEST_STATE", 1_000)
    published_stream(universe_size=900, table_size=900, statistic="density", t=None)
    with pytest.raises(FieldError, match=r"at most about 9\d\d with these parameters") as refused:
        published_stream(universe_size=2_000, table_size=2_000, statistic="density", t=None)
    assert refused.value.field == "table_size"
    assert (Stream.objects.count(), Recipe.objects.count()) == (1, 1)


@pytest.mark.django_db
def test_every_item_of_a_batch_is_counted() -> None:
    recipe = published_stream()
    start = state_of(recipe)
    fold(recipe, ["3", "4", "3"])
    fold(recipe, ["4"])
    assert counted(recipe, start) == [0, 0, 0, 2, 2, 0, 0, 0, 0, 0]


@pytest.mark.django_db
def test_an_empty_batch_is_one_that_counts_nothing() -> None:
    recipe = published_stream()
    start = state_of(recipe)
    fold(recipe, [])
    assert counted(recipe, start) == [0] * 10
    assert ItemBatch.objects.count() == 1


@pytest.mark.django_db
def test_a_batch_that_is_sent_again_counts_once_whatever_it_holds_the_second_time() -> None:
    recipe = published_stream()
    start = state_of(recipe)
    nonce = fold(recipe, ["3"])
    fold(recipe, ["5"], nonce)
    assert counted(recipe, start)[3:6] == [1, 0, 0]


@pytest.mark.django_db
def test_a_batch_that_was_counted_is_acknowledged_again_after_the_closing() -> None:
    recipe = published_stream()
    nonce = fold(recipe, ["3"])
    recipe_close(recipe=recipe, actor=None)
    fold(recipe, ["3"], nonce)
    with pytest.raises(StreamClosedError):
        fold(recipe, ["3"])


@pytest.mark.django_db
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


@pytest.mark.django_db
def test_a_batch_with_one_bad_item_counts_nothing_and_the_error_does_not_quote_it() -> None:
    recipe = published_stream()
    start = state_of(recipe)
    nonce = secrets.token_bytes(16)
    with pytest.raises(ItemError) as refusal:
        fold(recipe, ["3", "N123"], nonce)
    assert refusal.value.index == 1
    assert "N123" not in str(refusal.value)
    fold(recipe, ["3"], nonce)
    assert counted(recipe, start)[3] == 1


@pytest.mark.django_db
def test_listed_items_are_those_of_the_list() -> None:
    recipe = published_stream(
        items="listed", universe=["x", "y", "ß"], universe_size=3, table_size=3, statistic="cropped_mean"
    )
    start = state_of(recipe)
    fold(recipe, ["ß", "z", "ß", "x"])
    assert sorted(counted(recipe, start)) == [0, 1, 2]


@pytest.mark.django_db(transaction=True)
def test_states_before_the_last_batch_cannot_be_opened_any_more() -> None:
    recipe = published_stream()
    copies = [stream_of(recipe)]
    for _ in range(3):
        fold(recipe, ["1"])
        copies.append(stream_of(recipe))
    assert [opens(copy) for copy in copies] == [False, False, False, True]
    assert len({bytes(copy.state) for copy in copies}) == 4


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("point", CRASHES)
def test_whichever_point_it_crashes_at_a_batch_sent_again_counts_once(
    point: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, name, replacement, is_counted = CRASHES[point]
    recipe = published_stream()
    start = state_of(recipe)
    fold(recipe, ["3"])
    nonce = secrets.token_bytes(16)
    with monkeypatch.context() as patched:
        patched.setattr(owner, name, replacement)
        with pytest.raises(CrashError):
            fold(recipe, ["4"], nonce)
    assert counted(recipe, start)[3:5] == [1, int(is_counted)]
    assert len(keys_on_disk(stream_of(recipe))) <= 2
    fold(recipe, ["4"], nonce)
    assert counted(recipe, start)[3:5] == [1, 1]
    fold(recipe, ["5"])
    assert counted(recipe, start)[3:6] == [1, 1, 1]
    assert keys_on_disk(stream_of(recipe)) == {stream_of(recipe).version}


@pytest.mark.django_db(transaction=True)
def test_key_that_a_crash_left_is_written_over_only_once_the_version_after_it_is_on_the_disk(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    recipe = published_stream()
    with monkeypatch.context() as patched:
        patched.setattr(operations, "sync_committed", crash)
        with pytest.raises(CrashError):
            fold(recipe, ["4"])
    assert len(keys_on_disk(stream_of(recipe))) == 2
    order: list[str] = []
    sync, write = operations.sync_committed, KeySlots.write

    def noting_sync() -> None:
        order.append("synchronized")
        sync()

    def noting_write(slots: KeySlots, version: int, key: bytes) -> None:
        order.append("key written")
        write(slots, version, key)

    monkeypatch.setattr(operations, "sync_committed", noting_sync)
    monkeypatch.setattr(KeySlots, "write", noting_write)
    fold(recipe, ["5"])
    assert order[:2] == ["synchronized", "key written"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("point", CRASHES)
def test_what_a_crash_leaves_readable_besides_upkeep_erases(
    point: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, name, replacement, _ = CRASHES[point]
    recipe = published_stream()
    before = stream_of(recipe)
    with monkeypatch.context() as patched:
        patched.setattr(owner, name, replacement)
        with pytest.raises(CrashError):
            fold(recipe, ["4"])
    old_keys_erase()
    now = stream_of(recipe)
    assert keys_on_disk(now) == {now.version}
    assert opens(now)
    assert opens(before) == (before.version == now.version)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("ended", [False, True])
def test_upkeep_that_meets_a_broken_file_erases_all_others_and_fails(
    ended: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    broken, left, gone = (published_stream(name=name) for name in ("broken", "left", "gone"))
    paths = {recipe: key_slots(stream_of(recipe).id).path for recipe in (broken, left, gone)}
    with monkeypatch.context() as crashing:
        crashing.setattr(operations, "sync_committed", crash)
        with pytest.raises(CrashError):
            fold(left, ["4"])
        for recipe in [broken, gone] if ended else [gone]:
            with pytest.raises(CrashError):
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


@pytest.mark.django_db(transaction=True)
def test_upkeep_that_meets_a_fold_in_progress_leaves_both_its_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = published_stream()
    start = state_of(recipe)
    written, may_commit = threading.Event(), threading.Event()
    save = Stream.save

    def slow_save(stream: Stream, **named: Any) -> None:
        written.set()
        assert may_commit.wait(PATIENCE)
        save(stream, **named)

    monkeypatch.setattr(Stream, "save", slow_save)
    threads = [in_thread(lambda: fold(recipe, ["1"]))]
    assert written.wait(PATIENCE)
    assert len(keys_on_disk(stream_of(recipe))) == 2
    threads.append(in_thread(old_keys_erase))
    threads[1].join(0.3)
    may_commit.set()
    for thread in threads:
        thread.join(PATIENCE)
    assert counted(recipe, start)[1] == 1


@pytest.mark.django_db(transaction=True)
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


@pytest.mark.django_db(transaction=True)
def test_closing_waits_for_a_fold_that_has_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = published_stream()
    start = state_of(recipe)
    folding, may_finish = threading.Event(), threading.Event()
    unseal = operations.state_unseal

    def slow_unseal(stream: Stream) -> Any:
        folding.set()
        assert may_finish.wait(PATIENCE)
        return unseal(stream)

    monkeypatch.setattr(operations, "state_unseal", slow_unseal)
    first = in_thread(lambda: fold(recipe, ["1"]))
    assert folding.wait(PATIENCE)
    second = in_thread(lambda: recipe_close(recipe=recipe, actor=None))
    second.join(0.5)
    assert stream_of(recipe).is_open, "closing must wait"
    may_finish.set()
    first.join(PATIENCE)
    second.join(PATIENCE)
    assert not stream_of(recipe).is_open
    assert counted(recipe, start)[1] == 1


@pytest.mark.django_db(transaction=True)
def test_a_fold_inside_of_another_transaction_is_refused() -> None:
    # Its rollback would bring back a state whose key is gone.
    recipe = published_stream()
    with pytest.raises(RuntimeError, match="durable"), transaction.atomic():
        fold(recipe, ["1"])


@pytest.mark.django_db
def test_without_its_key_a_state_is_lost_and_nothing_is_counted() -> None:
    recipe = published_stream()
    key_slots(stream_of(recipe).id).delete()
    with pytest.raises(StreamLostError, match="is not in"):
        fold(recipe, ["1"])
    assert not ItemBatch.objects.exists()


@pytest.mark.django_db
def test_a_state_cannot_be_put_into_another_streams_row() -> None:
    first, second = published_stream(name="One"), published_stream(name="Two")
    key = key_slots(stream_of(first).id).read(1)
    key_slots(stream_of(second).id).write(1, key)
    Stream.objects.filter(identifier=second.identifier).update(state=stream_of(first).state)
    with pytest.raises(SealBrokenError):
        fold(second, ["1"])


@pytest.mark.django_db
def test_nothing_tells_how_many_items_came_or_when() -> None:
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
