"""Taking in reports from clients (DAP draft 18, section 4.3.2).

Only what needs no decryption is looked at here: opening and verifying are the workers' business.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from django.db import transaction

from dap.hpke_keys import HPKE_KEYS
from dap.input_shares import metadata_error
from dap.limits import JOB_REPORTS
from dap.models import Side, Task
from dap.operations import configuration_of, rejections_add, reports_claim, task_hold
from dap.selectors import times_collected
from leader.models import Uploads
from leader.sizes import JOB_BYTES
from panprivacy.dap.basics import ReportError
from panprivacy.dap.lengths import report_lengths
from panprivacy.dap.upload import Report, ReportUploadStatus

_OUTSIDE = {ReportError.TASK_NOT_STARTED, ReportError.TASK_EXPIRED}


def reports_upload(*, task: Task, reports: Sequence[Report], now: datetime) -> list[ReportUploadStatus]:
    """Take in the good reports of an upload; say of each other one why not.

    Sending the same again stores nothing twice: a report identifier is claimed once.

    Returns:
        The rejections, in the order of `reports`; every report without one is stored for good.
    """
    errors = _bad_by_themselves(task, reports, now)
    with transaction.atomic():
        state = task_hold(task=task)
        good = {index: report for index, report in enumerate(reports) if index not in errors}
        if state == Task.State.OPEN:
            errors |= _take(task, good)
        else:
            errors |= dict.fromkeys(good, ReportError.REPORT_DROPPED)
        if state != Task.State.ENDED:  # then its counts are final
            reasons = Counter(error.reason for error in errors.values())
            rejections_add(task=task, side=Side.LEADER, reasons=reasons)
    return [
        ReportUploadStatus(reports[index].report_metadata.report_id, _answer(error))
        for index, error in sorted(errors.items())
    ]


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


def _bad_by_themselves(task: Task, reports: Sequence[Report], now: datetime) -> dict[int, ReportError]:
    """Index → error."""
    configuration = configuration_of(task)
    known = HPKE_KEYS.usable_ids(now=now)
    lengths = report_lengths(configuration)
    seen: set[bytes] = set()
    errors: dict[int, ReportError] = {}
    for index, report in enumerate(reports):
        metadata = report.report_metadata
        error = metadata_error(configuration, metadata, now)
        if metadata.report_id in seen:
            errors[index] = ReportError.REPORT_REPLAYED
        elif report.leader_encrypted_input_share.config_id not in known:
            errors[index] = ReportError.OUTDATED_CONFIG
        elif error is not None:
            errors[index] = ReportError.REPORT_DROPPED if error in _OUTSIDE else error
        elif not lengths.fit(report):
            errors[index] = ReportError.INVALID_MESSAGE
        else:
            seen.add(metadata.report_id)
    return errors


def _take(task: Task, reports: dict[int, Report]) -> dict[int, ReportError]:
    """Store what can be stored of `reports`; index → error of the others. The task's row is held."""
    late = times_collected(task=task, times={report.report_metadata.time for report in reports.values()})
    errors = {
        i: ReportError.BATCH_COLLECTED for i, report in reports.items() if report.report_metadata.time in late
    }
    ids = {i: report.report_metadata.report_id for i, report in reports.items() if i not in errors}
    fresh = reports_claim(task=task, report_ids=ids.values())
    errors |= {i: ReportError.REPORT_REPLAYED for i, report_id in ids.items() if report_id not in fresh}
    uploads_store(task=task, reports=[report for i, report in reports.items() if i not in errors])
    return errors


def _answer(error: ReportError) -> ReportError:
    """What the client is told: of a batch that is gone the draft says `report_replayed`."""
    return ReportError.REPORT_REPLAYED if error is ReportError.BATCH_COLLECTED else error


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
