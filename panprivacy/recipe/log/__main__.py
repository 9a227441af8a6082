"""`python -m panprivacy.recipe.log verify | check-vectors`: recipes, results, proofs, checked offline."""

from panprivacy.formats import console

if __name__ == "__main__":
    console.end_when_interrupted()

import argparse
import errno
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from panprivacy.formats import vector_files
from panprivacy.protocols.transparency.findings import CheckError
from panprivacy.protocols.transparency.policy import PolicyError
from panprivacy.protocols.transparency.vectors import check_file as check_vectors
from panprivacy.recipe.log.checks import check_file
from panprivacy.recipe.log.mirror import check_mirror
from panprivacy.recipe.log.policy_file import EARLY, read_policy

LARGEST_FILE = 256 * 1024 * 1024
"""Bytes of a result: the largest ones have millions of numbers."""

HOLDS, FAILS, WRONG_USE, UNCHECKED = 0, 1, 2, 3
"""Exit codes: all holds; something does not; a file cannot be read; not everything could be checked. In the
last case proof, policy, a witness or a partner's signature is missing."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m panprivacy.recipe.log", description="Public logs.")
    commands = parser.add_subparsers(required=True, dest="command")
    vectors = commands.add_parser("check-vectors", help="check test vectors of Merkle proofs (RFC 6962)")
    vectors.add_argument("files", nargs="+", type=Path, metavar="FILE.json")
    verify = commands.add_parser(
        "verify",
        help="check a recipe, a result, a proof or a whole log offline, and print what holds",
        epilog="Exit codes: 0 all holds, 1 something does not, 2 a file cannot be read, 3 proof, policy, "
        "a witness or a partner's signature is missing, so not everything was checked.",
    )
    verify.add_argument(
        "file",
        type=Path,
        metavar="FILE",
        help="a recipe as the API serves it, result.json, a proof, a checkpoint, or the directory of a log",
    )
    verify.add_argument("--proof", type=Path, metavar="FILE", help="of …/proof/ of the API")
    verify.add_argument(
        "--policy", type=Path, metavar="FILE", help="log, witnesses and quorum (C2SP, tlog-policy)"
    )
    options = parser.parse_args(arguments)
    if options.command == "check-vectors":
        return vector_files.check_files(options.files, check_vectors)
    return _verify(options.file, options.proof, options.policy)


def _verify(file: Path, proof: Path | None, policy: Path | None) -> int:
    latest = int(time.time() + EARLY.total_seconds())
    try:
        believed = None if policy is None else read_policy(policy)
        if file.is_dir() and proof is None:
            found = check_mirror(lambda path: _read(file / path), believed, latest=latest)
        else:
            found = check_file(_read(file), None if proof is None else _read(proof), believed, latest=latest)
    except CheckError as error:
        return _print_line("FAILED", str(error), FAILS)
    except PolicyError as error:
        return _print_line("ERROR", str(error), WRONG_USE)
    except OSError as error:
        return _print_line("ERROR", f"{error.filename}: {error.strerror}", WRONG_USE)
    for sentence in found.sentences:
        _print_line("holds", sentence, HOLDS)
    for sentence in found.unchecked:
        _print_line("OPEN", sentence, UNCHECKED)
    return UNCHECKED if found.unchecked else HOLDS


def _print_line(mark: str, sentence: str, code: int) -> int:
    sys.stdout.write(f"{mark:7} {console.printable(sentence)}\n")
    return code


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        content = file.read(LARGEST_FILE + 1)
    if len(content) > LARGEST_FILE:
        raise OSError(errno.EFBIG, f"has more than {LARGEST_FILE} bytes", str(path))
    return content


if __name__ == "__main__":
    console.run(main)
