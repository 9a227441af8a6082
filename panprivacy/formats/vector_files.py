"""Files of official test vectors, for the commands `check-vectors`.

Each module checks its own vectors. This one has what they share: reading, comparing, a line for each file,
and the exit status.
"""

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from panprivacy.formats.console import printable

FileCheck = Callable[[Path], None]
"""Checks one file; VectorError at the first failure."""


class VectorError(Exception):
    """A vector that fails, or cannot be checked; the message names its place."""


def read_json(path: Path) -> Any:
    """The content of a file; VectorError if it cannot be read or is not JSON."""
    try:
        return json.loads(path.read_bytes())
    except OSError as error:
        raise VectorError(f"cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise VectorError(f"is not JSON: {error}") from error


def require_equal(what: str, ours: object, expected: object) -> None:
    """VectorError that names `what`, unless both are equal."""
    if ours != expected:
        raise VectorError(f"{what}: is {short(ours)}, not {short(expected)}")


def short(value: object) -> str:
    """At most 80 characters of a value."""
    text = str(value)
    return text if len(text) <= 80 else text[:77] + "…"


def check_files(paths: Sequence[Path], check_file: FileCheck) -> int:
    """Print a line for every file, and how many passed and failed. Returns 0 if every vector holds, otherwise
    1."""
    failed = 0
    for path in paths:
        try:
            check_file(path)
        except VectorError as error:
            failed += 1
            print(printable(f"FAILED  {path}: {error}"))  # noqa: T201  # a command's output
        else:
            print(printable(f"passed  {path}"))  # noqa: T201  # a command's output
    print(f"{len(paths) - failed} passed, {failed} failed")  # noqa: T201  # a command's output
    return 1 if failed else 0


def main(prog: str, description: str, check_file: FileCheck, arguments: Sequence[str] | None) -> int:
    """The command line `prog check-vectors FILE.json …`. Returns the exit status."""
    parser = argparse.ArgumentParser(prog=prog, description=description)
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("check-vectors", help="check official test vectors step by step")
    command.add_argument("files", nargs="+", type=Path, metavar="FILE.json")
    return check_files(parser.parse_args(arguments).files, check_file)
