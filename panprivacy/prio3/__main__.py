"""`python -m panprivacy.prio3 check-vectors FILE.json …`"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from panprivacy.prio3.vectors import VectorError, check_file


def check_vectors(paths: Sequence[Path]) -> int:
    """Print a line for every file and a count of both kinds. Returns 0 if every vector holds, else 1."""
    failed = 0
    for path in paths:
        try:
            check_file(path)
        except VectorError as error:
            failed += 1
            print(f"FAILED  {path}: {error}")  # noqa: T201  # a command's output
        else:
            print(f"passed  {path}")  # noqa: T201
    print(f"{len(paths) - failed} passed, {failed} failed")  # noqa: T201
    return 1 if failed else 0


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m panprivacy.prio3", description="Prio3 (VDAF draft 20)")
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("check-vectors", help="check official test vectors step by step")
    command.add_argument("files", nargs="+", type=Path, metavar="FILE.json")
    return check_vectors(parser.parse_args(arguments).files)


if __name__ == "__main__":
    sys.exit(main())
