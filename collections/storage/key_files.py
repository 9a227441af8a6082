"""Erasable keys in small files of one host, one each, overwritten when they are erased."""

import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from panprivacy.encryption.sealing import seal, unseal
from storage.key_service import NAME_BYTES, PREFIX_BYTES, KeyAbsentError, KeyService, KeyServiceError
from storage.key_slots import KEY_BYTES, KeySlots

VERSION = 0
"""Of every key here: it is written once, and never changed."""

SUFFIX = ".key"
FILE_NAME = re.compile(
    rf"[0-9a-f]{{{2 * PREFIX_BYTES}}}-[0-9a-f]{{{2 * (NAME_BYTES - PREFIX_BYTES)}}}{re.escape(SUFFIX)}"
)


@dataclass(frozen=True)
class KeyFiles(KeyService):
    """All processes that use the keys must see the same directory, on one host."""

    directory: Path
    kind = "files"

    @property
    def place(self) -> str:
        """The directory."""
        return str(self.directory)

    def seal(self, name: bytes, secret: bytes, associated_data: bytes) -> bytes:
        """The key's file and its name in the directory are on the disk when this returns."""
        key = secrets.token_bytes(KEY_BYTES)
        with self._reachable():
            self._slots(name).write(VERSION, key)
        return seal(secret, key, associated_data, secrets.SystemRandom())

    def unseal(self, name: bytes, sealed: bytes, associated_data: bytes) -> bytes:
        """The file is read each time: what another process erased does not open."""
        with self._reachable():
            key = self._slots(name).read(VERSION)
        if key is None:
            raise KeyAbsentError("no file has this key")
        return unseal(sealed, key, associated_data)

    def erase(self, name: bytes) -> None:
        """The file is overwritten on the disk, then removed."""
        with self._reachable():
            self._slots(name).delete()

    def names(self, prefix: bytes) -> Iterator[bytes]:
        """One for each file. Files of other names are left alone."""
        with self._reachable():
            paths = list(self.directory.iterdir()) if self.directory.exists() else []
        for path in paths:
            if path.name.startswith(prefix.hex()) and FILE_NAME.fullmatch(path.name):
                yield bytes.fromhex(path.stem.replace("-", ""))

    @contextmanager
    def _reachable(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise KeyServiceError(
                f"a key in {self.directory} (PANAPP_ERASABLE_KEYS_DIR) cannot be read or written: "
                f"{error.strerror}"
            ) from error

    def _slots(self, name: bytes) -> KeySlots:
        database, key = name[:PREFIX_BYTES], name[PREFIX_BYTES:]
        return KeySlots(self.directory / f"{database.hex()}-{key.hex()}{SUFFIX}")
