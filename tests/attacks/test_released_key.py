"""A server that is seized after a release must not open device snapshots with a deleted private key.

The private key is sealed under an erasable key, too: a small file next to the database, overwritten when the
deletion is committed. The sealed key is still found in the heap file and in the log. All files of the server
and the key-encryption key do not open it. Until the release they do, so the attack works.

Between commit and erasing, some milliseconds, and after a crash in that moment until the next upkeep, the
files still open it.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import connection

from panprivacy.encryption import load_private_key
from panprivacy.encryption.sealing import SealBrokenError, SealFormatError, unseal
from panprivacy.recipe.document import PublishedRecipe
from recipes.models import Recipe
from tests.attacks.collecting_process import publish
from tests.attacks.scene import Cluster, running_cluster, why_not
from tests.file_content import content_of
from tests.patience import PATIENCE
from tests.scenes import finish

ROOT = Path(__file__).resolve().parents[2]
SEAL, ERASABLE = b"PPSK\x01", b"PPSE\x01"
NAME_BYTES = 32
KEY_AT, KEY_BYTES = 8, 32
"""Of an erasable key, in its file."""

COLLECTED = [1]
"""What the snapshot says: that the event happened."""


@dataclass(frozen=True)
class Seized:
    """All of a seized server: every file of it, and its environment.

    Attributes:
        contents: of the files of the database, and of its backups.
        keys: directory of erasable keys.
        key_encryption_key: 32 bytes.
    """

    contents: Sequence[bytes]
    keys: Path
    key_encryption_key: bytes

    def open(self, published: dict[str, Any]) -> list[int] | None:
        """What the snapshot of a recipe says; None where nothing opens it.

        Args:
            published: answer of `collecting_process.publish`.
        """
        recipe = PublishedRecipe.from_document(json.loads(published["document"]))
        public = recipe.public_key
        for encoded in self._private_keys(published):
            private = load_private_key(public.scheme, encoded)
            if private.public_key.to_json() == public.to_json():
                state = [public.parse(bytes.fromhex(piece)) for piece in published["snapshot"]]
                return [private.decrypt(ciphertext, range(2)) for ciphertext in state]
        return None

    def _private_keys(self, published: dict[str, Any]) -> Iterator[bytes]:
        """Everything in the files that opens as this recipe's private key, whatever version sealed it."""
        owner, size = published["identifier"].encode(), len(published["sealed"]) // 2
        for content in self.contents:
            for found in re.finditer(re.escape(SEAL) + b"|" + re.escape(ERASABLE), content):
                sealed = content[found.start() : found.start() + size]
                if found[0] == SEAL:
                    yield from self._opened(sealed, [self.key_encryption_key], owner)
                    continue
                prefix = sealed[: len(ERASABLE) + NAME_BYTES]
                for inner in self._opened(sealed[len(prefix) :], [self.key_encryption_key], prefix + owner):
                    yield from self._opened(inner, self._erasable_keys(), prefix + owner)

    def _erasable_keys(self) -> Iterator[bytes]:
        for path in sorted(self.keys.glob("*")):
            key = path.read_bytes()[KEY_AT : KEY_AT + KEY_BYTES]
            if len(key) == KEY_BYTES:
                yield key

    @staticmethod
    def _opened(sealed: bytes, keys: Iterable[bytes], associated_data: bytes) -> Iterator[bytes]:
        for key in keys:
            try:
                yield unseal(sealed, key, associated_data)
            except (SealBrokenError, SealFormatError):
                continue


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif("connection.vendor != 'sqlite'", reason="PostgreSQL has files of its own: see below")
def test_server_seized_after_the_release_opens_no_snapshot() -> None:
    published = publish()

    def seized(*backups: bytes) -> Seized:
        files = [Path(str(connection.settings_dict["NAME"]) + suffix) for suffix in ("", "-wal")]
        contents = [*backups, *(content_of(file) for file in files if file.exists())]
        return Seized(contents, settings.DATA_DIR / "erasable-keys", settings.KEY_ENCRYPTION_KEY)

    before = seized()
    assert before.open(published) == COLLECTED
    finish(Recipe.objects.get(pk=published["pk"]))
    assert any(bytes.fromhex(published["sealed"]) in content for content in before.contents)
    assert seized(*before.contents).open(published) is None


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    reason = why_not()
    if reason is not None:
        if os.environ.get("PANAPP_TEST_SERVICES") == "required":
            pytest.fail(reason)
        pytest.skip(reason)
    with running_cluster() as made:
        yield made


class Process:
    """A collecting process of an installation whose database is a cluster's."""

    def __init__(self, cluster: Cluster, data: Path) -> None:
        ours = ("PANAPP_", "DJANGO_", "DATABASE_URL", "CELERY_")
        self._process = subprocess.Popen(
            (sys.executable, "-m", "tests.attacks.collecting_process"),
            cwd=ROOT,
            env={
                **{name: value for name, value in os.environ.items() if not name.startswith(ours)},
                "DJANGO_SETTINGS_MODULE": "panapp.settings",
                "DATABASE_URL": cluster.url,
                "PANAPP_DATA_DIR": str(data),
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, *command: object) -> Any:
        """Its answer; None where it died."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(" ".join(map(str, command)) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        return json.loads(line) if line else None

    def end(self) -> None:
        self._process.communicate(timeout=PATIENCE)


@contextmanager
def process(cluster: Cluster, data: Path) -> Iterator[Process]:
    started = Process(cluster, data)
    try:
        yield started
    finally:
        started.end()


def _seized(cluster: Cluster, data: Path, published: dict[str, Any]) -> Seized:
    files = [path for path in cluster.data.rglob("*") if path.is_file()]
    key = bytes.fromhex(published["key_encryption_key"])
    return Seized([path.read_bytes() for path in files], data / "erasable-keys", key)


def _files_with(cluster: Cluster, piece: bytes) -> set[str]:
    """Folders of the data directory with files that hold these bytes."""
    files = (path for path in cluster.data.rglob("*") if path.is_file())
    return {path.relative_to(cluster.data).parts[0] for path in files if piece in path.read_bytes()}


@pytest.mark.long
def test_postgresql_seized_after_the_release_opens_no_snapshot(cluster: Cluster, tmp_path: Path) -> None:
    with process(cluster, tmp_path) as running:
        # Stays open: the table's first page stays in use.
        running.ask("publish")
        published = running.ask("publish")
        assert _seized(cluster, tmp_path, published).open(published) == COLLECTED
        assert running.ask("release", published["pk"]) == {"keys": 0}
        sealed = bytes.fromhex(published["sealed"])
        assert "base" in _files_with(cluster, sealed)
        # A record of the log may be parted by the header of a page, but not in both halves.
        assert any(
            "pg_wal" in _files_with(cluster, half)
            for half in (sealed[: len(sealed) // 2], sealed[len(sealed) // 2 :])
        )
        assert _seized(cluster, tmp_path, published).open(published) is None


@pytest.mark.long
def test_release_killed_before_erasing_leaves_nothing_after_upkeep(cluster: Cluster, tmp_path: Path) -> None:
    with process(cluster, tmp_path) as first:
        kept, published = first.ask("publish"), first.ask("publish")
        assert first.ask("die_releasing", published["pk"]) is None
    # The release is committed, its key not erased yet: this is the moment that the threat model names.
    assert _seized(cluster, tmp_path, published).open(published) == COLLECTED
    with process(cluster, tmp_path) as second:
        second.ask("upkeep")
        assert _seized(cluster, tmp_path, published).open(published) is None
        # What is not released lost nothing.
        assert _seized(cluster, tmp_path, kept).open(kept) == COLLECTED
        assert second.ask("release", kept["pk"]) == {"keys": 0}
        assert _seized(cluster, tmp_path, kept).open(kept) is None


@pytest.mark.long
def test_publishing_killed_before_commit_leaves_no_key_after_upkeep(cluster: Cluster, tmp_path: Path) -> None:
    keys = tmp_path / "erasable-keys"
    with process(cluster, tmp_path) as first:
        first.ask("publish")
        assert first.ask("die_publishing") is None
    assert len(list(keys.iterdir())) == 2
    with process(cluster, tmp_path) as second:
        second.ask("upkeep")
        assert len(list(keys.iterdir())) == 1
        published = second.ask("publish")
        assert _seized(cluster, tmp_path, published).open(published) == COLLECTED
