"""`manage.py shuffler_upkeep`: delete what is due; for a daily timer."""

from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from shuffler.ending import upkeep


class Command(BaseCommand):
    help = "Delete batches that closed without being full, and full ones that nobody fetched for long."

    def handle(self, *args: Any, **options: Any) -> None:
        upkeep(now=timezone.now())
        self.stdout.write("Done.")
