"""`manage.py helper_upkeep`: delete what is due; for a daily timer."""

from typing import Any

from django.core.management.base import BaseCommand

from dap.helper.task_ends import upkeep as tasks_upkeep
from joint_key.helper.sums import upkeep
from log.public_log.partner_keys import partner_keys_enter
from storage import clock


class Command(BaseCommand):
    help = "Delete unused keys, keys after their grace period, and tasks whose time was over long ago."

    def handle(self, *args: Any, **options: Any) -> None:
        partner_keys_enter()
        now = clock.settled_now()
        upkeep(now=now)
        tasks_upkeep(now=now)
        self.stdout.write("Done.")
