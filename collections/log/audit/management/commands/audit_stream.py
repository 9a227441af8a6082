"""`audit_stream`: the audit log as JSON lines, to standard output or a syslog receiver."""

import time
from argparse import ArgumentTypeError
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser, OutputWrapper
from django.db import DatabaseError, InterfaceError, close_old_connections, connection

from log.audit.models import Entry
from log.audit.selectors import BrokenLogError
from log.audit.stream import Bookmark, NotSentError, Receiver, entries_send, line_of
from log.audit.syslog import SyslogReceiver
from panprivacy.formats.errors import FieldError

INPUT_ERROR = 2

POLL_SECONDS = 2.0
LONGEST_PAUSE = 60.0
"""Between attempts after failures, which begin at `POLL_SECONDS` and double."""


class Command(BaseCommand):
    help = (
        "Send the audit log, one JSON object an entry, in order and at least once each. This process alone "
        "waits for a slow receiver."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--to",
            required=True,
            help="stdout, syslog+tls://HOST:PORT, or syslog://HOST:PORT on this machine",
        )
        begin = parser.add_mutually_exclusive_group()
        begin.add_argument(
            "--from",
            dest="index",
            type=_index,
            metavar="INDEX",
            help="number of the first entry (default: 1)",
        )
        begin.add_argument(
            "--state",
            type=Path,
            metavar="FILE",
            help="keeps the last entry that was sent; go on there",
        )
        parser.add_argument("--follow", action="store_true", help="wait for more entries, and retry failures")
        parser.add_argument("--ca", type=Path, metavar="FILE", help="trust these authorities only (PEM)")
        parser.add_argument(
            "--certificate", type=Path, metavar="FILE", help="own certificate and private key (PEM)"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        state: Path | None = options["state"]
        first = 1 if options["index"] is None else options["index"]
        try:
            receiver = _receiver(options, self.stdout)
            bookmark = Bookmark(first - 1) if state is None else Bookmark.read(state)
            if state is not None:
                bookmark.write(state)  # before anything is sent: what cannot be kept would be sent again
            # Needs one table alone: it does not ask whether others are up to date.
            self._stream(receiver, bookmark, state, follow=options["follow"])
        except FieldError as error:
            raise CommandError(str(error), returncode=INPUT_ERROR) from None
        except BrokenLogError as error:
            raise CommandError(f"the log does not continue what was sent: {error}") from None

    def _stream(self, receiver: Receiver, bookmark: Bookmark, state: Path | None, *, follow: bool) -> None:
        failures = 0
        while True:
            try:
                reached = entries_send(receiver, bookmark)
            except (NotSentError, DatabaseError, InterfaceError) as error:
                if not follow:
                    raise CommandError(_one_line(error)) from None
                self.stderr.write(_one_line(error))
                if not connection.in_atomic_block:
                    close_old_connections()  # one that was lost is not asked again
                time.sleep(min(LONGEST_PAUSE, POLL_SECONDS * 2 ** min(failures, 10)))
                failures += 1
                continue
            failures = 0
            if reached != bookmark:
                if state is not None:
                    reached.write(state)
                bookmark = reached
            elif not follow:
                return
            else:
                time.sleep(POLL_SECONDS)


class _StandardOutput:
    """Writes lines. They count as sent once they are written."""

    def __init__(self, output: OutputWrapper) -> None:
        self._output = output

    def send(self, entries: Sequence[Entry]) -> None:
        for entry in entries:
            self._output.write(line_of(entry))
        self._output.flush()


def _receiver(options: dict[str, Any], output: OutputWrapper) -> Receiver:
    ca, certificate = options["ca"], options["certificate"]
    if options["to"] != "stdout":
        return SyslogReceiver.at(options["to"], ca=ca, certificate=certificate)
    if ca is not None or certificate is not None:
        raise FieldError("ca" if ca is not None else "certificate", "is for syslog+tls:// only")
    return _StandardOutput(output)


def _index(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 1 <= int(text) < 2**63):
        raise ArgumentTypeError("must be a whole number from 1")
    return int(text)


def _one_line(error: Exception) -> str:
    """Of the database or the system: their messages may have several lines."""
    return " ".join(str(error).split())
