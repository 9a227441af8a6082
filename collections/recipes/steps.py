"""When something is to be done for an unfinished recipe.

Each has a row with the time of its next step. Whatever may let it go on marks the row as due, in the
transaction that stores it: a closing, a finished chunk, a batch that arrived. The periodic poll is one
question to an index: which rows are due. Each gets a task of its own (`results.tasks`).

A step that finds nothing to do sets the time at which to try again, at most `LONGEST_REST` later. So a mark
that is lost delays a recipe and does not stop it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Case, F, Q, QuerySet, Value, When

from recipes.models import NextStep, Recipe
from storage import clock
from storage.turns import LEASE, UNQUEUED, row_turn, rows_claim
from storage.waits import wait_after

LONGEST_REST = timedelta(minutes=10)
"""Between two steps of a recipe that nothing marks."""

FIRST_PAUSE = timedelta(seconds=2)
"""Until a step that failed is tried again. It doubles with every failure, up to `LONGEST_REST`."""

LOST_AFTER = timedelta(seconds=30)
"""Time after which the first message of a step is taken for lost: longer than a thousand steps take."""

MOST_AT_ONCE = 1_000
"""Recipes that one poll hands out; the next one continues."""


@dataclass
class Turn:
    """One run of a recipe's step.

    Attributes:
        rest_until: when to take the next step, unless something marks it before; set by the run.
        failed: whether to try again after a pause that grows instead; set by the run.
    """

    rest_until: datetime
    failed: bool = False


def step_begin(*, recipe: Recipe) -> None:
    """Have the first step taken; call it in the transaction that publishes the recipe."""
    NextStep.objects.create(recipe=recipe, due_at=clock.database_now())


def step_due(*, recipe: Recipe | int | str) -> None:
    """Have the recipe's next step taken at the next poll. Call it in the transaction that stores what lets it
    go on. A finished recipe has no step.

    Args:
        recipe: it, its key or its identifier.
    """
    by = "recipe__identifier" if isinstance(recipe, str) else "recipe"
    _make_due(NextStep.objects.filter(**{by: recipe}))


def step_due_unless_locked(*, recipe: Recipe) -> None:
    """The same for what comes often: it waits for no other transaction, and does not cut the pause after a
    step that failed. A mark that is lost delays the recipe by `LONGEST_REST` at most."""
    # A step that runs counts as failed until it ends.
    healthy = NextStep.objects.filter(Q(failures=0) | Q(failures=1, runner__isnull=False), recipe=recipe)
    with transaction.atomic():
        free = list(healthy.select_for_update(skip_locked=True).values_list("pk", flat=True))
        _make_due(NextStep.objects.filter(pk__in=free))


def _make_due(rows: QuerySet[NextStep]) -> None:
    now = clock.database_now()
    # A step that runs may have missed what is stored here. The row is written even if it is due already: a
    # step that begins waits until this transaction has committed, and sees it.
    later = When(Q(due_at__gt=now) | Q(runner__isnull=False), then=Value(now))
    rows.update(due_at=Case(later, default=F("due_at")))


def step_end(*, recipe: Recipe) -> None:
    """No step is left; call it in the transaction that stores the result."""
    NextStep.objects.filter(recipe=recipe).delete()


def steps_claim(*, only: Recipe | None = None) -> dict[str, str]:
    """Recipes whose next step is due and neither waits nor runs: identifier → claim, which the message of its
    task must carry. They wait from this moment on.

    Args:
        only: ask for this recipe alone.
    """
    now = clock.database_now()
    due = _due(now) if only is None else _due(now).filter(recipe=only)
    claim, claimed = rows_claim(
        due.order_by("due_at"), now, first=LOST_AFTER, longest=LONGEST_REST, most=MOST_AT_ONCE
    )
    if not claimed:
        return {}
    identifiers = Recipe.objects.filter(pk__in=claimed).order_by("pk").values_list("identifier", flat=True)
    return {str(identifier): str(claim) for identifier in identifiers}


def steps_unclaim(*, claims: dict[str, str]) -> None:
    """These could not be sent, so they do not wait."""
    NextStep.objects.filter(recipe__identifier__in=claims, queued__in=set(claims.values())).update(**UNQUEUED)


@contextmanager
def step_turn(*, recipe: int, claim: str | None = None) -> Iterator[Turn | None]:
    """Take the recipe's step within the block if it yields a turn: then no other worker does.

    What marks the recipe during the block makes it due again. If the worker is killed, it is due after its
    lease.

    Args:
        recipe: its key.
        claim: of the message; None for one that was sent without a claim, which counts unless a step runs.
    """
    now = clock.database_now()
    row = NextStep.objects.filter(recipe=recipe)
    failures = row.values_list("failures", flat=True).first() or 0
    pause = wait_after(failures, first=FIRST_PAUSE, longest=LONGEST_REST)
    believed = now + LEASE + (pause if failures else timedelta(0))
    # It counts as failed until it has ended, so that a worker that dies of it each time does so ever more
    # rarely.
    begun = {"due_at": believed, "failures": failures + 1}
    with row_turn(row, name=f"step of recipe {recipe}", claim=claim, **begun) as runner:
        if runner is None:
            yield None
            return
        turn = Turn(rest_until=now + LONGEST_REST)
        yield turn
        until = clock.database_now() + pause if turn.failed else turn.rest_until
        # A mark that came meanwhile is earlier, and stays.
        unmarked = When(due_at=believed, then=until)
        row.filter(runner=runner).update(
            due_at=Case(unmarked, default=F("due_at")), failures=failures + 1 if turn.failed else 0
        )


def _due(now: datetime) -> QuerySet[NextStep]:
    # One that is further off than any can be comes from a clock that was set back.
    return NextStep.objects.filter(Q(due_at__lte=now) | Q(due_at__gt=now + 2 * LONGEST_REST))
