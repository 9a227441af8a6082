"""What a recipe guarantees: computed once by a worker, and what publishing then finds."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from pages.awaited_numbers import Awaited
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.recipe.rounds.draft import RoundsDraft
from panprivacy.recipe.rounds.privacy import rounds_guarantees
from panprivacy.statistics.trust_models import under_trust
from recipes.planner import guarantees
from recipes.planner.guarantees import NotComputedError, guaranteed, guarantees_require
from storage.answers.models import Question
from storage.answers.questions import State
from tests.collections.recipes.planner.scene import own_caches
from tests.collections.storage.answers.scene import work, workers_answer
from tests.factories import recipe_members
from tests.refusals import field_refused

pytestmark = pytest.mark.django_db

CATEGORIES = {"statistic": "categories", "steps": None, "k": 3, "epsilon": 1.0, "cohort_size": 20}
DAY = 86_400


@pytest.fixture(autouse=True)
def numbers_of_this_test(settings: Any) -> None:
    own_caches(settings, "composed")


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    return workers_answer(monkeypatch)


def one(**changes: Any) -> RecipeDraft:
    return RecipeDraft.from_mapping(recipe_members(**{**CATEGORIES, "sampling_rate": 0.5, **changes}))


def in_rounds(**changes: Any) -> RoundsDraft:
    asked = {"steps": 1, "cohort_size": 6, "sampling_rate": 0.25, "rounds": 3, "round_seconds": 2 * DAY}
    return RoundsDraft.from_mapping(recipe_members(**{**asked, **changes}))


ASKED: dict[str, Callable[[], Any]] = {
    "categories": one,
    "every device": lambda: one(sampling_rate=1.0),
    "segments": lambda: one(segments=["one's own", "another"], statistic="histogram", steps=2),
    "dummies": lambda: one(
        statistic="count_nonzero",
        k=None,
        steps=2,
        hidden_count={"epsilon": 1.0, "delta": 1e-6},
        population_size=500,
    ),
    "a relay": lambda: one(
        statistic="rare_categories",
        sampling_rate=None,
        participation="relayed",
        devices=1_000,
        counted_devices=100,
        rare_share=0.1,
        admission="token",
        relay=True,
    ),
    "rounds": in_rounds,
    "rounds, every device": lambda: in_rounds(sampling_rate=None),
    "donation": lambda: in_rounds(rounds=None, donation_rounds=3, sampling_rate=None),
    "rounds of noise": lambda: in_rounds(
        statistic="mean", k=2, guarantee="aggregator", epsilon=1.0, steps=2, round_seconds=3 * DAY
    ),
}


@pytest.mark.parametrize("name", ASKED)
def test_worker_answers_with_the_guarantees_of_the_draft(name: str, sent: list[str]) -> None:
    draft = ASKED[name]()
    assert guaranteed(asked=draft) is State.COMPUTING
    work(sent)
    found = guarantees_require(asked=draft)
    if isinstance(draft, RoundsDraft):
        stated = rounds_guarantees(draft.statistic, draft.rounds, once=draft.once)
        assert found.guarantees == under_trust(stated, draft.recipe.trust)
        assert (found.donation is not None) is draft.once
    else:
        assert found.guarantees == under_trust(draft.calibrated.guarantees(), draft.trust)
    found.require_kept()
    assert sent == []


@pytest.mark.parametrize("made", [one, in_rounds])
def test_promise_that_is_not_kept_is_found_once_with_what_would_keep_it(
    made: Callable[..., Any], sent: list[str]
) -> None:
    asked = made(aggregator_epsilon=0.3)
    assert guaranteed(asked=asked) is State.COMPUTING
    work(sent)
    for _ in range(2):
        with field_refused("aggregator_epsilon", match=r"0.3 is not met: .*would do"):
            guarantees_require(asked=asked).require_kept()
    assert sent == []


def test_nothing_is_computed_in_a_request(sent: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for draft in (one(), in_rounds()):
        with monkeypatch.context() as patched:
            for kind in (RecipeDraft, RoundsDraft):
                patched.setattr(kind, "prepare", lambda _: pytest.fail("computed in a request"))
            assert guaranteed(asked=draft) is State.COMPUTING
            with pytest.raises(NotComputedError, match="try again in some seconds"):
                guarantees_require(asked=draft)


def test_questions_hold_no_more_than_the_guarantees_depend_on(sent: list[str]) -> None:
    secret = {"name": "the name", "question": "the question?", "labels": ["a", "b", "the label"]}
    guaranteed(asked=one(**secret, population="the-pilots", opens_at="2031-01-31T12:00:00Z"))
    told = Question.objects.get().content
    assert "the" not in told
    assert "2031" not in told
    work(sent)
    guarantees_require(asked=one(name="another name"))
    assert sent == [], "another name changes no number"


def test_guarantees_of_other_content_are_never_used(sent: list[str]) -> None:
    guaranteed(asked=one())
    work(sent)
    guarantees_require(asked=one())
    changes: list[dict[str, Any]] = [
        {"epsilon": 1.0 + 1e-15},
        {"cohort_size": 21},
        {"k": 4},
        {"sampling_rate": 0.25},
        {"segments": ["a", "b"], "statistic": "histogram", "steps": 2},
    ]
    for changed in changes:
        with pytest.raises(NotComputedError):
            guarantees_require(asked=one(**changed))


def test_every_state_has_its_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    for state in set(State) - {State.COMPLETE}:
        monkeypatch.setattr(guarantees, "guaranteed", lambda *, asked, state=state: state)
        with pytest.raises(NotComputedError) as said:
            guarantees_require(asked=one())
        for sentence in (f"{said.value}.", Awaited(state).sentence):
            assert re.fullmatch(r"[A-Za-z][^_]{20,}[.?]", sentence)
