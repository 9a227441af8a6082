"""`demo`: a dashboard with collections of every kind, made from real data."""

import json
import os
import secrets
import shlex
import time
from collections.abc import Iterable, Sequence
from typing import Any

from django.conf import settings
from django.contrib.auth.models import Group, User
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from devices_sim.fleet import FleetError
from devices_sim.workloads.bucket import Workload
from devices_sim.workloads.flights import DatasetMissingError, flights, home_airports, tail_numbers
from panprivacy.device.transport import TransportError
from recipes.errors import PartnerUnavailableError
from recipes.models import Recipe
from results.models import Release
from simulations.collect.collection import CollectionStalledError, collection_run
from simulations.collect.demo_ledger import ledger_begin
from simulations.collect.stream_collection import stream_run
from simulations.installation.partners import KINDS, Pairing
from simulations.installation.ports import HOST, LARGEST_PORT
from simulations.installation.services import BASE_DIR, ServiceError, Services
from simulations.installation.shared_installation import shared_installation

EVENTS = ("flights_count.json", "flights_histogram.json", "flights_mean.json", "flights_two_server.json")
TOKENS = "flights_tokens.json"
VALUES = "flights_shuffle.json"
STREAM = "flights_stream.json"
JETBLUE = "B6"
ACCOUNTS = {"analyst": "Analysts", "auditor": "Auditors", "admin": ""}
PORT = 8000
PROCESSES = os.cpu_count() or 1
INTERRUPTED = 130


class Command(BaseCommand):
    help = (
        "Run collections on real flight data (three by one server, one by two, one with tokens through a "
        "relay, one through a shuffler, and one of a stream), and serve the dashboard on this machine."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--no-serve", action="store_true", help="end when the collections are released")
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
        self.stdout.write(f"Starting the site, and {', '.join(KINDS)}")
        with shared_installation(
            partners=KINDS,
            warn=self.stderr.write,
            lasts=serve,
            port=port if serve else None,
            workers=2,
            devices=PROCESSES,
            apart=True,
            environment={"PANAPP_TRY": "1"},
        ) as services:
            late = flights()
            for example in EVENTS:
                self.collect(example, late, services)
            # Of one airline, because every device asks for a token first.
            self.collect(TOKENS, flights(JETBLUE), services)
            self.collect(VALUES, home_airports(), services)
            self.stream(STREAM, services)
            for recipe in ledger_begin():
                self.stdout.write(f"Open to devices: {recipe.question}")
            if serve:
                self.serve(services)

    def collect(self, example: str, workload: Workload[Any], services: Services) -> None:
        members = self.begin(example)
        if members is None:
            return
        result = collection_run(
            members=members,
            workload=workload,
            services=services,
            seed=None,
            eager=False,
            processes=PROCESSES,
            say=lambda _: None,
        )
        reported = f"{result.fleet.accepted:,} aircraft reported"
        self.show(reported, result.recipe, result.release, result.truth, result.seconds["total"])

    def stream(self, example: str, services: Services) -> None:
        members = self.begin(example)
        if members is None:
            return
        items, universe = tail_numbers()
        result = stream_run(members=members, universe=universe, items=items, services=services)
        folded = f"{len(items):,} flights went into the state"
        self.show(folded, result.recipe, result.release, result.truth, result.seconds)

    def begin(self, example: str) -> dict[str, Any] | None:
        """The recipe file's fields; None if an earlier run has collected it."""
        members: dict[str, Any] = json.loads((BASE_DIR / "examples" / example).read_text())
        # One that was interrupted is withheld, and collected again.
        done = Release.objects.filter(
            recipe__name=members["name"], recipe__simulation=True, outcome=Release.Outcome.RELEASED
        )
        is_there = done.exists()
        self.stdout.write(f"{'Already there' if is_there else 'Collecting'}: {members['question']}")
        return None if is_there else members

    def show(
        self, what: str, recipe: Recipe, release: Release, truths: Sequence[float], seconds: float
    ) -> None:
        self.stdout.write(f"  {what}; released after {seconds:.1f} s")
        for label, value, error, truth in zip(
            recipe.published.calibrated_statistic.labels,
            release.values,
            release.standard_errors,
            truths,
            strict=True,
        ):
            self.stdout.write(f"  {label}: {value:.4g}, standard error {error:.2g} (truth {truth:.4g})")

    def serve(self, services: Services) -> None:
        self.stdout.write("")
        for name, group in ACCOUNTS.items():
            self.stdout.write(f"Sign in as {name:<8} with the password {reset_account(name, group)}")
        self.stdout.write(f"\nThe dashboard is at {services.base_url} (Ctrl-C ends it).")
        self.stdout.write(f"At {services.base_url}/try/ your own browser is a device.")
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
