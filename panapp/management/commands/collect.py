"""`collect`: one collection with simulated devices, from a recipe file and a CSV of events or values."""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from devices_sim.fleet import PROCESSES, FleetError
from devices_sim.forecast import Forecast
from devices_sim.trust_models import reporting_model
from panapp.collection import CollectionStalledError, collection_run
from panapp.database import require_migrated_database
from panapp.device_file import OPTIONS, device_file
from panapp.recipe_file import read_recipe_file, require_recipe_file, take_universe
from panapp.services import SIMULATING, ServiceError, running_services
from panprivacy.errors import FieldError
from panprivacy.parameters import Description
from panprivacy.recipe import RecipeDraft
from recipes.errors import PartnerUnavailableError
from trust_models import TRUST_MODELS

INPUT_ERROR = 2
INTERRUPTED = 130
WORKERS = Description(label="Workers", help="Number of worker processes.", minimum=1, maximum=64)


class Command(BaseCommand):
    help = (
        "Publish a recipe, run one simulated device per distinct device of a CSV file, submit their "
        "reports over HTTP, run the workers (and a helper or a shuffler where the recipe needs one), "
        "release, and print one JSON object."
    )
    # The checks of the whole project take longer than many a collection.
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, help="recipe file (JSON)")
        for option, header in OPTIONS.items():
            parser.add_argument(f"--{option}", type=Path, help=f"CSV with the header {','.join(header)}")
        parser.add_argument("--seed", type=int, help="repeat the devices' random choices (simulation only)")
        parser.add_argument(
            "--eager", action="store_true", help="let devices take every step, as real ones do"
        )
        parser.add_argument(
            "--json",
            action="store_true",
            help="print the object on one line, and no progress (but say beforehand what will take long)",
        )
        parser.add_argument("--workers", type=int, default=1, help="worker processes (default 1)")
        parser.add_argument(
            "--processes", type=int, default=os.cpu_count() or 1, help="processes that run devices"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if not settings.LOCAL:
            raise CommandError("collect simulates devices: it runs where PANAPP_MODE is local only")
        try:
            result = self.run(options)
        except FieldError as error:
            raise CommandError(str(error), returncode=INPUT_ERROR) from None
        except KeyboardInterrupt:
            raise CommandError(
                "interrupted; what was published is closed, and its result withheld", returncode=INTERRUPTED
            ) from None
        except (FleetError, PartnerUnavailableError, ServiceError, CollectionStalledError) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(json.dumps(result, indent=None if options["json"] else 2, ensure_ascii=False))

    def run(self, options: dict[str, Any]) -> dict[str, Any]:
        started = time.monotonic()
        members = read_recipe_file(options["file"])
        require_recipe_file(members)
        take_universe(members, options["file"].parent)  # a stream is refused for what it is, not for its list
        draft = RecipeDraft.from_mapping(members)
        model = reporting_model(draft)
        path = device_file(model, options, draft.statistic)
        # Before anything is started or published: calibration may find that the parameters cannot be met.
        statistic = draft.calibrated_statistic()
        WORKERS.check("workers", int, options["workers"])
        PROCESSES.check("processes", int, options["processes"])
        with model.workload(path, statistic) as workload:
            require_migrated_database()
            partner = TRUST_MODELS[draft.trust].partner
            beside = {} if partner is None else {partner.name: settings.DATA_DIR / partner.name}
            with running_services(
                workers=options["workers"], partners=beside, environment=SIMULATING
            ) as services:
                result = collection_run(
                    members=members,
                    workload=workload,
                    services=services,
                    seed=options["seed"],
                    eager=options["eager"],
                    processes=options["processes"],
                    actor=None,
                    say=(lambda _: None) if options["json"] else self.say,
                    forewarn=self.forewarn_if_long if options["json"] else self.forewarn,
                ).as_dict()
        result["seconds"]["total"] = round(time.monotonic() - started, 3)
        return result

    def forewarn(self, forecast: Forecast) -> None:
        self.stderr.write(str(forecast))

    def forewarn_if_long(self, forecast: Forecast) -> None:
        if forecast.is_long:
            self.forewarn(forecast)

    def say(self, line: str) -> None:
        if sys.stderr.isatty():
            self.stderr.write(f"\r\033[K{line}", ending="")
            self.stderr.flush()
        else:
            self.stderr.write(line)
