"""The periodic tasks that get rid of what deleting left behind."""

from celery import shared_task

from storage.erasable_keys import old_keys_erase
from storage.erasure import log_truncate
from storage.partitions import partitions_upkeep
from storage.periodic import PeriodicTask


@shared_task(base=PeriodicTask)
def truncate_log() -> None:
    """Empty SQLite's write-ahead log, if a reader kept the last deletion from it. Safe to run twice."""
    log_truncate()


@shared_task(base=PeriodicTask)
def erase_unneeded_keys() -> None:
    """Erase keys of deleted secrets that a crash left. Safe to run at any time, even twice."""
    old_keys_erase()


@shared_task(base=PeriodicTask)
def drop_partitions() -> None:
    """Drop what is left of collections that have ended. Safe to run at any time, even twice."""
    partitions_upkeep()
