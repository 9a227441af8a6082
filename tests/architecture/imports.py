"""What importing a part of the library loads: `make imports`.

Someone who wants one protocol of the library should not have to read, or load, the rest of it.
"""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent

MOST = {
    "panprivacy.accounting": (20, 6_000),
    "panprivacy.accounting.composition": (20, 6_000),
    "panprivacy.encryption": (20, 6_000),
    "panprivacy.encryption.elgamal": (20, 6_000),
    "panprivacy.protocols.prio3.prio3": (20, 6_000),
    "panprivacy.protocols.privacy_pass.issuance": (20, 6_000),
    "panprivacy.protocols.oblivious_http.capsules": (20, 6_000),
    "panprivacy.protocols.transparency.proof": (20, 6_000),
    "panprivacy.recipe.document": (60, 6_000),
}
"""Module → the most modules and lines of ours that importing it loads."""

LISTING = """
import sys
__import__(sys.argv[1])
for name, module in sorted(sys.modules.items()):
    if name.partition(".")[0] == "panprivacy":
        print(module.__file__)
"""


@dataclass(frozen=True)
class Loaded:
    modules: int
    lines: int


def loaded_by(module: str) -> Loaded:
    """What a fresh process loads of the library when it imports the module."""
    done = subprocess.run(
        [sys.executable, "-c", LISTING, module], cwd=ROOT, capture_output=True, text=True, check=True
    )
    files = [Path(line) for line in done.stdout.splitlines()]
    return Loaded(len(files), sum(len(file.read_text().splitlines()) for file in files))


def main() -> int:
    """Print a line for each; 1 if one loads too much."""
    failed = 0
    for module, (modules, lines) in MOST.items():
        loaded = loaded_by(module)
        failed |= loaded.modules > modules or loaded.lines > lines
        print(f"{module:45}{loaded.modules:4} of {modules} modules {loaded.lines:6,} of {lines:,} lines")  # noqa: T201  # a command
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
