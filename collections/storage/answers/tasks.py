"""Tasks that answer questions, and the periodic one that deletes old answers."""

from celery import shared_task

from storage.answers.computation import answer_stored, old_answers_delete
from storage.answers.kinds import Lane
from storage.periodic import PeriodicTask


# Not sent again when a worker dies: the question is, once its lease is over and someone still asks.
@shared_task(acks_late=False, soft_time_limit=Lane.LONG.seconds)
def answer_question(key: str) -> None:
    """Answer a question that may take minutes; safe to run twice."""
    answer_stored(key=key)


@shared_task(acks_late=False, soft_time_limit=Lane.PREVIEWS.seconds)
def answer_preview(key: str) -> None:
    """Answer a question that someone waits for; safe to run twice."""
    answer_stored(key=key)


@shared_task(acks_late=False, soft_time_limit=Lane.QUICK_PLANS.seconds)
def answer_quick_plan(key: str) -> None:
    """Answer what of a plan is quick; safe to run twice."""
    answer_stored(key=key)


@shared_task(acks_late=False, soft_time_limit=Lane.PLANS.seconds)
def answer_plan(key: str) -> None:
    """Answer a plan that may take minutes; safe to run twice."""
    answer_stored(key=key)


@shared_task(base=PeriodicTask)
def delete_old_answers() -> None:
    """Delete answers that are old or too many. Safe to run at any time, even twice."""
    old_answers_delete()
