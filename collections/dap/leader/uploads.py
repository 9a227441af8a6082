"""Taking in reports from clients (DAP draft 18, section 4.3.2).

Only what needs no decryption is checked here, tokens too: opening and verifying are the workers' business.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from dap.admission import Rejection, dap_error_of, public_extensions_of, token_check_of
from dap.hpke_keys import HPKE_KEYS
from dap.input_shares import metadata_error
from dap.leader.models import Uploads
from dap.leader.sizes import JOB_BYTES
from dap.limits import JOB_REPORTS
from dap.models import Side, Task
from dap.operations import configuration_of, dialect_of, rejections_add, reports_claim, task_hold
from dap.selectors import times_collected
from panprivacy.protocols.dap.basics import ReportError
from panprivacy.protocols.dap.lengths import report_lengths
from panprivacy.protocols.dap.upload import Report, ReportUploadStatus
from storage.group_commit import GroupCommit, RowHeldError, waits_bound

_Place = tuple[int, int]
"""Number of an upload among several, and index of a report in it."""

_OUTSIDE = {ReportError.TASK_NOT_STARTED, ReportError.TASK_EXPIRED}


@dataclass(frozen=True)
class Upload:
    """Reports that were checked, and are to be stored.

    Attributes:
        errors: index → what is wrong with a report by itself.
        now: time of arrival.
    """

    task: Task
    reports: Sequence[Report]
    errors: Mapping[int, Rejection]
    now: datetime


def reports_upload(*, task: Task, reports: Sequence[Report], now: datetime) -> list[ReportUploadStatus]:
    """Take in the good reports of an upload; give for each other one the reason for its rejection.

    Sending the same again stores nothing twice: a report identifier is claimed once.

    Args:
        task: as it was at any time; its state is read again inside.

    Returns:
        The rejections, in the order of `reports`; every report without one is stored for good.

    Raises:
        QueueFullError: nothing was stored or counted, as too many others wait.
        RowHeldError: the same, as another transaction holds the task for too long.
    """
    dialect = dialect_of(task)
    errors = UPLOADS.submit(Upload(task, reports, _bad_by_themselves(task, reports, now), now), len(reports))
    return [
        ReportUploadStatus(reports[index].report_metadata.report_id, dialect.known_error(_answer(error)))
        for index, error in sorted(errors.items())
    ]


@transaction.atomic
def uploads_take(uploads: Sequence[Upload]) -> list[dict[int, Rejection] | Exception]:
    """Store what is good of several uploads, to any tasks, in their order.

    Returns:
        For each index → error of the rest; or RowHeldError, and nothing of it was stored or counted.
    """
    waits_bound()
    known = HPKE_KEYS.usable_ids(now=min(upload.now for upload in uploads))
    taken: list[dict[int, Rejection] | Exception] = [{} for _ in uploads]
    # All rows are locked in one order, so that two processes never wait for each other.
    for key in sorted({upload.task.pk for upload in uploads}):
        places = [place for place, upload in enumerate(uploads) if upload.task.pk == key]
        for place, errors in zip(places, _store([uploads[place] for place in places], known), strict=True):
            taken[place] = errors
    return taken


UPLOADS: GroupCommit[Upload, dict[int, Rejection]] = GroupCommit(uploads_take)
"""Uploads of many requests, stored together if the process serves requests."""


def _store(uploads: Sequence[Upload], known: Set[int]) -> Sequence[dict[int, Rejection] | Exception]:
    """The same for uploads to one task."""
    task = uploads[0].task
    # Uploads to other tasks are in this transaction: they must not wait for a lock on this task.
    state = task_hold(task=task, waits=False)
    if state is None:
        return [RowHeldError() for _ in uploads]
    outcomes: list[dict[int, Rejection]] = []
    good: dict[_Place, Report] = {}
    seen: set[bytes] = set()
    for number, upload in enumerate(uploads):
        errors = _with_outdated(upload, known)
        for index, report in enumerate(upload.reports):
            if index in errors:
                continue
            # If nothing is taken any more, no copy of it was either.
            if report.report_metadata.report_id in seen and state == Task.State.OPEN:
                errors[index] = ReportError.REPORT_REPLAYED
            else:
                seen.add(report.report_metadata.report_id)
                good[number, index] = report
        outcomes.append(errors)
    if state == Task.State.OPEN:
        refused = _take(task, good)
    else:
        refused = dict.fromkeys(good, ReportError.REPORT_DROPPED)
    for (number, index), error in refused.items():
        outcomes[number][index] = error
    if state != Task.State.ENDED:  # then its counts are final
        reasons = Counter(error.reason for errors in outcomes for error in errors.values())
        rejections_add(task=task, side=Side.LEADER, reasons=reasons)
    return outcomes


def _with_outdated(upload: Upload, known: Set[int]) -> dict[int, Rejection]:
    """The errors of an upload, with those of reports that are sealed to a deleted key."""
    return dict(upload.errors) | {
        index: ReportError.OUTDATED_CONFIG
        for index, report in enumerate(upload.reports)
        if report.leader_encrypted_input_share.config_id not in known
        and upload.errors.get(index) is not ReportError.REPORT_REPLAYED
    }


def uploads_store(*, task: Task, reports: Iterable[Report], not_before: datetime | None = None) -> None:
    """Store reports in rows that aggregation jobs can take whole; call it in a transaction.

    Args:
        not_before: when they may be planned; None for at once.
    """
    Uploads.objects.bulk_create(
        Uploads(
            task=task,
            count=len(part),
            size=sum(len(encoded) for _, encoded in part),
            first_time=min(report.report_metadata.time for report, _ in part),
            last_time=max(report.report_metadata.time for report, _ in part),
            not_before=not_before,
            config_ids=bytes(sorted({report.leader_encrypted_input_share.config_id for report, _ in part})),
            payload=b"".join(encoded for _, encoded in part),
        )
        for part in _parts(reports)
    )


def _bad_by_themselves(task: Task, reports: Sequence[Report], now: datetime) -> dict[int, Rejection]:
    """Index → error."""
    configuration = configuration_of(task)
    extensions, token_check = public_extensions_of(task), token_check_of(task)
    lengths = report_lengths(configuration)
    seen: set[bytes] = set()
    errors: dict[int, Rejection] = {}
    for index, report in enumerate(reports):
        metadata = report.report_metadata
        error = metadata_error(configuration, metadata, now, extensions)
        if metadata.report_id in seen:
            errors[index] = ReportError.REPORT_REPLAYED
        elif error is not None:
            errors[index] = ReportError.REPORT_DROPPED if error in _OUTSIDE else error
        elif not lengths.fit(report):
            errors[index] = ReportError.INVALID_MESSAGE
        # Last, because it costs more than the rest together.
        elif (refused := token_check(metadata)) is not None:
            errors[index] = refused
        else:
            seen.add(metadata.report_id)
    return errors


def _take(task: Task, reports: Mapping[_Place, Report]) -> dict[_Place, Rejection]:
    """Store what can be stored of `reports`; place → error of the others. The task's row is held."""
    if not reports:
        return {}
    late = times_collected(task=task, times={report.report_metadata.time for report in reports.values()})
    errors: dict[_Place, Rejection] = {
        i: ReportError.BATCH_COLLECTED for i, report in reports.items() if report.report_metadata.time in late
    }
    ids = {i: report.report_metadata.report_id for i, report in reports.items() if i not in errors}
    fresh = reports_claim(task=task, report_ids=ids.values())
    errors |= {i: ReportError.REPORT_REPLAYED for i, report_id in ids.items() if report_id not in fresh}
    uploads_store(task=task, reports=[report for i, report in reports.items() if i not in errors])
    return errors


def _answer(error: Rejection) -> ReportError:
    """The error for the client: for a deleted batch the draft prescribes `report_replayed`."""
    return ReportError.REPORT_REPLAYED if error is ReportError.BATCH_COLLECTED else dap_error_of(error)


def _parts(reports: Iterable[Report]) -> Iterator[list[tuple[Report, bytes]]]:
    """Reports and their encodings, as many together as a job takes."""
    part: list[tuple[Report, bytes]] = []
    size = 0
    for report in reports:
        encoded = report.encode()
        if part and (len(part) == JOB_REPORTS or size + len(encoded) > JOB_BYTES):
            yield part
            part, size = [], 0
        part.append((report, encoded))
        size += len(encoded)
    if part:
        yield part
