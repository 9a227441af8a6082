"""`series`: publish a recipe that is asked again and again, stop it, or try it on simulated devices."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from operator import itemgetter
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from devices_sim.fleet import FleetError
from devices_sim.trust_models import reporting_model
from panapp.collection import CollectionStalledError, collection_run
from panapp.database import require_migrated_database
from panapp.device_file import OPTIONS, device_file
from panapp.recipe_file import read_recipe_file
from panapp.services import ServiceError, running_services
from panprivacy.difference import Difference
from panprivacy.errors import FieldError
from panprivacy.recipe import format_time, parse_time
from panprivacy.series import ROUNDS, SeriesDraft
from recipes.errors import PartnerUnavailableError
from releases.models import Release
from series.models import Round, Series
from series.operations import SeriesStateError, series_mark, series_publish, series_stop
from series.selectors import change_between
from trust_models import TRUST_MODELS

INPUT_ERROR = 2
INTERRUPTED = 130


class Command(BaseCommand):
    help = "Publish a series for real devices, stop or mark it, or run rounds of it on simulated devices."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        publish = actions.add_parser(
            "publish", help="publish a recipe file with `every` and `rounds` or `until`"
        )
        publish.add_argument("file", type=Path, help="recipe file (JSON)")
        publish.add_argument("--json", action="store_true", help="print the series as JSON")
        stop = actions.add_parser("stop", help="give up the rounds that are not published yet")
        stop.add_argument("identifier", help="identifier of the series")
        mark = actions.add_parser("mark", help="note something beside the trend")
        mark.add_argument("identifier", help="identifier of the series")
        mark.add_argument("note", help="one line, e.g. 'version 2.1 released'")
        mark.add_argument("--at", help="when, as 2026-01-31T12:00:00Z (default: now)")
        simulate = actions.add_parser(
            "simulate", help="run rounds on simulated devices, and print their results"
        )
        simulate.add_argument("file", type=Path, help="recipe file (JSON)")
        for option, header in OPTIONS.items():
            simulate.add_argument(f"--{option}", type=Path, help=f"CSV with the header {','.join(header)}")
        simulate.add_argument("--rounds", type=int, required=True, help="how many rounds")
        simulate.add_argument("--seed", type=int, help="repeat the devices' random choices")
        simulate.add_argument(
            "--json", action="store_true", help="print the list on one line, and no progress"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        action: Callable[[dict[str, Any]], None] = getattr(self, options["action"])
        try:
            action(options)
        except (FieldError, SeriesStateError) as error:
            raise CommandError(str(error), returncode=INPUT_ERROR) from None
        except (FleetError, PartnerUnavailableError, ServiceError, CollectionStalledError) as error:
            raise CommandError(str(error)) from error
        except KeyboardInterrupt:
            raise CommandError(
                "interrupted; the round that ran is withheld", returncode=INTERRUPTED
            ) from None

    def publish(self, options: dict[str, Any]) -> None:
        members = read_recipe_file(options["file"])
        require_migrated_database()
        series = series_publish(members=members, actor=None)
        rounds = list(series.rounds.all())
        if not options["json"]:
            last = format_time(rounds[-1].opens_at)
            self.stdout.write(
                f"Published {series.name!r}: {series.identifier}, {len(rounds)} rounds, last {last}"
            )
            return
        openings = [format_time(planned.opens_at) for planned in rounds]
        content = {"series": series.identifier, **series.draft, "openings": openings}
        self.stdout.write(json.dumps(content, ensure_ascii=False))

    def stop(self, options: dict[str, Any]) -> None:
        require_migrated_database()
        series = series_stop(series=_series(options["identifier"]), actor=None)
        skipped = series.rounds.filter(state=Round.State.SKIPPED).count()
        self.stdout.write(
            f"Stopped {series.name!r}: {skipped} of {series.rounds.count()} rounds are not asked"
        )

    def mark(self, options: dict[str, Any]) -> None:
        require_migrated_database()
        at = timezone.now() if options["at"] is None else parse_time("at", options["at"])
        series_mark(series=_series(options["identifier"]), at=at, note=options["note"], actor=None)
        self.stdout.write("Marked")

    def simulate(self, options: dict[str, Any]) -> None:
        if not settings.LOCAL:
            raise CommandError("series simulate runs where PANAPP_MODE is local only")
        members = read_recipe_file(options["file"])
        rounds = ROUNDS.check("rounds", int, options["rounds"])
        if "until" not in members:
            members["rounds"] = rounds
        draft = SeriesDraft.from_mapping(members)
        model = reporting_model(draft.recipe)
        path = device_file(model, options, draft.recipe.statistic)
        # Before anything is started: calibration may find that the parameters cannot be met.
        statistic = draft.recipe.calibrated_statistic()
        opens_at = draft.openings(timezone.now())[0]
        say = (lambda _: None) if options["json"] else self.stderr.write
        results: list[dict[str, Any]] = []
        before: Release | None = None
        with _services(draft) as services:
            for number in range(1, rounds + 1):
                say(f"round {number} of {rounds}")
                with model.workload(path, statistic) as workload:
                    result = collection_run(
                        members=draft.round(number, rounds, opens_at).as_dict(),
                        workload=workload,
                        services=services,
                        seed=None if options["seed"] is None else options["seed"] + number - 1,
                        eager=False,
                        processes=os.cpu_count() or 1,
                        actor=None,
                        say=say,
                    )
                release = result.release
                released = release.outcome == Release.Outcome.RELEASED
                change = None
                if released and before is not None:
                    change = change_between(before, release, among=rounds - 1)
                results.append(result.as_dict() | {"change": _change(change, scalar=statistic.scalar)})
                before = release if released else before
        self.stdout.write(json.dumps(results, indent=None if options["json"] else 2, ensure_ascii=False))


@contextmanager
def _services(draft: SeriesDraft) -> Iterator[Any]:
    require_migrated_database()
    partner = TRUST_MODELS[draft.recipe.trust].partner
    beside = {} if partner is None else {partner.name: settings.DATA_DIR / partner.name}
    with running_services(workers=1, partners=beside) as services:
        yield services


def _change(change: Difference | None, *, scalar: bool) -> dict[str, Any] | None:
    if change is None:
        return None
    shape: Callable[[Any], Any] = itemgetter(0) if scalar else list
    return {
        "difference": shape(change.values),
        "level": change.interval.level,
        "low": shape(change.interval.low),
        "high": shape(change.interval.high),
        "more_than_noise": shape(change.more_than_noise),
    }


def _series(identifier: str) -> Series:
    series = Series.objects.filter(identifier=identifier).first()
    if series is None:
        raise FieldError("identifier", "no series has this identifier")
    return series
