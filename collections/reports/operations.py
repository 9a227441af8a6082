"""Taking in reports: each counts once, whatever is sent twice and whatever crashes."""

import threading
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial

from django.db import connection, transaction
from django.utils import timezone

from recipes.models import Recipe
from recipes.selectors import recipe_accepts_reports
from reports.arrivals import arrivals_count
from reports.chunking import reports_per_chunk
from reports.copies import digest_of, digests_claim
from reports.models import RejectionCount, ReportNonce, ReportSegment, StoredReports
from reports.parsing import ReportRejectedError, WellFormedReport, read_report
from reports.segments import once_key, require_store, segmented_of, segments_write
from storage.claims import values_claim
from storage.group_commit import GroupCommit, RowHeldError, waits_bound

_TURN = threading.Lock()
"""Held by the batch that is being read. Each check of a ciphertext lets go of the interpreter for 5 µs, and
on free cores another thread takes it. Without the lock, switching threads costs more than the checks."""


class RecipeNotOpenError(ValueError):
    """The recipe accepts no reports at present."""


@dataclass(frozen=True)
class Rejection:
    """One report of a batch that was not taken in."""

    index: int
    reason: str
    detail: str


@dataclass(frozen=True)
class Submission:
    """Reports that were read, and are to be stored.

    Attributes:
        good: nonce → index and report.
        digests: nonce → keyed hash of the other value that counts once, in the order in which the reports
            came.
        bad: what was rejected when it was read.
    """

    recipe: Recipe
    good: Mapping[bytes, tuple[int, WellFormedReport]]
    digests: Mapping[bytes, bytes]
    bad: Sequence[Rejection]


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
    if not recipe_accepts_reports(recipe, timezone.now()):
        raise RecipeNotOpenError
    group = SUBMISSIONS
    if segmented_of(str(recipe.identifier)) is not None:
        # Here, not by the writer: reports of others would be refused with these.
        require_store(recipe)
        group = SEGMENTS
    with _TURN if len(reports) > 1 else nullcontext():
        submission = _read(recipe, reports)
    return group.submit(submission, len(reports))


def _read(recipe: Recipe, reports: Sequence[object]) -> Submission:
    bad: list[Rejection] = []
    good: dict[bytes, tuple[int, WellFormedReport]] = {}
    for index, content in enumerate(reports):
        try:
            report = read_report(content, recipe.published)
            if report.nonce in good:
                raise _duplicate()
        except ReportRejectedError as error:
            bad.append(Rejection(index, error.reason, str(error)))
        else:
            good[report.nonce] = (index, report)
    segmented = segmented_of(str(recipe.identifier))
    digest = digest_of if segmented is None else partial(once_key, segmented.key)
    digests = {nonce: digest(recipe, report) for nonce, (_, report) in good.items()}
    return Submission(recipe, good, digests, bad)


@transaction.atomic
def submissions_store(submissions: Sequence[Submission]) -> list[list[Rejection] | Exception]:
    """Store what is new of several submissions, of any recipes, in their order.

    Returns:
        For each the rejections, by index; or RecipeNotOpenError or RowHeldError, and nothing of it was stored
        or counted.
    """
    waits_bound()
    still_open, held = _hold_open({submission.recipe.pk for submission in submissions})
    outcomes: list[list[Rejection] | Exception] = [
        RowHeldError() if submission.recipe.pk in held else RecipeNotOpenError() for submission in submissions
    ]
    # All rows are locked in one order, so that two processes never wait for each other.
    for key in sorted(still_open):
        places = [place for place, submission in enumerate(submissions) if submission.recipe.pk == key]
        for place, rejections in zip(places, _store([submissions[place] for place in places]), strict=True):
            outcomes[place] = rejections
    return outcomes


SUBMISSIONS: GroupCommit[Submission, list[Rejection]] = GroupCommit(submissions_store)
"""Reports of many requests, stored together if the process serves requests."""


def segments_store(submissions: Sequence[Submission]) -> list[list[Rejection] | Exception]:
    """The same for recipes whose reports are in the object store: first the objects, then their rows.

    Nothing is looked up: duplicates are found when the recipe is closed.

    Raises:
        StoreDownError: no row was written, so nothing counts.
    """
    recipes = {submission.recipe.pk: submission.recipe for submission in submissions}
    # Checked before locking: for a recipe that is closed, no object is written.
    keys = _open(recipes.keys())
    segments = segments_write(
        {
            recipes[key]: records
            for key in sorted(keys)
            if (
                records := [
                    record for every in submissions if every.recipe.pk == key for record in _records(every)
                ]
            )
        }
    )
    with transaction.atomic():
        waits_bound()
        still_open, held = _hold_open(keys)
        ReportSegment.objects.bulk_create(segment for segment in segments if segment.recipe_id in still_open)
        for key in sorted(still_open):
            reasons = Counter(
                bad.reason for every in submissions if every.recipe.pk == key for bad in every.bad
            )
            if reasons:
                rejections_count(recipe=recipes[key], reasons=reasons)
    return [
        list(submission.bad)
        if submission.recipe.pk in still_open
        else RowHeldError()
        if submission.recipe.pk in held
        else RecipeNotOpenError()
        for submission in submissions
    ]


SEGMENTS: GroupCommit[Submission, list[Rejection]] = GroupCommit(segments_store)
"""The same for the object store: devices whose reports are stored in the database must not wait for it."""


def _records(submission: Submission) -> list[bytes]:
    return [submission.digests[nonce] + report.payload for nonce, (_, report) in submission.good.items()]


def _store(submissions: Sequence[Submission]) -> list[list[Rejection]]:
    """The same for submissions of one recipe, whose row is held."""
    recipe = submissions[0].recipe
    first: dict[bytes, Submission] = {}
    for submission in submissions:
        for nonce in submission.good:
            first.setdefault(nonce, submission)
    fresh = values_claim(
        ReportNonce._meta.db_table, owner_column="recipe_id", owner=recipe.pk, column="nonce", values=first
    )
    digests = {
        nonce: digest
        for submission in submissions
        for nonce, digest in submission.digests.items()
        if nonce in fresh and first[nonce] is submission
    }
    copies = digests_claim(recipe=recipe, digests=digests)
    if copies:
        ReportNonce.objects.filter(recipe=recipe, nonce__in=copies).delete()
    taken = [nonce for nonce in digests if nonce not in copies]
    size = reports_per_chunk(recipe.published)
    parts = [taken[start : start + size] for start in range(0, len(taken), size)]
    for part in parts:
        _keep(recipe, len(part), b"".join(first[nonce].good[nonce][1].payload for nonce in part))
    arrivals_count(recipe=recipe, number=len(taken))
    outcomes = []
    for submission in submissions:
        rejections = list(submission.bad)
        for nonce, (index, _) in submission.good.items():
            if nonce not in fresh or first[nonce] is not submission:
                rejections.append(Rejection(index, _duplicate().reason, str(_duplicate())))
            elif nonce in copies:
                rejections.append(Rejection(index, _copied().reason, str(_copied())))
        outcomes.append(sorted(rejections, key=lambda rejection: rejection.index))
    reasons = Counter(rejection.reason for every in outcomes for rejection in every)
    if reasons:
        rejections_count(recipe=recipe, reasons=reasons)
    return outcomes


def _keep(recipe: Recipe, count: int, payload: bytes) -> None:
    """Store reports. Plain SQL, because the model's own method takes as long as the checks of several
    reports.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {StoredReports._meta.db_table} (recipe_id, count, payload) "  # noqa: S608  # our own table
            "VALUES (%s, %s, %s)",
            [recipe.pk, count, payload],
        )


@transaction.atomic
def rejections_count(*, recipe: Recipe, reasons: Mapping[str, int]) -> None:
    """Add to the counts of rejected reports, by reason."""
    # All rows are locked in one order, so that two batches never wait for each other.
    for reason, count in sorted(reasons.items()):
        with connection.cursor() as cursor:
            cursor.execute(
                f"INSERT INTO {RejectionCount._meta.db_table} AS total "  # noqa: S608  # our own table
                "(recipe_id, reason, count) VALUES (%s, %s, %s) ON CONFLICT (recipe_id, reason) "
                "DO UPDATE SET count = total.count + excluded.count",
                [recipe.pk, reason, count],
            )


def _duplicate() -> ReportRejectedError:
    return ReportRejectedError("duplicate_nonce", "A report with this nonce was accepted already.")


def _copied() -> ReportRejectedError:
    return ReportRejectedError(
        "duplicate_ciphertext", "The ciphertexts of this report were sent in another one."
    )


def _hold_open(keys: Set[int]) -> tuple[set[int], set[int]]:
    """Those of the recipes that are open and stay so until the transaction ends, and those that are open and
    held by another transaction."""
    if not connection.features.has_select_for_update:
        # SQLite: this transaction holds the only write lock from its beginning.
        return _open(keys), set()
    # Weak, so that batches wait neither for each other nor for the planner; only closing, which takes the
    # strongest lock, waits for them. They do not wait for it: the reports of other recipes are with them.
    still_open = _open(keys, "FOR KEY SHARE SKIP LOCKED")
    # What was skipped and is open was held; what is closed stays closed.
    return still_open, _open(keys - still_open)


def _open(keys: Set[int], lock: str = "") -> set[int]:
    if not keys:
        return set()
    places = ", ".join(["%s"] * len(keys))
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT id FROM {Recipe._meta.db_table} "  # noqa: S608  # our own table
            f"WHERE status = %s AND id IN ({places}) ORDER BY id {lock}",
            [Recipe.Status.PUBLISHED.value, *keys],
        )
        return {key for (key,) in cursor.fetchall()}
