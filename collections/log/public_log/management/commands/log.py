"""`manage.py log`: the public log of this installation, and what it witnesses of others."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from log.audit.selectors import BrokenLogError
from log.public_log.cosignatures import witnesses_ask, witnesses_compare
from log.public_log.lost_states import NotStoppedError, log_rename, lost_state
from log.public_log.models import AskedWitness, Fork, WitnessedLog
from log.public_log.selectors import (
    bundle_bytes,
    checkpoint_note,
    latest_checkpoint,
    log_verifier_key,
    tile_bytes,
    witnesses_of,
)
from log.public_log.tree_growth import integrate
from log.public_log.verification import log_verify
from log.public_log.witness import witness_verifier_key
from panprivacy.protocols.transparency.tiles import Tile, entries_path, tiles_of
from storage import clock


class Command(BaseCommand):
    help = (
        "Check the public log, write it as files, or show what this installation witnesses of others' logs."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        commands = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=ArgumentParser)
        verify = commands.add_parser("verify", help="check entries, leaves, tiles and signatures")
        verify.set_defaults(run=self._verify)
        export = commands.add_parser(
            "export", help="write checkpoint, tiles and leaves as files, which any web server can serve"
        )
        export.add_argument("directory", type=Path, metavar="DIRECTORY", help="made if it does not exist")
        export.set_defaults(run=self._export)
        witness = commands.add_parser(
            "witness", help="print the keys of this log and this witness, and which logs were seen"
        )
        witness.set_defaults(run=self._witness)
        evidence = commands.add_parser(
            "evidence",
            help="print pairs of signed checkpoints that contradict each other; exit code 1 if any",
        )
        evidence.set_defaults(run=self._evidence)

        compare = commands.add_parser(
            "compare", help="compare with what witnesses signed; exit code 1 if entries were lost"
        )
        compare.set_defaults(run=self._compare)
        ask = commands.add_parser(
            "ask", help="have witnesses sign now, as a site's worker does; exit code 1 if too few did"
        )
        ask.set_defaults(run=self._ask)
        rename = commands.add_parser(
            "rename", help="after entries were lost: go on under the new name PANAPP_LOG_ORIGIN"
        )
        rename.set_defaults(run=self._rename)

    def handle(self, *_: Any, **options: Any) -> None:
        options["run"](options)

    def _verify(self, _: dict[str, Any]) -> None:
        try:
            size = log_verify()
        except BrokenLogError as error:
            raise CommandError(f"the log is broken: {error}") from None
        self.stdout.write(f"{size} entries, leaves, hashes and signatures match each other.")

    def _witness(self, _: dict[str, Any]) -> None:
        self.stdout.write(f"log {log_verifier_key().text}\nwitness {witness_verifier_key().text}")
        for seen in WitnessedLog.objects.order_by("origin"):
            self.stdout.write(f"seen {seen.origin} {seen.size}")

    def _ask(self, _: dict[str, Any]) -> None:
        require_witnesses()
        integrate()
        witnesses_ask(now=clock.database_now())
        for one in AskedWitness.objects.filter(failing_since__isnull=False):
            self.stdout.write(f"{one.witness}: {one.last_error}")
        checkpoint = latest_checkpoint()
        signed, enough = ([], False) if checkpoint is None else witnesses_of(checkpoint)
        self.stdout.write(f"Signed by {', '.join(signed) or 'no witness'}.")
        if not enough:
            raise CommandError("the quorum of PANAPP_LOG_POLICY is not reached")

    def _compare(self, _: dict[str, Any]) -> None:
        require_witnesses()
        for line in witnesses_compare(now=clock.database_now()):
            self.stdout.write(line)
        lost = lost_state()
        if lost is not None:
            raise CommandError(f"this log signed a state of {lost.size} entries that it has not")
        self.stdout.write("No witness that answered knows more than this log.")

    def _rename(self, _: dict[str, Any]) -> None:
        try:
            before = log_rename(now=clock.database_now())
        except NotStoppedError as error:
            raise CommandError(str(error)) from None
        integrate()
        self.stdout.write(f"{before} goes on as {settings.LOG_ORIGIN}. Give witnesses and devices its key:")
        self._witness({})

    def _evidence(self, _: dict[str, Any]) -> None:
        forks = list(Fork.objects.all())
        for fork in forks:
            self.stdout.write(f"# {fork.origin} at {fork.size}, found {fork.found_at.isoformat()}")
            self.stdout.write(f"{fork.known}\n{fork.other}")
        if forks:
            raise CommandError(f"{len(forks)} times a log signed two states of one size")
        self.stdout.write("No log contradicted itself.")

    def _export(self, options: dict[str, Any]) -> None:
        directory: Path = options["directory"]
        size = integrate()
        checkpoint = latest_checkpoint()
        if checkpoint is None:
            raise CommandError("nothing is signed yet")
        try:
            for tile in tiles_of(size):
                _write(directory / tile.path, tile_bytes(tile))
                if tile.level == 0:
                    _write(directory / entries_path(tile.index, tile.width), _bundle(tile))
            # Last: what it names is there already.
            _write(directory / "checkpoint", checkpoint_note(checkpoint))
        except OSError as error:
            raise CommandError(f"{directory}: {error.strerror}") from None
        self.stdout.write(f"{size} entries are in {directory}.")


def require_witnesses() -> None:
    """CommandError unless the policy of this installation has a witness that can be asked."""
    policy = settings.LOG_POLICY
    if policy is None or not any(witness.url for witness in policy.witnesses.values()):
        raise CommandError("PANAPP_LOG_POLICY names no witness with an address")


def _bundle(tile: Tile) -> bytes | None:
    return bundle_bytes(tile.index, tile.width)


def _write(path: Path, content: bytes | None) -> None:
    if content is None:
        raise CommandError(f"{path.name} is not complete: run `manage.py log verify`")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
