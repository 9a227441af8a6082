"""`python -m panprivacy.recompute DIR`: whether the result of a recipe with a joint key is of its reports."""

import sys
from importlib.util import find_spec

from panprivacy.formats import console

if __name__ == "__main__":
    console.end_when_interrupted()
    if find_spec("py_arkworks_bls12381") is None:
        sys.stderr.write("install panprivacy[joint-key] first: the curve's library is missing\n")
        sys.exit(2)

import argparse
import json
import os
import secrets
import sys
import time
from collections.abc import Sequence
from concurrent.futures import BrokenExecutor
from pathlib import Path

from panprivacy.protocols.transparency.policy import Policy, PolicyError
from panprivacy.recipe.log.policy_file import EARLY, read_policy
from panprivacy.recompute.checks import CHECKS, Line, Recomputation

HOLDS, FAILS, WRONG_USE = 0, 1, 2
"""Exit codes: all holds; a check fails; no check could be made."""

MOST_WORKERS = 1_024

BY_THE_BUNDLE = "The keys are those that the bundle names. Pin the site's with --policy."
BY_THE_POLICY = "The site's key is the policy's; the helper's and the issuer's are the recipe's."

_WIDTH = max(map(len, CHECKS))


def main(arguments: Sequence[str] | None = None) -> int:
    """Check a bundle; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m panprivacy.recompute",
        description="Check a bundle of a recipe with a joint key, offline, and recompute its result.",
        epilog="Numbers of the result may differ from the recomputed ones by 1e-9 of their size. Exit codes: "
        "0 all holds, 1 a check fails (the last line names it), 2 no check could be made.",
    )
    parser.add_argument("folder", type=_folder, metavar="DIR", help="the bundle, unpacked")
    parser.add_argument(
        "--policy", type=Path, metavar="FILE", help="log, witnesses and quorum (C2SP, tlog-policy)"
    )
    parser.add_argument(
        "--workers", type=_workers, metavar="N", help="processes that share the work (default: one a core)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of lines")
    options = parser.parse_args(arguments)
    try:
        policy = None if options.policy is None else read_policy(options.policy)
    except PolicyError as error:
        return _error(str(error))
    except OSError as error:
        return _error(f"{error.filename}: {error.strerror}")
    try:
        return _recompute(
            options.folder, policy, options.workers or os.cpu_count() or 1, as_json=options.json
        )
    except BrokenExecutor:
        return _error("a worker process ended before its work was done; try fewer --workers")


def _recompute(folder: Path, policy: Policy | None, workers: int, *, as_json: bool) -> int:
    shown = _Progress()
    found = Recomputation(
        folder,
        policy=policy,
        latest=int(time.time() + EARLY.total_seconds()),
        source=secrets.SystemRandom,
        processes=workers,
        progress=shown.show,
    )
    lines = []
    for line in found.lines():
        shown.clear()
        lines.append(line)
        if not as_json:
            _write(f"{'holds' if line.holds else 'fails'}  {line.name + ':':{_WIDTH + 1}} {line.sentence}")
            sys.stdout.flush()
    holds = lines[-1].holds
    if as_json:
        sys.stdout.write(json.dumps(_document(found, lines, holds=holds), indent=2) + "\n")
    elif holds:
        _write(f"Not recomputed: {', '.join(found.not_recomputed) or 'nothing'}.")
        if found.not_signed:
            _write(f"Not signed, as only a simulation knows them: {', '.join(found.not_signed)}.")
        _write(f"{found.answer} {_pinned(policy)}")
    return HOLDS if holds else FAILS


def _document(found: Recomputation, lines: Sequence[Line], *, holds: bool) -> dict[str, object]:
    return {
        "holds": holds,
        "pinned": found.policy is not None,
        "checks": [{"name": line.name, "holds": line.holds, "sentence": line.sentence} for line in lines],
        "not_recomputed": found.not_recomputed if holds else None,
        "not_signed": found.not_signed if holds else None,
        "answer": found.answer if holds else None,
    }


def _pinned(policy: Policy | None) -> str:
    return BY_THE_BUNDLE if policy is None else BY_THE_POLICY


def _write(sentence: str) -> None:
    sys.stdout.write(f"{console.printable(sentence)}\n")


def _error(message: str) -> int:
    sys.stderr.write(f"error: {console.printable(message)}\n")
    return WRONG_USE


def _folder(text: str) -> Path:
    folder = Path(text)
    if not folder.is_dir():
        raise argparse.ArgumentTypeError(f"{text!r} is no folder")
    return folder


def _workers(text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or not 1 <= int(text[:9]) <= MOST_WORKERS:
        raise argparse.ArgumentTypeError(f"must be a whole number from 1 to {MOST_WORKERS:,}")
    return int(text)


class _Progress:
    """One line on standard error that is written again and again; nothing if it is no terminal."""

    def __init__(self) -> None:
        self._is_shown = sys.stderr.isatty()
        self._width = 0

    def show(self, name: str, seen: int, reports: int) -> None:
        """How many reports a check has seen."""
        if self._is_shown:
            text = f"{name}: {seen:,} of {reports:,} reports"
            sys.stderr.write(f"\r{text:{self._width}}")
            sys.stderr.flush()
            self._width = len(text)

    def clear(self) -> None:
        """Remove the line."""
        if self._width:
            sys.stderr.write(f"\r{'':{self._width}}\r")
            sys.stderr.flush()
            self._width = 0


if __name__ == "__main__":
    console.run(main)
