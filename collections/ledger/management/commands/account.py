"""`account`: questions about privacy as JSON lines on standard input, one answer each on standard output."""

import json
import sys
import time
from collections.abc import Iterator
from typing import Any, BinaryIO, NoReturn

from django.core.management.base import BaseCommand

from panprivacy.accounting.question import answer
from panprivacy.formats.errors import FieldError
from panprivacy.formats.json_objects import without_repetition

LONGEST_LINE = 65_536
"""Bytes of one question."""


class Command(BaseCommand):
    help = (
        "Read questions about privacy as JSON lines on standard input, and write one JSON line each: "
        "epsilon, or the parameter left out, with method, relation and seconds; or error, for that line "
        f"only. Needs no database. A line has at most {LONGEST_LINE:,} bytes."
    )
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        for line in _lines(sys.stdin.buffer):
            started = time.monotonic()
            result = _answered(line)
            result["seconds"] = round(time.monotonic() - started, 6)
            self.stdout.write(json.dumps(result, allow_nan=False))
            self.stdout.flush()


def _answered(line: bytes) -> dict[str, Any]:
    """The answer, or what is wrong, as JSON can hold it; whatever one line raises, the next are answered.

    The bounds of the fields bound the work, and no clock does: the same line has the same answer.
    """
    try:
        result = answer(_parsed(line))
        json.dumps(result, allow_nan=False)
    except FieldError as error:
        return {"error": str(error), "field": error.field}
    except Exception as error:  # shown in the answer; bounds should prevent this
        return {"error": f"line: asks for what cannot be computed ({type(error).__name__})"}
    return result


def _lines(stream: BinaryIO) -> Iterator[bytes]:
    """Lines without their ends; of one that is too long, only so much that it shows."""
    while line := stream.readline(LONGEST_LINE + 2):
        whole = line.endswith(b"\n")
        yield line.rstrip(b"\r\n") if whole else line
        while not whole and (rest := stream.readline(LONGEST_LINE)):
            whole = rest.endswith(b"\n")


def _parsed(line: bytes) -> object:
    if len(line) > LONGEST_LINE:
        raise FieldError("line", f"must have at most {LONGEST_LINE:,} bytes")
    try:
        return json.loads(
            line,
            parse_constant=_refused,
            object_pairs_hook=lambda pairs: without_repetition(pairs, _refuse_repeated),
        )
    except FieldError:
        raise
    except (ValueError, RecursionError) as error:
        raise FieldError("line", f"must be one JSON object: {error}") from None


def _refused(constant: str) -> NoReturn:
    raise FieldError("line", f"must be JSON, which has no {constant}")


def _refuse_repeated(_name: str) -> NoReturn:
    raise FieldError("line", "must name each field once")
