from typing import Any

import pytest
from django.db.models import QuerySet
from django.utils import timezone

from log.audit.models import Entry
from log.audit.selectors import entries_of_recipe
from panprivacy.formats.errors import FieldError
from recipes.models import Recipe
from streams import operations
from streams.errors import IntrusionRefusedError
from streams.models import AnnouncedIntrusion, SeenState
from streams.operations import intrusion_announce
from streams.selectors import intrusions_left, intrusions_of, seen_bytes, state_layout
from tests.collections.streams.scene import counted, fold, keys_on_disk, opens, state_of, stream_of
from tests.factories import published_stream
from tests.scenes import analyst

pytestmark = pytest.mark.django_db


def announce(recipe: Recipe, actor: object = None) -> AnnouncedIntrusion:
    return intrusion_announce(identifier=recipe.identifier, actor=actor, reason="File 7", now=timezone.now())


def test_what_is_seen_is_the_state_as_it_was_and_what_goes_on_is_another() -> None:
    recipe = published_stream(universe_size=1_000, table_size=1_000)
    fold(recipe, ["3"])
    before = state_of(recipe)
    intrusion = announce(recipe)
    assert seen_bytes(intrusion) == before.to_bytes()
    after = state_of(recipe)
    assert after.announced_intrusions == 1
    # 1,000 counters that start anew below a million: the same again with probability 10^-6000.
    assert (after.arrays["counters"] != before.arrays["counters"]).any()
    fold(recipe, ["3"])
    assert counted(recipe, after)[:5] == [0, 0, 0, 1, 0]


def test_seen_state_is_the_only_earlier_one_that_is_readable(django_capture_on_commit_callbacks: Any) -> None:
    recipe = published_stream()
    fold(recipe, ["3"])
    copy = stream_of(recipe)
    with django_capture_on_commit_callbacks(execute=True):
        announce(recipe)
    assert not opens(copy)
    assert keys_on_disk(stream_of(recipe)) == {stream_of(recipe).version}


@pytest.mark.parametrize("allowed", [0, 2])
def test_more_intrusions_than_the_recipe_allows_are_refused(allowed: int) -> None:
    recipe = published_stream(announced_intrusions=allowed)
    assert [announce(recipe).number for _ in range(allowed)] == [*range(1, allowed + 1)]
    assert intrusions_left(recipe.published) == 0
    before = stream_of(recipe)
    with pytest.raises(IntrusionRefusedError, match=f"allows {allowed}"):
        announce(recipe)
    assert bytes(stream_of(recipe).state) == bytes(before.state)
    assert intrusions_of(recipe.identifier).count() == allowed


def test_an_intrusion_without_a_reason_of_one_line_is_refused() -> None:
    recipe = published_stream()
    for reason in ("", " ", "a\x00b", "x" * 201):
        with pytest.raises(FieldError, match="reason"):
            intrusion_announce(identifier=recipe.identifier, actor=None, reason=reason, now=timezone.now())
    assert state_of(recipe).announced_intrusions == 0


def test_the_log_names_the_intruder_and_the_public_the_intrusion() -> None:
    recipe = published_stream()
    announce(recipe, analyst())
    entry = Entry.objects.get(action="intrusion_announced")
    assert (entry.subject, entry.actor) == (recipe.identifier, "ana")
    assert entry.details == {"number": 1, "allowed": 1, "reason": "File 7"}
    assert "intrusion_announced" in {line.action for line in entries_of_recipe(recipe.identifier)}


def test_layout_of_a_state_is_that_of_the_live_one() -> None:
    recipe = published_stream()
    live = state_of(recipe).arrays
    layout = {array.name: (array.kind, array.shape) for array in state_layout(recipe.published)}
    assert layout == {name: (array.dtype.name, array.shape) for name, array in live.items()}


@pytest.mark.django_db(transaction=True)
def test_announcement_that_comes_to_nothing_never_writes_what_it_saw(monkeypatch: pytest.MonkeyPatch) -> None:
    # A database keeps rows of transactions that were rolled back: what was seen may not be among them.
    recipe = published_stream()
    fold(recipe, ["3"])
    before = state_of(recipe).to_bytes()
    written: list[object] = []
    create = QuerySet.create

    def noting(rows: QuerySet, **named: object) -> object:
        written.extend(named.values())
        return create(rows, **named)

    def crash(**named: object) -> None:
        raise ConnectionError

    monkeypatch.setattr(QuerySet, "create", noting)
    with monkeypatch.context() as patched:
        patched.setattr(operations, "entry_append", crash)
        with pytest.raises(ConnectionError):
            announce(recipe)
    assert written
    assert before not in written
    assert state_of(recipe).to_bytes() == before
    assert not intrusions_of(recipe.identifier)
    announce(recipe)
    assert before in written


def test_what_was_seen_and_lost_by_a_crash_counts_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = published_stream()
    with monkeypatch.context() as patched:
        patched.setattr(SeenState.objects, "create", lambda **named: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            announce(recipe)
    (intrusion,) = intrusions_of(recipe.identifier)
    assert seen_bytes(intrusion) is None
    assert state_of(recipe).announced_intrusions == 1
