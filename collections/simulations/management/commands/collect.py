"""`collect`: one collection with simulated devices, from a recipe file and a CSV of events or values."""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import django
from django.apps import apps
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from devices_sim.devices import simulated_class
from devices_sim.fleet import PROCESSES
from devices_sim.fleet_attributes import FleetAttributes, require_attributes
from devices_sim.forecast import FleetForecast
from devices_sim.workloads.segments import checked_weights
from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import Description
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.recipe.rounds.draft import RoundsDraft
from panprivacy.statistics.trust_models import TRUST_MODELS
from recipes.recipe_file import has_rounds, read_recipe_file, require_recipe_file, take_universe
from simulations.collect.device_file import OPTIONS, add_weights_option, device_file
from simulations.installation.interrupts import interrupts_remembered

INPUT_ERROR = 2
INTERRUPTED = 130
WORKERS = Description(label="Workers", help="Number of worker processes.", minimum=1, maximum=64)
USUAL_WORKERS = min(4, os.cpu_count() or 1)
"""More have nothing to do: PANAPP_RECIPE_CHUNKS limits the chunks of one recipe under way at a time."""


class Command(BaseCommand):
    help = (
        "Publish a recipe, run one simulated device per distinct device of a CSV file, submit their "
        "reports over HTTP, run the workers (and every other server that the recipe needs), "
        "release, and print one JSON object."
    )
    # The checks of the whole project take longer than many a collection.
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, help="recipe file (JSON)")
        for option, header in OPTIONS.items():
            parser.add_argument(f"--{option}", type=Path, help=f"CSV with the header {','.join(header)}")
        parser.add_argument(
            "--bundle",
            type=Path,
            metavar="DIR",
            help="folder for what the result is recomputed from; for a recipe with a joint key "
            "(experimental)",
        )
        parser.add_argument("--seed", type=int, help="repeat the devices' random choices (simulation only)")
        add_weights_option(parser)
        parser.add_argument(
            "--attributes",
            metavar="FILE|NAME=VALUE,…",
            help="what devices know of themselves, for a recipe with a target: the same for all, or a CSV "
            "file with the header device,NAME,…",
        )
        parser.add_argument(
            "--eager", action="store_true", help="let devices take every step, as real ones do"
        )
        parser.add_argument(
            "--json",
            action="store_true",
            help="print the object on one line, and no progress (but say beforehand what will take long)",
        )
        parser.add_argument(
            "--workers",
            type=int,
            default=USUAL_WORKERS,
            help="processes that sum reports (default: one per core, at most 4)",
        )
        parser.add_argument(
            "--processes", type=int, default=os.cpu_count() or 1, help="processes that run devices"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            # From the beginning: what holds the devices' events must not stay behind.
            with interrupts_remembered():
                result = self.run(options)
        except FieldError as error:
            raise CommandError(str(error), returncode=INPUT_ERROR) from None
        except KeyboardInterrupt:
            raise CommandError(
                "interrupted; what was published is closed, and its result withheld", returncode=INTERRUPTED
            ) from None
        self.stdout.write(json.dumps(result, indent=None if options["json"] else 2, ensure_ascii=False))

    def run(self, options: dict[str, Any]) -> dict[str, Any]:
        started = time.monotonic()
        members = read_recipe_file(options["file"])
        rounds = RoundsDraft.from_mapping(members) if has_rounds(members) else None
        if rounds is None:
            require_recipe_file(members)
            # A stream is refused for what it is, not for its list.
            take_universe(members, options["file"].parent)
        draft = RecipeDraft.from_mapping(members) if rounds is None else rounds.recipe
        if draft.warning:
            self.stderr.write(f"Warning: {draft.warning}")
        if options["bundle"] is not None:
            self.require_bundle(options["bundle"], draft)
        attributes = None if options["attributes"] is None else self.attributes(options["attributes"])
        require_attributes(attributes, has_target=draft.target is not None)
        simulated_devices = simulated_class(draft)
        path = device_file(simulated_devices, options, draft.statistic)
        # Before anything is started or published: calibration may find that the parameters cannot be met.
        simulated = simulated_devices(draft.calibrated_statistic())
        WORKERS.check("workers", int, options["workers"])
        PROCESSES.check("processes", int, options["processes"])
        checked_weights("weights", options["weights"], draft.segments)
        with simulated.workload(path) as workload:
            # Imported only here: settings, apps and the code that runs servers take longer to load than the
            # check took.
            os.environ.setdefault("DJANGO_SETTINGS_MODULE", "panapp.settings")
            if not settings.LOCAL:
                raise CommandError("collect simulates devices: it runs only if PANAPP_MODE is local")
            if not apps.ready:
                django.setup()
            from simulations.collect.steps import collect

            result = collect(
                members=members,
                draft=draft,
                rounds=rounds,
                workload=workload,
                attributes=attributes,
                workers=options["workers"],
                seed=options["seed"],
                weights=options["weights"],
                eager=options["eager"],
                processes=options["processes"],
                bundle=options["bundle"],
                warn=self.stderr.write,
                say=(lambda _: None) if options["json"] else self.say,
                forewarn=self.forewarn_if_long if options["json"] else self.forewarn,
            )
        result["seconds"]["total"] = round(time.monotonic() - started, 3)
        return result

    @staticmethod
    def require_bundle(folder: Path, draft: RecipeDraft) -> None:
        """Before anything is started, rather than after the collection."""
        if not TRUST_MODELS[draft.trust].publishes_reports:
            raise FieldError("bundle", "is for recipes with a joint key (trust joint_key)")
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise FieldError("bundle", f"must be a new or an empty folder, not {folder}")

    @staticmethod
    def attributes(text: str) -> FleetAttributes:
        try:
            return FleetAttributes.parse(text)
        except OSError as error:
            raise FieldError("attributes", f"{text} cannot be read: {error.strerror}") from None

    def forewarn(self, forecast: FleetForecast) -> None:
        self.stderr.write(str(forecast))

    def forewarn_if_long(self, forecast: FleetForecast) -> None:
        if forecast.is_long:
            self.forewarn(forecast)

    def say(self, line: str) -> None:
        if sys.stderr.isatty():
            self.stderr.write(f"\r\033[K{line}", ending="")
            self.stderr.flush()
        else:
            self.stderr.write(line)
