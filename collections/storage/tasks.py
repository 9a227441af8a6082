"""The periodic task that gets rid of what deleting left behind."""

from celery import shared_task

from storage.erasing import log_truncate


@shared_task(name="dap.tasks.truncate_log")  # the name that installations have queued and scheduled
def truncate_log() -> None:
    """Empty SQLite's write-ahead log, if a reader kept the last deletion from it. Safe to run twice."""
    log_truncate()
