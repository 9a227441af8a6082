"""`manage.py helper_tasks list|end`: the tasks of this helper, and ending them without the leader."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from dap.models import Side, Task
from dap.selectors import is_any_collected, report_count
from helper.ending import REASON_LENGTH, helper_task_end
from panprivacy.recipe import format_time


class Command(BaseCommand):
    help = (
        "List the tasks that this helper takes part in, or end some: their keys, shares and sums are deleted."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        actions.add_parser("list", help="show the tasks that have not ended")
        end = actions.add_parser("end", help="end tasks for good; the leader is told the reason when it asks")
        which = end.add_mutually_exclusive_group(required=True)
        which.add_argument(
            "identifier", nargs="?", help="identifier of the recipe or task, 64 hexadecimal digits"
        )
        which.add_argument("--all", action="store_true", help="every task that has not ended")
        end.add_argument("--reason", required=True, help="why, in words that both sides show")

    def handle(self, *args: Any, **options: Any) -> None:
        running = Task.objects.filter(side=Side.HELPER).exclude(state=Task.State.ENDED).order_by("pk")
        if options["action"] == "list":
            for task in running:
                given = "share released" if is_any_collected(task) else f"{report_count(task):,} reports"
                self.stdout.write(
                    f"{bytes(task.task_id).hex()}  registered {format_time(task.created_at)}  {given}"
                )
            return
        if not options["reason"].strip() or len(options["reason"]) > REASON_LENGTH:
            raise CommandError(f"reason: must have 1 to {REASON_LENGTH} characters", returncode=2)
        chosen = [
            task for task in running if options["all"] or options["identifier"] == bytes(task.task_id).hex()
        ]
        if not chosen and not options["all"]:
            raise CommandError("identifier: no task that has not ended has it", returncode=2)
        for task in chosen:
            helper_task_end(task=task, reason=options["reason"], now=timezone.now())
            self.stdout.write(f"Ended {bytes(task.task_id).hex()}.")
