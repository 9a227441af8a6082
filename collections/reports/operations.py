"""Taking in reports: each counts once, whatever is sent twice and whatever crashes."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db import connection, transaction
from django.utils import timezone

from recipes.models import Recipe
from recipes.selectors import recipe_accepts_reports
from reports.chunking import reports_per_chunk
from reports.copies import digest_of, digests_claim
from reports.models import RejectionCount, ReportNonce, StoredReports
from reports.parsing import Decoder, ReportRejectedError, WellFormedReport, read_report


class RecipeNotOpenError(ValueError):
    """The recipe accepts no reports now."""


@dataclass(frozen=True)
class Rejection:
    """One report of a batch that was not taken in."""

    index: int
    reason: str
    detail: str


def reports_submit(*, recipe: Recipe, reports: Sequence[object], decode: Decoder) -> list[Rejection]:
    """Take in the good reports of a batch; say of each other one why not.

    The expensive checks run before the transaction, so that it is short.

    Args:
        recipe: as read from the database; whether it is open is read again inside.
        reports: plain values from the request's body, unchecked.
        decode: turns their members into bytes.

    Returns:
        The rejections, by index; every report without one is stored for good.

    Raises:
        RecipeNotOpenError: nothing was stored or counted.
    """
    if not recipe_accepts_reports(recipe, timezone.now()):
        raise RecipeNotOpenError
    rejections: list[Rejection] = []
    well_formed: dict[bytes, tuple[int, WellFormedReport]] = {}
    for index, content in enumerate(reports):
        try:
            report = read_report(content, recipe.published, decode)
            if report.nonce in well_formed:
                raise _duplicate()
        except ReportRejectedError as error:
            rejections.append(Rejection(index, error.reason, str(error)))
        else:
            well_formed[report.nonce] = (index, report)
    digests = {nonce: digest_of(recipe, report) for nonce, (_, report) in well_formed.items()}
    with transaction.atomic():
        _hold_open(recipe)
        fresh = _claim_nonces(recipe, sorted(well_formed))
        copies = digests_claim(
            recipe=recipe, digests={nonce: own for nonce, own in digests.items() if nonce in fresh}
        )
        if copies:
            ReportNonce.objects.filter(recipe=recipe, nonce__in=copies).delete()
        if fresh - copies:
            stored = [report.payload for nonce, (_, report) in well_formed.items() if nonce in fresh - copies]
            size = reports_per_chunk(recipe.published)
            StoredReports.objects.bulk_create(
                StoredReports(recipe=recipe, count=len(part), payload=b"".join(part))
                for part in (stored[start : start + size] for start in range(0, len(stored), size))
            )
        for nonce, (index, _) in well_formed.items():
            if nonce not in fresh or nonce in copies:
                refusal = _copied() if nonce in copies else _duplicate()
                rejections.append(Rejection(index, refusal.reason, str(refusal)))
        rejections_count(recipe=recipe, reasons=Counter(rejection.reason for rejection in rejections))
    return sorted(rejections, key=lambda rejection: rejection.index)


@transaction.atomic
def rejections_count(*, recipe: Recipe, reasons: Mapping[str, int]) -> None:
    """Add to the counts of rejected reports, by reason."""
    # One order for everybody, so that two batches never wait for each other's rows.
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


def _hold_open(recipe: Recipe) -> None:
    """Make sure that the recipe is open and stays so until the transaction ends."""
    rows = Recipe.objects.filter(pk=recipe.pk, status=Recipe.Status.PUBLISHED)
    sql, parameters = rows.values("pk").query.sql_with_params()
    if connection.features.has_select_for_update:
        # Weak, so that batches wait neither for each other nor for the planner; only closing, which
        # takes the strongest lock, waits for them and they for it.
        # SQLite needs none: this transaction holds the only write lock from its beginning.
        sql += " FOR KEY SHARE"
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        if cursor.fetchone() is None:
            raise RecipeNotOpenError


def _claim_nonces(recipe: Recipe, nonces: Sequence[bytes]) -> set[bytes]:
    """Insert the nonces that are new; return those. Sorted, so that two batches cannot deadlock."""
    if not nonces:
        return set()
    rows = ", ".join(["(%s, %s)"] * len(nonces))
    parameters = [value for nonce in nonces for value in (recipe.pk, nonce)]
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO reports_reportnonce (recipe_id, nonce) "  # noqa: S608  # placeholders only
            f"VALUES {rows} ON CONFLICT DO NOTHING RETURNING nonce",
            parameters,
        )
        return {bytes(row[0]) for row in cursor.fetchall()}
