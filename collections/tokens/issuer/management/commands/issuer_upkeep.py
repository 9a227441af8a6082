"""`manage.py issuer_upkeep`: delete what is due; for a daily timer."""

from typing import Any

from django.core.management.base import BaseCommand

from log.public_log.partner_keys import partner_keys_enter
from storage import clock
from tokens.issuer.recipe_ends import upkeep


class Command(BaseCommand):
    help = "Delete unused keys, keys after their grace period, and keys of recipes that have closed."

    def handle(self, *args: Any, **options: Any) -> None:
        partner_keys_enter()
        upkeep(now=clock.settled_now())
        self.stdout.write("Done.")
