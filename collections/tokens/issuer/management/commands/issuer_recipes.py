"""`manage.py issuer_recipes list|end`: the recipes of this issuer; ending them without the site."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from panprivacy.formats.times import format_time
from tokens.issuer.models import Issuance
from tokens.issuer.recipe_ends import REASON_LENGTH, issuance_end
from tokens.issuer.status import tokens_among


class Command(BaseCommand):
    help = "List the recipes of this issuer, or end some: their keys are erased."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        listing = actions.add_parser("list", help="show the recipes that have not ended, with exact counts")
        listing.add_argument("--ended", action="store_true", help="those that have ended, too")
        end = actions.add_parser("end", help="issue no more tokens, permanently; the site gets their number")
        which = end.add_mutually_exclusive_group(required=True)
        which.add_argument("identifier", nargs="?", help="of the recipe: 64 hexadecimal digits")
        which.add_argument("--all", action="store_true", help="every recipe that has not ended")
        end.add_argument("--reason", required=True, help="why, in words")

    def handle(self, *args: Any, **options: Any) -> None:
        running = Issuance.objects.filter(state=Issuance.State.ISSUING).order_by("pk")
        if options["action"] == "list":
            known = Issuance.objects.exclude(state=Issuance.State.WAITING).order_by("pk")
            self._list(list(known if options["ended"] else running))
            return
        if not options["reason"].strip() or len(options["reason"]) > REASON_LENGTH:
            raise CommandError(f"reason: must have 1 to {REASON_LENGTH} characters", returncode=2)
        chosen = list(running if options["all"] else running.filter(identifier=options["identifier"]))
        if not chosen and not options["all"]:
            raise CommandError("identifier: no recipe that has not ended has it", returncode=2)
        for issuance in chosen:
            issued = issuance_end(issuance=issuance, reason=options["reason"], now=timezone.now())
            self.stdout.write(f"Ended {issuance.identifier}: {issued:,} tokens.")

    def _list(self, shown: list[Issuance]) -> None:
        counts = tokens_among(shown)
        for issuance in shown:
            count = counts[issuance.pk] if issuance.issued is None else issuance.issued
            parts = [str(issuance.identifier), f"key made {format_time(issuance.created_at)}"]
            parts.append(f"{count:,} tokens")
            if issuance.ended_at is not None:
                parts.append(f"ended {format_time(issuance.ended_at)}: {issuance.outcome}")
            self.stdout.write("  ".join(parts))
