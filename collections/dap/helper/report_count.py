"""The number of reports that is published, signed by the helper too.

The leader adds noise to the exact number, which both sides know, and draws it alone. So the helper signs what
its own count and the largest possible noise allow, one number for each task: two numbers would reveal more
about the exact one.
"""

from django.db import transaction

from dap.helper.models import SignedCount
from dap.models import Task
from dap.operations import task_hold_alive
from dap.selectors import is_any_collected, report_count
from panprivacy.accounting import noisy_count
from panprivacy.protocols.signed_count import ReleasedCount
from panprivacy.recipe.document import recipe_of
from partners.problems import refused
from storage.signing_key import signing_key
from web.problems import Problem

MOST_DIGITS = 18
"""Of a number of reports: what every database and JSON reader holds."""


def decode_count(text: str) -> int:
    """A number of reports as decimal digits. Raises Problem for anything else."""
    if not (text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS and text[0] != "0"):
        raise refused(f"reports: must be a number from 1, in at most {MOST_DIGITS} decimal digits.")
    return int(text)


@transaction.atomic
def count_sign(*, task: Task, reports: int) -> bytes:
    """Sign the number of reports of a recipe whose share was given out; 64 bytes, the same each time.

    Raises:
        Problem: we counted fewer, gave out no share, or signed another number; or the task is of no recipe.
        TaskEndedError: its counts are not for publishing any more.
    """
    task_hold_alive(task=task)
    if not task.document:
        raise refused("Only the number of reports of a recipe is signed.")
    if not is_any_collected(task):
        raise _refusal("The helper has given out no share of this task.")
    counted, recipe = report_count(task), recipe_of(task.document)
    if abs(reports - counted) > noisy_count.largest(recipe.calibrated_statistic.cohort_size):
        # Shown and logged: no number.
        raise _refusal("The helper counted another number of reports.")
    signed, _ = SignedCount.objects.get_or_create(task=task, defaults={"reports": reports})
    if signed.reports != reports:
        raise _refusal("The helper has signed another number of reports of this task.")
    return ReleasedCount(recipe.identifier, reports).sign(signing_key())


def _refusal(detail: str) -> Problem:
    return Problem("count-refused", "The number of reports is not signed", 409, detail)
