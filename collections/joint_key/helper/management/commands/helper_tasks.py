"""`manage.py helper_tasks list|end|import`: this helper's tasks and recipes, without the leader."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from dap.errors import TaskConflictError, TaskEndedError
from dap.helper.registrations import janus_task_register
from dap.helper.task_ends import REASON_LENGTH, helper_task_end
from dap.identifiers import readable_arguments, task_id_of
from dap.models import Side, Task
from dap.selectors import collected_among, counts_of, rejections_among
from dap.task_files import task_file_read
from joint_key.helper.models import JointRecipe
from joint_key.helper.sums import recipe_end
from panprivacy.formats import base64_text
from panprivacy.formats.errors import FieldError
from panprivacy.formats.times import format_time


class Command(BaseCommand):
    help = (
        "List the tasks that this helper takes part in, end some: their keys, shares and totals are "
        "deleted, or take part in one of a leader that runs Janus."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        listing = actions.add_parser(
            "list",
            help="show the tasks that have not ended, with counts that only administrators may see: they "
            "would help someone who copied a device to read it",
        )
        listing.add_argument("--ended", action="store_true", help="those that have ended, too")
        end = actions.add_parser("end", help="end tasks for good; the leader gets the reason when it asks")
        which = end.add_mutually_exclusive_group(required=True)
        which.add_argument(
            "identifier", nargs="?", help="of the recipe or task: 64 hexadecimal digits, or base64url"
        )
        which.add_argument("--all", action="store_true", help="every task that has not ended")
        end.add_argument("--reason", required=True, help="why, in words that both sides show")

        actions.add_parser(
            "import", help="take part in the task of a file for `janus_cli provision-tasks`, with role Helper"
        ).add_argument("file", type=Path)

    def run_from_argv(self, argv: list[str]) -> None:
        super().run_from_argv(readable_arguments(argv))

    def handle(self, *args: Any, **options: Any) -> None:
        tasks = Task.objects.filter(side=Side.HELPER).order_by("pk")
        running = tasks.exclude(state=Task.State.ENDED)
        if options["action"] == "list":
            self._list(tasks if options["ended"] else running)
            for recipe in JointRecipe.objects.exclude(state=JointRecipe.State.ENDED).order_by("pk"):
                self.stdout.write(f"{recipe.identifier}  joint key  {recipe.get_state_display()}")
            return
        if options["action"] == "import":
            self._import(options["file"])
            return
        if not options["reason"].strip() or len(options["reason"]) > REASON_LENGTH:
            raise CommandError(f"reason: must have 1 to {REASON_LENGTH} characters", returncode=2)
        joint = JointRecipe.objects.exclude(state=JointRecipe.State.ENDED).order_by("pk")
        if not options["all"]:
            task_id = _task_id(options["identifier"])
            running, joint = running.filter(task_id=task_id), joint.filter(identifier=task_id.hex())
        chosen, recipes = list(running), list(joint)
        if not chosen and not recipes and not options["all"]:
            raise CommandError("identifier: no task that has not ended has it", returncode=2)
        for task in chosen:
            helper_task_end(task=task, reason=options["reason"], now=timezone.now())
            self.stdout.write(f"Ended {bytes(task.task_id).hex()}.")
        for recipe in recipes:
            recipe_end(row=recipe, reason=options["reason"], now=timezone.now())
            self.stdout.write(f"Ended {recipe.identifier}.")

    def _import(self, file: Path) -> None:
        try:
            task = janus_task_register(parameters=task_file_read(file.read_bytes()), now=timezone.now())
        except TaskEndedError as error:
            raise CommandError(f"the task has ended: {error}", returncode=2) from None
        except (FieldError, TaskConflictError, OSError) as error:
            raise CommandError(str(error), returncode=2) from None
        self.stdout.write(f"Takes part in {bytes(task.task_id).hex()}.")

    def _list(self, tasks: Iterable[Task]) -> None:
        shown = list(tasks)
        counts, collected = counts_of(shown), collected_among(shown)
        rejections = rejections_among(shown, Side.HELPER)
        for task in shown:
            parts = [
                bytes(task.task_id).hex(),
                base64_text.encode_url(bytes(task.task_id)),
                f"registered {format_time(task.created_at)}",
                "share released" if task.pk in collected else f"{counts.get(task.pk, 0):,} reports",
            ]
            if task.pk in rejections:
                told = (f"{count:,} {reason}" for reason, count in rejections[task.pk].items())
                parts.append(f"rejected: {', '.join(told)}")
            if task.ended_at is not None:
                parts.append(f"ended {format_time(task.ended_at)}: {task.outcome}")
            self.stdout.write("  ".join(parts))


def _task_id(text: str) -> bytes:
    try:
        return task_id_of(text)
    except ValueError:
        return b""  # which no task has
