"""`manage.py shuffler_batches list|end`: the batches of this shuffler; ending them without the analyzer."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from panprivacy.formats.rounded_counts import rounded_count
from panprivacy.formats.times import format_time
from shuffle.shuffler.batch_ends import REASON_LENGTH, batch_end
from shuffle.shuffler.models import Batch


class Command(BaseCommand):
    help = "List the batches of this shuffler, or end some: their messages are deleted."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        listing = actions.add_parser("list", help="show the batches that have not ended")
        listing.add_argument("--ended", action="store_true", help="those that have ended, too")
        end = actions.add_parser(
            "end", help="end batches for good; the analyzer gets the reason when it asks"
        )
        which = end.add_mutually_exclusive_group(required=True)
        which.add_argument("identifier", nargs="?", help="of the recipe: 64 hexadecimal digits")
        which.add_argument("--all", action="store_true", help="every batch that has not ended")
        end.add_argument("--reason", required=True, help="why, in words that both sides show")

    def handle(self, *args: Any, **options: Any) -> None:
        running = Batch.objects.exclude(state=Batch.State.ENDED).order_by("pk")
        if options["action"] == "list":
            for batch in Batch.objects.order_by("pk") if options["ended"] else running:
                self.stdout.write(_line(batch))
            return
        if not options["reason"].strip() or len(options["reason"]) > REASON_LENGTH:
            raise CommandError(f"reason: must have 1 to {REASON_LENGTH} characters", returncode=2)
        chosen = list(running if options["all"] else running.filter(identifier=options["identifier"]))
        if not chosen and not options["all"]:
            raise CommandError("identifier: no batch that has not ended has it", returncode=2)
        for batch in chosen:
            batch_end(batch=batch, reason=options["reason"], now=timezone.now())
            self.stdout.write(f"Ended {batch.identifier}.")


def _line(batch: Batch) -> str:
    parts = [batch.identifier, f"registered {format_time(batch.created_at)}"]
    if batch.ended_at is not None:
        parts.append(f"ended {format_time(batch.ended_at)}: {batch.outcome}")
    elif batch.was_full:
        parts.append(f"{batch.state}, {batch.cohort_size:,} users")
    else:
        parts.append(
            f"about {rounded_count(batch.users, batch.cohort_size):,} of {batch.cohort_size:,} users"
        )
    return "  ".join(parts)
