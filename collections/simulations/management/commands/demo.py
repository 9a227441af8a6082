"""`demo`: a dashboard with collections of every kind, made from real data."""

import json
import logging
import os
import secrets
import shlex
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import Group, User
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from devices_sim.devices import simulated_class
from devices_sim.fleet import FleetError
from devices_sim.workloads.bucket import Workload
from devices_sim.workloads.crashes import WEEKS, WORSE, crashes
from devices_sim.workloads.flights import (
    DatasetMissingError,
    flight_events,
    flights,
    home_airports,
    tail_numbers,
)
from notifications.models import Rule
from notifications.rules import rule_create, subject_of
from panprivacy.device.transport import TransportError
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.recipe.series import SeriesDraft
from recipes.errors import PartnerUnavailableError
from recipes.models import Recipe
from results.models import Release
from series.models import Round
from simulations.collect.collection import CollectionStalledError, Say, collection_run
from simulations.collect.demo_ledger import ledger_begin
from simulations.collect.demo_progress import demo_progress_end, demo_progress_write
from simulations.collect.series_simulation import rounds_simulate
from simulations.collect.stream_collection import stream_run
from simulations.installation.partners import KINDS, Pairing
from simulations.installation.ports import HOST, LARGEST_PORT
from simulations.installation.services import BASE_DIR, ServiceError, Services
from simulations.installation.shared_installation import shared_installation

EXAMPLES = BASE_DIR / "examples"
SERIES = "crashes.json"
AB_TEST = "ab_test.json"
FUNNEL = "funnel.json"
TWO_SERVERS = "flights_two_server.json"
VALUES = "flights_shuffle.json"
STREAM = "flights_stream.json"
SECONDS = {SERIES: 20.0, AB_TEST: 3.0, FUNNEL: 4.0, TWO_SERVERS: 12.0, VALUES: 12.0, STREAM: 3.0}
"""Recipe file of each collection, in their order → about how long it takes on two cores."""

MESSAGES = "messages.log"
"""File of the data directory for what the servers log."""

ANALYST = "analyst"
ACCOUNTS = {ANALYST: "Analysts", "auditor": "Auditors", "admin": ""}

ALERT_ABOVE = 0.05
"""Usually 4% of the devices with the version crash, and in the last week 24%."""

PORT = 8000
PROCESSES = os.cpu_count() or 1
INTERRUPTED = 130


class Command(BaseCommand):
    help = (
        "Serve the dashboard on this machine, and run collections with simulated devices: a weekly series of "
        "crashes by version, an A/B test, and four of real flight data."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--no-serve", action="store_true", help="end when all collections have a result")
        parser.add_argument("--port", type=int, default=PORT, help=f"port of the dashboard (default {PORT})")

    def handle(self, *args: Any, **options: Any) -> None:
        if not settings.LOCAL:
            raise CommandError("demo makes accounts and simulations: it runs only if PANAPP_MODE is local")
        if not 1 <= options["port"] <= LARGEST_PORT:
            raise CommandError(f"port: must be 1 to {LARGEST_PORT}, not {options['port']}", returncode=2)
        try:
            self.run(serve=not options["no_serve"], port=options["port"])
        except (
            DatasetMissingError,
            FleetError,
            TransportError,
            PartnerUnavailableError,
            ServiceError,
            CollectionStalledError,
        ) as error:
            raise CommandError(str(error)) from error
        except KeyboardInterrupt:
            raise CommandError(
                "interrupted; `make demo` goes on where it stopped", returncode=INTERRUPTED
            ) from None

    def run(self, *, serve: bool, port: int) -> None:
        # One partner of each kind for all: what is published with the form may name them too.
        with (
            _logged_into(settings.DATA_DIR / MESSAGES) as messages,
            shared_installation(
                partners=KINDS,
                warn=self.stderr.write,
                lasts=serve,
                port=port if serve else None,
                workers=2,
                devices=PROCESSES,
                apart=True,
                environment={"PANAPP_TRY": "1"},
                messages=messages,
            ) as services,
        ):
            if serve:
                self.greet(services)
            for recipe in ledger_begin():
                self.stdout.write(f"Open to devices: {recipe.question}")
            self.collect_all(services)
            if serve:
                self.serve(services)

    def greet(self, services: Services) -> None:
        for name, group in ACCOUNTS.items():
            self.stdout.write(f"Sign in as {name:<8} with the password {reset_account(name, group)}")
        self.stdout.write(f"\nThe dashboard is at {services.base_url} (Ctrl-C ends it).")
        self.stdout.write(f"At {services.base_url}/try/ your own browser is a device.\n")
        self.stdout.flush()

    def collect_all(self, services: Services) -> None:
        collect: dict[str, Callable[[str, Services, Say], None]] = {
            SERIES: self.series,
            AB_TEST: partial(self.collect, ab_test),
            FUNNEL: partial(self.collect, _funnel),
            TWO_SERVERS: partial(self.collect, _flights),
            VALUES: partial(self.collect, _homes),
            STREAM: self.stream,
        }
        there = {example for example in SECONDS if _is_there(example)}
        try:
            for number, example in enumerate(SECONDS, start=1):
                question = _members(example)["question"]
                self.stdout.write(f"{number} of {len(SECONDS)}: {question}")
                if example in there:
                    self.stdout.write("  It is there already.")
                    continue
                begun = time.monotonic()
                others = sum(seconds for name, seconds in SECONDS.items() if name not in {*there, example})

                def tell(
                    _: str, begun: float = begun, example: str = example, others: float = others
                ) -> None:
                    left = max(0.0, SECONDS[example] - (time.monotonic() - begun))
                    demo_progress_write(done=len(there), collections=len(SECONDS), seconds_left=others + left)

                tell("")
                collect[example](example, services, tell)
                there.add(example)
                self.stdout.write(f"  The result is there after {time.monotonic() - begun:.1f} s.")
                self.stdout.flush()
        finally:
            demo_progress_end()

    def collect(
        self,
        workload_of: Callable[[], AbstractContextManager[Workload[Any]]],
        example: str,
        services: Services,
        say: Say,
    ) -> None:
        with workload_of() as workload:
            collection_run(
                members=_members(example),
                workload=workload,
                services=services,
                seed=None,
                eager=False,
                processes=PROCESSES,
                say=say,
            )

    def series(self, example: str, services: Services, say: Say) -> None:
        weeks = rounds_simulate(
            draft=SeriesDraft.from_mapping(_members(example)),
            rounds=WEEKS,
            workload_of=lambda week: nullcontext(crashes(week)),
            services=services,
            seed=None,
            processes=PROCESSES,
            say=say,
        )
        for result in weeks:
            alert_begin(result.recipe)

    def stream(self, example: str, services: Services, say: Say) -> None:
        items, universe = tail_numbers()
        stream_run(members=_members(example), universe=universe, items=items, services=services)

    def serve(self, services: Services) -> None:
        self.show_pairings(services.pairings.values())
        self.stdout.flush()
        try:
            while True:
                services.check()
                time.sleep(1)
        except KeyboardInterrupt:
            self.stdout.write(f"Stopped. The data stays in {settings.DATA_DIR}; `make demo` serves it again.")

    def show_pairings(self, pairings: Iterable[Pairing]) -> None:
        """The addresses of the partners, and the settings with which other commands can publish for
        them too."""
        variables: dict[str, str] = {}
        if "PANAPP_DATA_DIR" in os.environ:
            variables["PANAPP_DATA_DIR"] = shlex.quote(str(settings.DATA_DIR.resolve()))
        self.stdout.write("These servers run, too, each with a page that shows what it knows:")
        for pairing in pairings:
            variables |= pairing.site_variables()
            self.stdout.write(f"  {pairing.role:<8}  http://{HOST}:{pairing.port}/")
        settings_line = " ".join(f"{name}={value}" for name, value in variables.items())
        self.stdout.write(
            "To publish recipes that need one of them from another terminal (recipe, task), give it these "
            f"settings first:\n  export {settings_line}"
        )


@contextmanager
def _logged_into(path: Path) -> Iterator[Path]:
    """What this process logs goes to a file meanwhile: on the terminal are sentences only."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handlers = [
        handler
        for handler in logging.getLogger().handlers
        if isinstance(handler, logging.StreamHandler) and handler.stream is sys.stderr
    ]
    with path.open("a") as file:
        for handler in handlers:
            handler.setStream(file)
        try:
            yield path
        finally:
            for handler in handlers:
                handler.setStream(sys.stderr)


def _members(example: str) -> dict[str, Any]:
    members: dict[str, Any] = json.loads((EXAMPLES / example).read_text())
    return members


def _is_there(example: str) -> bool:
    """Whether an earlier run has collected it. What was interrupted is withheld, and collected again."""
    name = _members(example)["name"]
    released = Release.objects.filter(recipe__simulation=True, outcome=Release.Outcome.RELEASED)
    if example != SERIES:
        return released.filter(recipe__name=name).exists()
    last = Round.objects.filter(series__name=name, number=WEEKS)
    return released.filter(recipe__round__in=last).exists()


def _funnel() -> AbstractContextManager[Workload[Any]]:
    asked = _members(FUNNEL)
    return nullcontext(flight_events(asked["events"], asked["steps"]))


def _flights() -> AbstractContextManager[Workload[Any]]:
    return nullcontext(flights())


def _homes() -> AbstractContextManager[Workload[Any]]:
    return nullcontext(home_airports())


def ab_test() -> AbstractContextManager[Workload[Any]]:
    """The devices of the A/B test."""
    draft = RecipeDraft.from_mapping(_members(AB_TEST))
    simulated = simulated_class(draft)(draft.calibrated_statistic())
    return simulated.workload(EXAMPLES / "ab_test.csv")


def alert_begin(first: Recipe) -> None:
    """Alert the analyst of the demo, if there is one, when the version that gets worse crashes often."""
    analyst = User.objects.filter(username=ANALYST).first()
    if analyst is not None and first.round.number == 1:
        rule_create(
            user=analyst,
            subject=subject_of(series=first.round.series.identifier),
            when=Rule.When.ABOVE,
            segment=WORSE,
            value=ALERT_ABOVE,
            over_rounds=WEEKS,
        )


@transaction.atomic
def reset_account(name: str, group: str) -> str:
    """Create a demo account, or give it a new password; returns the password."""
    account, _ = User.objects.get_or_create(username=name)
    password = secrets.token_urlsafe(9)
    account.set_password(password)
    account.is_staff = account.is_superuser = not group
    account.save()
    account.groups.set(Group.objects.filter(name=group))
    return password
