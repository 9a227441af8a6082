"""What the commands `… list|rotate` of rotating keys have in common."""

from argparse import ArgumentParser
from datetime import datetime
from typing import Any, ClassVar

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from storage.key_service import KeyServiceError
from storage.rotating_keys import KeyRing, NoKeyError, grace


class KeyCommand(BaseCommand):
    """A subclass names the keys, and what is sealed to them, in the plural."""

    ring: ClassVar[KeyRing[Any]]
    sealed: ClassVar[str]

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("action", choices=("list", "rotate"))

    def handle(self, *args: Any, action: str, **options: Any) -> None:
        if action == "rotate":
            try:
                keys = self.ring.rotate(now=timezone.now())
            except (NoKeyError, KeyServiceError) as error:
                raise CommandError(str(error)) from None
            # Nothing is deleted here: only the package that stores sealed data knows which keys are still
            # needed.
            for key in keys:
                self.stdout.write(f"Key {key.config_id} ({key.kem}) is handed out from now on.")
            return
        for key in self.ring.known():
            opens = (
                "handed out"
                if key.retired_at is None
                else f"opens until {_said(key.retired_at + grace())}, or while {self.sealed} wait for it"
            )
            self.stdout.write(f"{key.config_id:3}  {key.kem:6}  made {_said(key.created_at)}  {opens}")


def _said(time: datetime) -> str:
    return f"{time:%Y-%m-%dT%H:%M:%SZ}"
