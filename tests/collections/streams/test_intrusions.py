import pytest
from django.utils import timezone

from audit.models import Action, Entry
from audit.selectors import entries_of_recipe
from panprivacy.streams.state import StreamState
from recipes.models import Recipe
from recipes.operations import recipe_close
from streams.errors import IntrusionRefusedError
from streams.models import AnnouncedIntrusion
from streams.operations import intrusion_announce
from streams.selectors import intrusions_left, intrusions_of, seen_state, state_layout
from tests.collections.streams.scene import fold, keys_on_disk, opens, state_of, stream_of
from tests.factories import published_stream
from tests.scenes import analyst

pytestmark = pytest.mark.django_db


def announce(recipe: Recipe, actor: object = None) -> AnnouncedIntrusion:
    return intrusion_announce(identifier=recipe.identifier, actor=actor, now=timezone.now())


def equal(one: StreamState, other: StreamState) -> bool:
    return one.to_bytes() == other.to_bytes()


def test_what_is_seen_is_the_state_as_it_was_and_what_goes_on_is_another() -> None:
    recipe = published_stream(universe_size=1_000, table_size=1_000)
    fold(recipe, ["3"])
    before = state_of(recipe)
    intrusion = announce(recipe)
    assert equal(seen_state(intrusion), before)
    after = state_of(recipe)
    assert after.announced_intrusions == 1
    # 1,000 counters that start anew below a million: the same again with probability 10^-6000.
    assert (after.arrays["counters"] != before.arrays["counters"]).any()


def test_the_state_that_was_seen_is_the_only_earlier_one_that_can_be_read(
    django_capture_on_commit_callbacks: object,
) -> None:
    recipe = published_stream()
    fold(recipe, ["3"])
    copy = stream_of(recipe)
    with django_capture_on_commit_callbacks(execute=True):  # type: ignore[operator]
        announce(recipe)
    assert not opens(copy)
    assert keys_on_disk(stream_of(recipe)) == {stream_of(recipe).version}


def test_items_go_on_being_counted_after_an_intrusion() -> None:
    recipe = published_stream()
    announce(recipe)
    start = state_of(recipe)
    fold(recipe, ["3"])
    assert int(state_of(recipe).arrays["counters"][3]) == (int(start.arrays["counters"][3]) + 1) % 1_000_000


def test_more_intrusions_than_the_recipe_allows_are_refused_and_change_nothing() -> None:
    recipe = published_stream(announced_intrusions=2)
    assert [announce(recipe).number for _ in range(2)] == [1, 2]
    assert intrusions_left(recipe.published) == 0
    before = stream_of(recipe)
    with pytest.raises(IntrusionRefusedError, match="allows 2"):
        announce(recipe)
    assert bytes(stream_of(recipe).state) == bytes(before.state)
    assert intrusions_of(recipe.identifier).count() == 2


def test_a_recipe_that_allows_none_has_none() -> None:
    recipe = published_stream(announced_intrusions=0)
    with pytest.raises(IntrusionRefusedError, match="allows 0"):
        announce(recipe)


def test_a_closed_recipe_is_not_looked_into() -> None:
    recipe = published_stream()
    recipe_close(recipe=recipe, actor=None)
    with pytest.raises(IntrusionRefusedError, match="closed"):
        announce(recipe)


def test_the_log_tells_who_looked_and_the_public_that_somebody_did() -> None:
    recipe = published_stream()
    announce(recipe, analyst())
    entry = Entry.objects.get(action=Action.INTRUSION_ANNOUNCED)
    assert (entry.subject, entry.actor) == (recipe.identifier, "ana")
    assert entry.details == {"number": 1, "allowed": 1}
    assert Action.INTRUSION_ANNOUNCED in {line.action for line in entries_of_recipe(recipe.identifier)}


def test_layout_of_a_state_is_that_of_the_live_one() -> None:
    recipe = published_stream()
    live = state_of(recipe).arrays
    layout = {array.name: (array.kind, array.shape) for array in state_layout(recipe.published)}
    assert layout == {name: (array.dtype.name, array.shape) for name, array in live.items()}
