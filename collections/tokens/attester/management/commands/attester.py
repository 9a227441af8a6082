"""`manage.py attester enrol|revoke|codes|counts|export`: the devices of this attester."""

import csv
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from panprivacy.formats import base64_text
from storage import clock
from tokens.attester.enrolment import (
    COLUMNS,
    MOST_CODES,
    ListRefusedError,
    codes_make,
    devices_enrol,
    devices_read,
    devices_revoke,
)
from tokens.attester.kinds import attestation
from tokens.attester.models import Device
from tokens.attester.status import counts
from web.spreadsheets import inert


class Command(BaseCommand):
    help = "Enrol and revoke devices, make one-time codes, count, and export the list."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        enrol = actions.add_parser(
            "enrol", help="enrol the devices of a list; the same list again changes nothing"
        )
        enrol.add_argument("file", help=f"CSV with the columns {','.join(COLUMNS)}, or - for standard input")
        # Keys begin with a dash or a plus as with any letter: nothing that can be typed is an option.
        revoke = actions.add_parser(
            "revoke", help="refuse devices from now on", prefix_chars="\0", add_help=False
        )
        revoke.add_argument("devices", nargs="+", help="names, or keys in base64; of mtls, subjects")
        codes = actions.add_parser("codes", help="print fresh one-time codes, each for one device")
        codes.add_argument("number", type=int, help=f"1 to {MOST_CODES:,}")
        actions.add_parser("counts", help="show how many there are")
        actions.add_parser("export", help="print the list as CSV, with who is revoked")

    def handle(self, *args: Any, action: str, **options: Any) -> None:
        try:
            getattr(self, f"_{action}")(options)
        except ListRefusedError as error:
            raise CommandError(f"Nothing was changed:\n{error}", returncode=2) from None

    def _enrol(self, options: dict[str, Any]) -> None:
        if attestation().name != "roster":
            raise CommandError(
                f"file: PANAPP_ATTESTATION is {attestation().name}; lists are for roster", returncode=2
            )
        try:
            if options["file"] == "-":
                devices = devices_read(sys.stdin.buffer)
            else:
                with Path(options["file"]).open("rb") as file:
                    devices = devices_read(file)
        except OSError as error:
            raise CommandError(f"file: cannot be read: {error}", returncode=2) from None
        enrolled = devices_enrol(devices=devices)
        self.stdout.write(
            f"{enrolled.new:,} new, {enrolled.replaced:,} with another key, {enrolled.unchanged:,} unchanged."
        )

    def _revoke(self, options: dict[str, Any]) -> None:
        number = devices_revoke(chosen=options["devices"], pseudonym_of=attestation().pseudonym_of)
        others = " The others had been revoked before." if number < len(options["devices"]) else ""
        self.stdout.write(f"{number:,} revoked.{others}")

    def _codes(self, options: dict[str, Any]) -> None:
        if not 1 <= options["number"] <= MOST_CODES:
            raise CommandError(f"number: must be 1 to {MOST_CODES:,}", returncode=2)
        if not attestation().takes_codes:
            raise CommandError(
                f"number: PANAPP_ATTESTATION is {attestation().name}; codes are for roster and webauthn",
                returncode=2,
            )
        for code in codes_make(number=options["number"], today=clock.settled_now().date()):
            self.stdout.write(code)

    def _counts(self, options: dict[str, Any]) -> None:
        for name, count in counts().items():
            self.stdout.write(f"{name}  {count:,}")

    def _export(self, options: dict[str, Any]) -> None:
        rows = csv.writer(self.stdout, lineterminator="\n")
        rows.writerow((*COLUMNS, "revoked"))
        for device in Device.objects.order_by("name", "pk"):
            key = base64_text.encode(bytes(device.key or b""))
            # Keys are exact, also one that begins with a plus: base64 calls nothing.
            rows.writerow((inert(device.name), key, "yes" if device.revoked else "no"))
