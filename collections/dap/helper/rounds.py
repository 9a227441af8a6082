"""Recipes in rounds: the helper checks a round as the leader and devices do, and takes part in each once."""

import json
from datetime import datetime

from django.db import transaction

from dap.helper.models import RoundTask
from dap.helper.task_ends import helper_task_end
from dap.models import Task
from dap.operations import task_lock
from dap.selectors import report_count
from panprivacy.formats.errors import FieldError
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.recipe.parts.round import RoundPlace
from panprivacy.recipe.rounds.document import PublishedRounds, RoundRefusedError
from partners.problems import conflict, refused

REPLACED = "The leader registered the same round anew before a report was counted."


def round_require(*, recipe: PublishedRecipe, document: str) -> None:
    """Check a recipe against the document of all rounds. Takes seconds for the first round that names it.

    The document needs no signature here: the recipe names its hash, and the leader signed the request.

    Args:
        recipe: already checked on its own.
        document: canonical JSON of what its `round` names; empty if the recipe is no round.

    Raises:
        Problem: it differs from what every round asks, there are fewer rounds, or all of them together cost
            more than is stated.
    """
    place = recipe.round
    if place is None:
        if document:
            raise refused("rounds: must be left out: the recipe is no round.")
        return
    try:
        members = json.loads(document)
        if not isinstance(members, dict):
            raise refused("rounds: must be the document of all rounds.")
        rounds = PublishedRounds.from_document(members)
        if rounds.canonical != document.encode() or rounds.identifier != place.of:
            raise refused("rounds: must be the canonical document that the recipe names.")
        rounds.require_round(recipe)
        if not RoundTask.objects.filter(rounds=bytes.fromhex(place.of)).exists():
            rounds.require_promise()
    except (FieldError, RoundRefusedError) as error:
        raise refused(f"rounds: {error}.") from None
    except (ValueError, RecursionError):
        raise refused("rounds: must be the document of all rounds, as JSON.") from None


@transaction.atomic
def round_claim(*, place: RoundPlace, task: Task, now: datetime) -> None:
    """Let a task be this round, in the transaction that registers it. Idempotent.

    A leader that fails between asking us and publishing registers the round again, with other keys. Then the
    previous task ends, if it counted no report: so no two tasks of one round ever give out a share.

    Raises:
        Problem: another task of this round counted reports.
    """
    claim, _ = RoundTask.objects.select_for_update().get_or_create(
        rounds=bytes.fromhex(place.of), number=place.number, defaults={"task": task}
    )
    if claim.task_id == task.pk:
        return
    earlier = task_lock(task=claim.task)
    if report_count(earlier):
        raise conflict(f"Round {place.number:,} was registered as another recipe, and has reports.")
    helper_task_end(task=earlier, reason=REPLACED, now=now)
    claim.task = task
    claim.save(update_fields=["task"])
