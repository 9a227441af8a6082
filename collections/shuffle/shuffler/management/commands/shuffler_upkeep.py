"""`manage.py shuffler_upkeep`: delete what is due; for a daily timer."""

from typing import Any

from django.core.management.base import BaseCommand

from log.public_log.partner_keys import partner_keys_enter
from shuffle.shuffler.batch_ends import upkeep
from storage import clock


class Command(BaseCommand):
    help = "Delete batches that closed without being full, and full ones that were not fetched for long."

    def handle(self, *args: Any, **options: Any) -> None:
        partner_keys_enter()
        upkeep(now=clock.settled_now())
        self.stdout.write("Done.")
