"""`series`: publish a recipe that is asked again and again, stop it, or try it on simulated devices."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.http import QueryDict
from django.utils import timezone

from devices_sim.fleet import FleetError
from panprivacy.formats.errors import FieldError
from panprivacy.formats.times import format_time, parse_time
from panprivacy.recipe.series import ROUNDS, SeriesDraft, repetition_of, zone_warning
from publishing.approvals import approval_needed
from recipes.errors import PartnerUnavailableError
from recipes.recipe_file import WITHOUT_APPROVAL, read_recipe_file, require_clocked_file, require_series_file
from series.api import series_document
from series.errors import SeriesStateError
from series.models import Round, Series
from series.operations import series_mark, series_publish, series_stop
from series.selectors import segment_to_follow
from simulations.collect.collection import CollectionStalledError
from simulations.collect.device_file import OPTIONS, add_weights_option
from simulations.collect.series_simulation import ROUND, series_simulate
from simulations.installation.services import ServiceError
from storage.database import require_migrated_database
from web.remote_site import TOKEN_VARIABLE, RemoteSite, SiteError

INPUT_ERROR = 2
INTERRUPTED = 130


class Command(BaseCommand):
    help = (
        "Publish a series for real devices, stop, mark or show it (here, or at another site with --site and "
        f"a token in {TOKEN_VARIABLE}), or run rounds of it on simulated devices."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        publish = actions.add_parser(
            "publish", help="publish a series file: a recipe file with `every`, and `rounds` or `until`"
        )
        publish.add_argument("file", type=Path, help="series file (JSON)")
        publish.add_argument("--json", action="store_true", help="print the series as JSON")
        stop = actions.add_parser("stop", help="give up the rounds that are not published yet")
        mark = actions.add_parser("mark", help="add a note to the trend")
        show = actions.add_parser("show", help="print a series with its rounds and results as JSON")
        show.add_argument("--segment", metavar="LABEL", help="values and changes of one segment")
        for one in (stop, mark, show):
            one.add_argument("identifier", help="identifier of the series")
        mark.add_argument("note", help="one line, e.g. 'version 2.1 released'")
        mark.add_argument("--at", help="when, as 2026-01-31T12:00:00Z (default: now)")
        for one in (publish, stop, mark, show):
            one.add_argument("--site", help="address of another site, e.g. https://telemetry.example")
        simulate = actions.add_parser(
            "simulate",
            help="run rounds on simulated devices, and print their results. All rounds have the same events, "
            f"unless the file's last column is `{ROUND}`",
        )
        simulate.add_argument("file", type=Path, help="series file (JSON)")
        for option, header in OPTIONS.items():
            columns = ",".join(header)
            simulate.add_argument(
                f"--{option}", type=Path, help=f"CSV with the header {columns} or {columns},{ROUND}"
            )
        simulate.add_argument("--rounds", type=int, required=True, help="how many rounds")
        simulate.add_argument("--seed", type=int, help="repeat the devices' random choices")
        simulate.add_argument(
            "--segment", metavar="LABEL", help="show the changes of one segment (default: of each)"
        )
        simulate.add_argument(
            "--baseline", type=int, metavar="ROUND", help="show the changes since this round, too"
        )
        add_weights_option(simulate)
        simulate.add_argument(
            "--json", action="store_true", help="print the list on one line, and no progress"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        action: Callable[[dict[str, Any]], None] = getattr(self, options["action"])
        try:
            action(options)
        except SiteError as error:
            refused = error.status is not None and 400 <= error.status < 500
            raise CommandError(str(error), returncode=INPUT_ERROR if refused else 1) from None
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
        require_series_file(members)
        for warning in (repetition_of(members).recipe.warning, zone_warning(members)):
            if warning:
                self.stderr.write(f"Warning: {warning}")
        place = _place(options)
        series = _whole(place.publish(members), place)
        if options["site"] is None and approval_needed(series["file"].get("population")):
            self.stderr.write(WITHOUT_APPROVAL)
        openings = [planned["opens_at"] for planned in series["rounds"]]
        if series["document"] is not None and not options["json"]:
            rounds = series["file"].get("rounds") or series["file"]["donation_rounds"]
            self.stdout.write(
                f"Published {series['name']!r}: {series['id']}, {rounds:,} rounds one after the other, "
                f"the first {openings[0]}"
            )
            return
        if options["json"]:
            content = {"series": series["id"], **series["file"], "openings": openings}
            self.stdout.write(json.dumps(content, ensure_ascii=False))
            return
        self.stdout.write(
            f"Published {series['name']!r}: {series['id']}, {len(openings)} rounds, last {openings[-1]}"
        )

    def stop(self, options: dict[str, Any]) -> None:
        place = _place(options)
        series = _whole(place.stop(options["identifier"]), place)
        skipped = sum(planned["state"] == Round.State.SKIPPED for planned in series["rounds"])
        self.stdout.write(
            f"Stopped {series['name']!r}: {skipped} of {len(series['rounds'])} rounds are not asked"
        )

    def mark(self, options: dict[str, Any]) -> None:
        at = timezone.now() if options["at"] is None else parse_time("at", options["at"])
        mark = {"note": options["note"], "at": format_time(at)}
        _place(options).mark(options["identifier"], mark)
        self.stdout.write("Marked")

    def show(self, options: dict[str, Any]) -> None:
        place, segment = _place(options), options["segment"]
        query = urlencode({"segment": segment}) if segment else ""
        series = _whole(place.show(options["identifier"], query), place)
        self.stdout.write(json.dumps(series, ensure_ascii=False))

    def simulate(self, options: dict[str, Any]) -> None:
        if not settings.LOCAL:
            raise CommandError("series simulate runs only if PANAPP_MODE is local")
        members = read_recipe_file(options["file"])
        require_clocked_file(members)
        rounds = ROUNDS.check("rounds", int, options["rounds"])
        if "until" not in members:
            members["rounds"] = rounds
        results = series_simulate(
            draft=SeriesDraft.from_mapping(members),
            rounds=rounds,
            options=options,
            say=(lambda _: None) if options["json"] else self.stderr.write,
            warn=self.stderr.write,
        )
        self.stdout.write(json.dumps(results, indent=None if options["json"] else 2, ensure_ascii=False))


class _Here:
    """This installation: its database, for the operator who may open it."""

    def publish(self, members: dict[str, Any]) -> dict[str, Any]:
        return series_document(series_publish(members=members, actor=None))

    def stop(self, identifier: str) -> dict[str, Any]:
        return series_document(series_stop(series=_series(identifier), actor=None))

    def mark(self, identifier: str, mark: dict[str, str]) -> None:
        at = parse_time("at", mark["at"])
        series_mark(series=_series(identifier), at=at, note=mark["note"], actor=None)

    def show(self, identifier: str, query: str) -> dict[str, Any]:
        series, asked = _series(identifier), QueryDict(query)
        segment_to_follow(series, asked.get("segment", ""))
        return series_document(series, asked)


class _Elsewhere:
    """Another site, by its API. All may be sent again: twice is once."""

    def __init__(self, site: RemoteSite) -> None:
        self._site = site

    def publish(self, members: dict[str, Any]) -> dict[str, Any]:
        return self._site.post("series/", members)

    def stop(self, identifier: str) -> dict[str, Any]:
        return self._site.post(f"series/{identifier}/stop/", {})

    def mark(self, identifier: str, mark: dict[str, str]) -> None:
        self._site.post(f"series/{identifier}/mark/", mark)

    def show(self, identifier: str, query: str) -> dict[str, Any]:
        return self._site.get(f"series/{identifier}/" + (f"?{query}" if query else ""))


def _whole(series: dict[str, Any], place: _Here | _Elsewhere) -> dict[str, Any]:
    """The series with all of its rounds, whose older ones come in pages."""
    pages, following = [series["rounds"]], series.get("next")
    while following:
        older = place.show(series["id"], urlsplit(following).query)
        pages.append(older["rounds"])
        # A site whose pages lead nowhere is asked no more.
        following = older.get("next") if older["rounds"] else None
    return {**series, "rounds": [one for page in reversed(pages) for one in page], "next": None}


def _place(options: dict[str, Any]) -> _Here | _Elsewhere:
    identifier = options.get("identifier", "0")
    if not set(identifier) <= set("0123456789abcdef"):
        raise FieldError("identifier", "must be 16 hexadecimal digits in lower case")
    if options["site"] is None:
        require_migrated_database()
        return _Here()
    return _Elsewhere(RemoteSite.from_environment(options["site"]))


def _series(identifier: str) -> Series:
    series = Series.objects.filter(identifier=identifier).first()
    if series is None:
        raise FieldError("identifier", "no series has this identifier")
    return series
