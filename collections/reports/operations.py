"""Taking in reports: each counts once, whatever is sent twice and whatever crashes."""

import threading
from collections.abc import Sequence
from contextlib import nullcontext

from django.conf import settings
from django.utils import timezone

from panprivacy.accounting.trust import Trust
from recipes.models import Recipe
from reports.models import RejectionCount
from reports.objects import ReportObjects
from reports.parsing import ReportRejectedError, WellFormedReport, duplicate_nonce, read_report
from reports.proven_rows import ProvenRows
from reports.rows import ReportRows
from reports.store import RecipeNotOpenError, Rejection, ReportStore, Submission, is_in_objects

REPORT_STORES: tuple[type[ReportStore], ...] = (ReportRows, ReportObjects, ProvenRows)

_TURN = threading.Lock()
"""Held by the batch that is being read. Each check of a ciphertext lets go of the interpreter for 5 µs, and
on free cores another thread takes it. Without the lock, switching threads costs more than the checks."""


def report_store_of(recipe: Recipe) -> ReportStore:
    """The store of a published recipe's reports."""
    if recipe.trust == Trust.JOINT_KEY:
        return ProvenRows(recipe)
    return ReportObjects(recipe) if is_in_objects(recipe) else ReportRows(recipe)


def report_store_set(recipe: Recipe) -> ReportStore:
    """The store that the settings ask for, of a recipe that is being published whose devices report here.

    A private simulation is kept in rows, which go when it is deleted.
    """
    return ReportObjects(recipe) if settings.OBJECT_STORE and not recipe.private else ReportRows(recipe)


def reports_submit(*, recipe: Recipe, reports: Sequence[object]) -> list[Rejection]:
    """Take in the good reports of a batch; give for each other one the reason for its rejection.

    The expensive checks run before the transaction, so that it is short.

    Args:
        recipe: as read from the database at any time since it was published; whether it is open is read
            again inside.
        reports: plain values from the request's body, unchecked.

    Returns:
        The rejections, by index; every report without one is stored for good.

    Raises:
        RecipeNotOpenError: nothing was stored or counted.
        QueueFullError: the same; too many others wait.
        RowHeldError: the same; another transaction holds the recipe's row for too long.
        StoreDownError: the same; the object store does not answer, or is not the recipe's.
    """
    if not recipe.accepts_reports(timezone.now()):
        raise RecipeNotOpenError
    store = report_store_of(recipe)
    store.require()
    with _TURN if len(reports) > 1 else nullcontext():
        submission = submission_read(store, reports)
    return store.submit(submission, len(reports))


def submission_read(store: ReportStore, reports: Sequence[object]) -> Submission:
    """Check reports for the store of their recipe."""
    bad: list[Rejection] = []
    good: dict[bytes, tuple[int, WellFormedReport]] = {}
    for index, content in enumerate(reports):
        try:
            report = read_report(content, store.recipe.published)
            if report.nonce in good:
                raise duplicate_nonce()
        except ReportRejectedError as error:
            bad.append(Rejection(index, error.reason, str(error)))
        else:
            good[report.nonce] = (index, report)
    digests = {nonce: store.digest(report) for nonce, (_, report) in good.items()}
    return Submission(store.recipe, good, digests, bad)


def rejections_by_reason(recipe: Recipe) -> dict[str, int]:
    """Reason → number of reports that were rejected on arrival."""
    return dict(
        RejectionCount.objects.filter(recipe=recipe).order_by("reason").values_list("reason", "count")
    )
