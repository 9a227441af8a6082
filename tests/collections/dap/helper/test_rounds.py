"""Rounds of a recipe at the helper: each is checked against the document of all of them, and taken once."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone

from dap.helper.models import RoundTask
from dap.helper.rounds import REPLACED
from dap.models import BatchBucket, Side, Task
from dap.operations import task_named
from panprivacy.recipe.parts.round import RoundPlace
from panprivacy.recipe.rounds.document import PublishedRounds
from panprivacy.recipe.rounds.draft import RoundsDraft
from partners.client import PeerRefusedError
from tests.collections.dap.helper.test_registrations import Publication
from tests.factories import recipe_members

pytestmark = pytest.mark.django_db

ASKED = {"steps": 1, "step_seconds": 1, "cohort_size": 20, "sampling_rate": 0.2}
IN_ROUNDS = {"rounds": 3, "round_seconds": 60}


def rounds_of(**changes: Any) -> tuple[RoundsDraft, PublishedRounds]:
    draft = RoundsDraft.from_mapping(recipe_members(trust="two_server", **ASKED, **(IN_ROUNDS | changes)))
    return draft, PublishedRounds.of(draft, series="0" * 16)


class RoundPublication(Publication):
    """A round on its way to be published, with keys and a time of its own."""

    def __init__(self, number: int = 1, *, asked: Callable[..., Any] = rounds_of, **changes: Any) -> None:
        super().__init__(**ASKED)
        draft, self.document = asked(**changes)
        place = RoundPlace(of=self.document.identifier, number=number)
        now = timezone.now().replace(microsecond=0)
        self.recipe = draft.round(place, now).publish(self.servers, now)

    def register(self, **changes: Any) -> bytes:
        return super().register(**{"rounds": self.document.canonical, **changes})

    @property
    def task(self) -> Task:
        task = task_named(task_id=self.task_id, side=Side.HELPER)
        assert task is not None
        return task


def test_each_round_of_a_document_is_registered_and_signed() -> None:
    for number in (1, 2, 3):
        publication = RoundPublication(number)
        signature = publication.register()
        assert publication.register() == signature  # sent again
    assert RoundTask.objects.count() == 3


OTHER = PublishedRounds.of(rounds_of()[0], series="1" * 16)
REORDERED = json.dumps(rounds_of()[1].document, indent=1).encode()


@pytest.mark.parametrize(
    ("rounds", "why"),
    [
        *((bad, "must be the document of all rounds") for bad in (b"", b"[]", b"{", b"[" * 100_000)),
        (b"{}", "is missing"),
        (OTHER.canonical, "that the recipe names"),
        (REORDERED, "canonical"),
    ],
)
def test_round_with_another_document_than_its_own_is_refused(rounds: bytes, why: str) -> None:
    refusal = RoundPublication().refused(rounds=rounds)
    assert refusal.startswith("rounds: ")
    assert why in refusal


def test_recipe_that_is_no_round_has_no_document_of_rounds() -> None:
    assert "must be left out" in Publication(**ASKED).refused(rounds=OTHER.canonical)


def test_round_beyond_the_last_or_with_other_parameters_is_refused() -> None:
    assert "there are 3 rounds" in RoundPublication(4).refused()

    def with_another_epsilon(**changes: Any) -> tuple[RoundsDraft, PublishedRounds]:
        draft, _ = rounds_of(epsilon=3.0)
        return draft, rounds_of()[1]

    assert "is not that of every round" in RoundPublication(asked=with_another_epsilon).refused()


def test_document_that_states_too_little_for_all_rounds_is_refused() -> None:
    draft, stated = rounds_of(rounds=20)
    few = rounds_of()[1]

    def understated(**changes: Any) -> tuple[RoundsDraft, PublishedRounds]:
        members = {**stated.document, "privacy": few.document["privacy"]}
        return draft, PublishedRounds.from_document(members)

    assert "does not state that all rounds together cost" in RoundPublication(asked=understated).refused()


def test_round_registered_anew_ends_the_task_that_was_never_published() -> None:
    first, second = RoundPublication(), RoundPublication()
    first.register()
    second.register()
    assert (first.task.state, first.task.outcome) == (Task.State.ENDED, REPLACED)
    assert RoundTask.objects.get().task == second.task
    with pytest.raises(PeerRefusedError, match="The task has ended"):
        first.register()


def test_second_recipe_of_a_round_with_reports_is_refused() -> None:
    first, second = RoundPublication(), RoundPublication()
    first.register()
    # As if the helper had verified and added up a report.
    bucket = {"identifier": bytes(16), "aggregate_share": b"", "report_count": 1, "checksum": bytes(32)}
    BatchBucket.objects.create(task=first.task, **bucket)
    with pytest.raises(PeerRefusedError, match="Round 1 was registered as another recipe") as refusal:
        second.register()
    assert refusal.value.status == 409
    assert task_named(task_id=second.task_id, side=Side.HELPER) is None
    assert first.task.state == Task.State.OPEN
