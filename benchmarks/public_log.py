"""The public log with 10 million entries: how long an append, a proof and a verification take.

Run from the repository's root: `python -m benchmarks.public_log [--entries N]`. Works on an empty database of
its own (DATABASE_URL, by default SQLite). Entries and their hashes are put there in bulk; what is measured
runs the product's own code, with its commits:

- an append: an entry of the audit log, its leaf, the hashes above it, a signed checkpoint;
- a proof: of a random entry, as the API answers it;
- a verification of such a proof, with the checkpoint's signature.

Tiles are measured as files, as `manage.py log export` writes them, compared with 32 bytes for each entry and
level; and what the database holds of them, which is less: hashes of entries are computed.

The measure is as many bare SHA-256 of 65 bytes as a path has hashes. Writes
`benchmarks/results/public_log.json`. Exits with 1 if a median takes longer than the bar, or tiles take more
than 2% over.
"""

import argparse
import hashlib
import json
import platform
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULT = ROOT / "benchmarks" / "results" / "public_log.json"
if str(ROOT) not in sys.path:  # run as a script, Python puts this folder there instead
    sys.path.insert(0, str(ROOT))

from benchmarks.local_site import prepare

BAR = 0.020
"""Most seconds of each operation, of processor time: other work on the machine, and its disk, do not count.
With PostgreSQL, its own processor time is not measured."""

MOST_BYTES = 1.02
"""Of tiles as files, for each 32 bytes of an entry and level."""

ROUNDS = 200
AT_ONCE = 1 << 18
"""Hashes that are put into the tree at once; whole tiles."""


def content_of(position: int) -> bytes:
    """A leaf as long as that of an entry that is not public."""
    return f'{{"commitment":"{position:064x}"}}'.encode()


def build(entries: int) -> None:
    """The log with this many entries, as if each had come on its own."""
    from django.conf import settings
    from django.db import connection, transaction

    from log.audit.guards import HEAD
    from log.audit.models import Head
    from log.public_log import tree_growth
    from log.public_log.models import Tree
    from panprivacy.protocols.transparency.merkle import leaf_hash

    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(LEAVES[connection.vendor], [entries])
    for start in range(0, entries, AT_ONCE):
        with transaction.atomic():
            made = range(start, min(entries, start + AT_ONCE))
            tree_growth.hashes_append([leaf_hash(content_of(position)) for position in made], start)
    with transaction.atomic(), connection.cursor() as cursor:
        for statement in HEAD.remove_statements(connection.vendor):
            cursor.execute(statement)
        Head.objects.update(index=entries)
        for statement in HEAD.install_statements(connection.vendor):
            cursor.execute(statement)
        Tree.objects.create(pk=1, origin=settings.LOG_ORIGIN, size=entries)
    if connection.vendor == "postgresql":
        connection.cursor().execute("ANALYZE")


LEAVES = {
    "sqlite": (
        "WITH RECURSIVE n(p) AS (SELECT 0 UNION ALL SELECT p + 1 FROM n WHERE p + 1 < %s) "
        "INSERT INTO public_log_leaf (position, content) "
        """SELECT p, printf('{"commitment":"%%064x"}', p) FROM n"""
    ),
    "postgresql": (
        "INSERT INTO public_log_leaf (position, content) "
        """SELECT p, '{"commitment":"' || lpad(to_hex(p), 64, '0') || '"}' """
        "FROM generate_series(0::bigint, %s::bigint - 1) AS p"
    ),
}

STORED = {
    "sqlite": "SELECT coalesce(sum(pgsize), 0) FROM dbstat WHERE name LIKE 'public_log_tile%%'",
    "postgresql": "SELECT pg_total_relation_size('public_log_tile')",
}


def stored_bytes() -> int | None:
    """What the table of tiles takes in the database; None if it cannot report it."""
    from django.db import DatabaseError, connection

    try:
        with connection.cursor() as cursor:
            cursor.execute(STORED[connection.vendor])
            return int(cursor.fetchone()[0])
    except DatabaseError:
        return None


def bytes_of_files(entries: int, directory: Path) -> int:
    """Sizes of the tiles as files: the last of each level as it is written, the others in full."""
    from log.public_log.selectors import tile_bytes
    from panprivacy.protocols.transparency.tiles import tiles_of

    total = length = 0
    written = directory / "tile"
    for tile in tiles_of(entries):
        if tile.width == 256 and tile.index:  # as long as the first
            total += length
            continue
        content = tile_bytes(tile)
        assert content is not None
        written.write_bytes(content)
        length = written.stat().st_size
        total += length
    return total


@dataclass(frozen=True)
class Took:
    """Medians in seconds: of this process's processor, and by the clock."""

    processor: float
    clock: float


def median(operation: Callable[[], object], rounds: int = ROUNDS) -> Took:
    taken = []
    for _ in range(rounds):
        start = time.process_time(), time.perf_counter()
        operation()
        taken.append((time.process_time() - start[0], time.perf_counter() - start[1]))
    return Took(*(statistics.median(column) for column in zip(*taken, strict=True)))


def run(entries: int, directory: Path) -> dict[str, Any]:
    from django.conf import settings
    from django.db import connection

    from log.audit.actions import ACCESS_DENIED
    from log.audit.operations import entry_append
    from log.public_log.selectors import bundle_bytes, proof_of
    from log.public_log.tree_growth import integrate
    from panprivacy.protocols.transparency.merkle import HASH_BYTES
    from panprivacy.protocols.transparency.policy import Policy
    from panprivacy.protocols.transparency.signed_note import ED25519, VerifierKey
    from panprivacy.protocols.transparency.tiles import HEIGHT, tiles_of
    from storage.signing_key import verification_key

    start = time.perf_counter()
    build(entries)
    building = time.perf_counter() - start
    files = bytes_of_files(entries, directory)
    levels = range(max(tile.level for tile in tiles_of(entries)) + 1)
    expected = sum(entries >> HEIGHT * level for level in levels) * HASH_BYTES

    key = VerifierKey(settings.LOG_ORIGIN, ED25519, verification_key().public_bytes_raw())
    policy = Policy.parse(f"log {key.text}\nquorum none\n".encode())
    draw = random.Random(17)
    positions = [draw.randrange(entries) for _ in range(ROUNDS)]

    def append() -> None:
        entry_append(action=ACCESS_DENIED, subject="s", actor=None, details={})
        integrate()

    append()
    appending = median(append)
    left = iter(positions)
    proofs = []
    proving = median(lambda: proofs.append(proof_of(next(left))))
    pairs = iter(list(zip(positions, proofs, strict=True)))

    def verify() -> None:
        position, proof = next(pairs)
        assert proof is not None
        proof.verify(content_of(position), policy)

    verifying = median(verify)
    path = len(proofs[0].path)  # type: ignore[union-attr]  # verified above
    node = bytes(65)
    bare = median(lambda: [hashlib.sha256(node).digest() for _ in range(path)])
    measured = {
        "append": appending,
        "proof": proving,
        "verification": verifying,
        "bundle": median(lambda: bundle_bytes(draw.randrange(entries // 256), 256)),
    }
    stored = stored_bytes()
    return {
        "database": connection.vendor,
        "entries": entries,
        "built_seconds": round(building, 1),
        "path": path,
        "bare_hashing_us": round(bare.processor * 1e6, 1),
        **{f"{name}_ms": round(took.processor * 1e3, 2) for name, took in measured.items()},
        **{f"{name}_clock_ms": round(took.clock * 1e3, 2) for name, took in measured.items()},
        **{f"{name}_over_bare": round(took.processor / bare.processor) for name, took in measured.items()},
        "levels": len(levels),
        "tile_bytes": files,
        "over_32_bytes_per_entry_and_level": round(files / expected, 4),
        "stored_bytes": stored,
        "stored_over_32_bytes_per_entry_and_level": None if stored is None else round(stored / expected, 4),
        "holds": max(took.processor for took in measured.values()) <= BAR and files <= MOST_BYTES * expected,
        "machine": f"{platform.machine()}, Python {platform.python_version()}",
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--entries", type=int, default=10_000_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="panapp-benchmark-") as name:
        prepare(Path(name))
        result = run(arguments.entries, Path(name))
    for member, value in result.items():
        print(f"{member:42} {value}")
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps(result, indent=2) + "\n")
    return 0 if result["holds"] else 1


if __name__ == "__main__":
    sys.exit(main())
