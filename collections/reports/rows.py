"""Reports as rows of the database: duplicates are found when they arrive.

Besides the nonce, a report's content counts once: no honest device sends the same twice, because it draws all
randomness anew. What is compared is the whole content, in its order. Were single ciphertexts compared, one of
a report that is still to come could be sent in another report by an attacker who saw it, and the device's
would be refused. Sent as a whole, it counts as the device meant it. Anyone can rerandomize a ciphertext,
undetectably.
"""

import hashlib
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from django.conf import settings
from django.db import connection, transaction
from django.db.models import QuerySet
from django.utils.crypto import salted_hmac

from panprivacy.encryption.interface import PrivateKey
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.recipe.report_shards.shard_sum import RunningSum
from panprivacy.recipe.statistic import statistic_as
from panprivacy.statistics.interface import ReportStatistic
from recipes.models import Recipe, RecipeKey
from recipes.steps import step_due_unless_locked
from reports.models import CiphertextDigest, ReportNonce, StoredReports
from reports.parsing import ReportRejectedError, WellFormedReport, duplicate_nonce
from reports.partitions import REPORTS
from reports.store import (
    MINIMUM_REPORTS,
    Rejection,
    ReportsMissingError,
    ReportStore,
    Step,
    Submission,
    Taken,
    Work,
    groups_of,
    hold_open,
    rejections_count,
)
from storage.claims import values_claim
from storage.columns import total
from storage.group_commit import GroupCommit, waits_bound

DIGEST_BYTES = 16

CHUNK_SECONDS = 10.0
"""Time that decrypting one chunk should take at most: well below the tasks' time limit."""

CHUNK_BYTES = 8 * 1024 * 1024
"""Length of the ciphertexts of one chunk at most, which a worker holds in memory."""

MARK_SECONDS = 1.0
"""Between two marks of one recipe by one process."""

MOST_RECIPES = 10_000
"""Recipes whose reports are counted; then counting begins anew."""


class ReportRows(ReportStore):
    """Nonces, digests and ciphertexts in tables that go with the recipe at once (`partitions`).

    Also of recipes whose reports another server hands on, which are stored by what fetches them.
    """

    def begin(self) -> None:
        REPORTS.make(self.recipe.pk)

    def require(self) -> None:
        """Nothing: what fails is the database."""

    def digest(self, report: WellFormedReport) -> bytes:
        """Of the ciphertexts, all of one length, in their order.

        Keyed, so that an attacker with the database but without the site's secret cannot recognize a report.
        """
        key = _digest_key(str(self.recipe.identifier))
        return hashlib.blake2b(report.payload, key=key, digest_size=DIGEST_BYTES).digest()

    def submit(self, submission: Submission, size: int) -> list[Rejection]:
        return WRITER.submit(submission, size)

    def unplanned(self) -> int:
        return total(self._waiting(), "count")

    def to_plan(self) -> int:
        return self.unplanned()

    def plan(self, least: int) -> list[Work]:
        rows = self._waiting().order_by("pk").values_list("pk", "count")
        most, planned = reports_per_chunk(self.recipe.published), []
        for keys, count in groups_of(list(rows), most, longest=most):
            planned.append(Work(Step.SUM, count))
            self._stored().filter(pk__in=keys).update(chunk=planned[-1].id)
        return planned

    def take(self, work: Work, key: Callable[[], PrivateKey]) -> Taken | None:
        """Decrypt the reports of a chunk, and add them up.

        An invalid report is replaced by a random valid one, and counts. An attacker with a copy of a device's
        state can make reports from it whose validity reveals what is in it. So nothing may reveal whether a
        report was valid.
        """
        stored = self._stored().filter(chunk=work.id)
        rows = [
            (count, bytes(payload))
            for count, payload in stored.order_by("pk").values_list("count", "payload")
        ]
        try:
            counted = RunningSum(self.recipe.published, key(), work.id.bytes + work.seed)
        except RecipeKey.DoesNotExist:
            # Another worker has finished this chunk, the last one, and the result is out.
            return None
        for _, payload in rows:
            for start in range(0, len(payload), counted.report_bytes):
                counted.add(payload[start : start + counted.report_bytes])

        def end() -> list[Work]:
            found = sum(count for count, _ in rows)
            if found != work.count:
                raise ReportsMissingError(found=found, expected=work.count)
            stored.delete()
            return []

        return Taken(end, counted.total, work.count)

    def end(self) -> None:
        REPORTS.clear(self.recipe.pk)

    @staticmethod
    def upkeep() -> None:
        """Nothing: partitions are dropped by `storage.tasks`, those of all apps."""

    def _stored(self) -> QuerySet[StoredReports]:
        return StoredReports.objects.filter(recipe=self.recipe)

    def _waiting(self) -> QuerySet[StoredReports]:
        return self._stored().filter(chunk=None)


@lru_cache(maxsize=256)
def _digest_key(identifier: str) -> bytes:
    return salted_hmac("reports.copies", identifier, algorithm="sha256").digest()


def reports_per_chunk(recipe: PublishedRecipe) -> int:
    """Number of reports of one stored row, and of one chunk, at most; 1 or more.

    A report can be one small ciphertext or a thousand large ones. Rows of stored reports are never split.
    """
    public_key, ciphertexts = recipe.public_key, statistic_as(recipe, ReportStatistic).report_ciphertexts
    by_time = CHUNK_SECONDS / (ciphertexts * public_key.decryption_seconds)
    by_length = CHUNK_BYTES / (ciphertexts * public_key.ciphertext_bytes)
    return max(1, int(min(settings.CHUNK_REPORTS, by_time, by_length)))


@transaction.atomic
def submissions_store(submissions: Sequence[Submission]) -> list[list[Rejection] | Exception]:
    """Store what is new of several submissions, of any recipes, in their order.

    Returns:
        For each the rejections, by index; or RecipeNotOpenError or RowHeldError, and nothing of it was stored
        or counted.
    """
    waits_bound()
    keys = {submission.recipe.pk for submission in submissions}
    refused = hold_open(keys)
    outcomes: list[list[Rejection] | Exception] = [
        refused[submission.recipe.pk]() if submission.recipe.pk in refused else []
        for submission in submissions
    ]
    # All rows are locked in one order, so that two processes never wait for each other.
    for key in sorted(keys - refused.keys()):
        places = [place for place, submission in enumerate(submissions) if submission.recipe.pk == key]
        for place, rejections in zip(places, _store([submissions[place] for place in places]), strict=True):
            outcomes[place] = rejections
    return outcomes


WRITER: GroupCommit[Submission, list[Rejection]] = GroupCommit(submissions_store)
"""Reports of many requests, stored together if the process serves requests."""


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
    copies = _digests_claim(recipe, digests)
    if copies:
        ReportNonce.objects.filter(recipe=recipe, nonce__in=copies).delete()
    taken = [nonce for nonce in digests if nonce not in copies]
    size = reports_per_chunk(recipe.published)
    parts = [taken[start : start + size] for start in range(0, len(taken), size)]
    for part in parts:
        _keep(recipe, len(part), b"".join(first[nonce].good[nonce][1].stored for nonce in part))
    # After the commit: the row of steps is not among those that are locked in one order here. What fails then
    # does not undo what is stored.
    transaction.on_commit(lambda: arrivals_count(recipe=recipe, number=len(taken)), robust=True)
    outcomes = []
    for submission in submissions:
        rejections = list(submission.bad)
        for nonce, (index, _) in submission.good.items():
            refused = None
            if nonce not in fresh or first[nonce] is not submission:
                refused = duplicate_nonce()
            elif nonce in copies:
                refused = ReportRejectedError(
                    "duplicate_ciphertext", "The ciphertexts of this report were sent in another one."
                )
            if refused is not None:
                rejections.append(Rejection(index, refused.reason, str(refused)))
        outcomes.append(sorted(rejections, key=lambda rejection: rejection.index))
    reasons = Counter(rejection.reason for every in outcomes for rejection in every)
    if reasons:
        rejections_count(recipe=recipe, reasons=reasons)
    return outcomes


def _digests_claim(recipe: Recipe, digests: Mapping[bytes, bytes]) -> set[bytes]:
    """Keep the digests that are new, in the caller's transaction.

    Args:
        digests: nonce → the report's digest, in the order in which the reports came.

    Returns:
        Nonces of the reports whose content is already known.
    """
    first: dict[bytes, bytes] = {}
    for nonce, digest in digests.items():
        first.setdefault(digest, nonce)
    fresh = values_claim(
        CiphertextDigest._meta.db_table,
        owner_column="recipe_id",
        owner=recipe.pk,
        column="digest",
        values=first,
    )
    return {nonce for nonce, digest in digests.items() if digest not in fresh or first[digest] != nonce}


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


@dataclass
class _Count:
    reports: int = 0
    marked_at: float = float("-inf")


class Arrivals:
    """The counts of one process: they mark an open recipe once enough reports have arrived to be added up.

    Storing a report must stay cheap, and must not wait for the recipe's row of steps. So each process counts
    in memory, and marks a recipe after as many reports as are taken in together, and at most once a second.
    What is too little for each of several processes is found by a later step, at the latest after closing.

    Args:
        steady: seconds, from whenever.
    """

    def __init__(self, steady: Callable[[], float] = time.monotonic) -> None:
        self._steady = steady
        self._counts: dict[str, _Count] = {}
        self._lock = threading.Lock()

    def are_enough(self, recipe: Recipe, number: int) -> bool:
        """Count reports that are being stored; whether the recipe is to be marked now."""
        with self._lock:
            if len(self._counts) >= MOST_RECIPES:
                self._counts.clear()
            count = self._counts.setdefault(str(recipe.identifier), _Count())
            count.reports += number
            now = self._steady()
            if (
                count.reports < min(MINIMUM_REPORTS, recipe.cohort_size)
                or now < count.marked_at + MARK_SECONDS
            ):
                return False
            count.reports, count.marked_at = 0, now
            return True


_HERE = Arrivals()


def arrivals_count(*, recipe: Recipe, number: int) -> None:
    """Note reports that are stored. If this is lost, a later step finds them."""
    if _HERE.are_enough(recipe, number):
        step_due_unless_locked(recipe=recipe)
