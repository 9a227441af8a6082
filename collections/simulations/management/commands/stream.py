"""`stream`: one stream through a pan-private algorithm, from a recipe file and a CSV of items."""

import json
import random
import secrets
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import Description
from recipes.recipe_file import read_recipe_file, take_universe
from simulations.collect.stream_simulation import stream_simulate

INPUT_ERROR = 2
SEED = Description(label="Seed", help="Repeats every random choice.", minimum=0)


class Command(BaseCommand):
    help = (
        "Fold the items of a CSV file into the state of a stream recipe, and print estimate and truth as "
        "one JSON object. Needs no database: nothing is published or stored."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, help="recipe file (JSON)")
        parser.add_argument("--items", type=Path, required=True, help="CSV with one column, item")
        parser.add_argument("--seed", type=int, help="repeat every random choice (simulation only)")
        parser.add_argument(
            "--intrude",
            type=int,
            nargs="+",
            action="extend",
            default=[],
            metavar="STEP",
            help="announce an intrusion after this many items; may be given several times",
        )
        parser.add_argument("--json", action="store_true", help="print the object on one line")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            source = self.random_source(options["seed"])
            members = read_recipe_file(options["file"])
            universe = take_universe(members, options["file"].parent)
            result = stream_simulate(
                members=members,
                universe=universe,
                path=options["items"],
                intrusions=options["intrude"],
                random_source=source,
                say=self.stderr.write,
            )
        except FieldError as error:
            raise CommandError(str(error), returncode=INPUT_ERROR) from None
        self.stdout.write(json.dumps(result, indent=None if options["json"] else 2, ensure_ascii=False))

    @staticmethod
    def random_source(seed: int | None) -> random.Random:
        """A simulation's, repeatable with a seed."""
        if seed is None:
            return secrets.SystemRandom()
        # Python's generator takes −5 for 5.
        return random.Random(SEED.check("seed", int, seed))  # noqa: S311  # a simulation
