"""The periodic task that tidies up after crashes."""

from celery import shared_task

from storage.periodic import PeriodicTask
from streams.operations import old_keys_erase


@shared_task(base=PeriodicTask)
def erase_old_keys() -> None:
    """Erase keys that a crash left; safe to run at any time, even twice."""
    old_keys_erase()
