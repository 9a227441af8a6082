"""`manage.py hpke_keys list|rotate`: the keys to which clients seal."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from dap.hpke_keys import NoHpkeKeyError, grace, hpke_key_rotate
from dap.selectors import hpke_keys_known
from panprivacy.recipe import format_time


class Command(BaseCommand):
    help = "List the keys to which clients seal reports, or make a new one."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("action", choices=("list", "rotate"))

    def handle(self, *args: Any, action: str, **options: Any) -> None:
        if action == "rotate":
            try:
                key = hpke_key_rotate(now=timezone.now())
            except NoHpkeKeyError as error:
                raise CommandError(str(error)) from None
            # Nothing is deleted here: only who keeps reports knows which keys they wait for.
            self.stdout.write(f"Key {key.config_id} is handed out from now on.")
            return
        for key in hpke_keys_known():
            opens = (
                "handed out"
                if key.retired_at is None
                else f"opens until {format_time(key.retired_at + grace())}, or while reports wait for it"
            )
            self.stdout.write(f"{key.config_id:3}  made {format_time(key.created_at)}  {opens}")
