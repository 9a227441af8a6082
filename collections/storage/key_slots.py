"""Keys that can be erased: two slots in one small file, overwritten in place.

A database keeps what was deleted, and older versions of a row: in dead rows, in logs, in backups. So data
that must be erased is sealed there under a key of its own, and keys are stored where overwriting really
erases.

Version v of what is sealed has slot v mod 2: the next key is written while the previous one still opens. A
slot is a block of its own, so that a write that is torn by a power failure spoils no other key, and bears a
checksum, so that a torn one is taken for empty.
"""

import fcntl
import hashlib
import os
import struct
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import structlog

from storage.key_service import KeyServiceError

logger = structlog.get_logger(__name__)

KEY_BYTES = 32
SLOTS = 2
BLOCK_BYTES = 4_096
"""Of a disk, or more: the unit that is written as a whole."""

_ENTRY = struct.Struct(f">Q{KEY_BYTES}s")
_CHECKSUM_BYTES = 16
_ENTRY_BYTES = _ENTRY.size + _CHECKSUM_BYTES


class KeysNotErasedError(RuntimeError):
    """Keys are left that should be erased, because a file or the key service failed."""


@dataclass(frozen=True)
class KeySlots:
    """One file. A missing one is as good as empty."""

    path: Path

    def read(self, version: int) -> bytes | None:
        """The key of that version; None if it is not, or not any more, here."""
        return self.read_all().get(version)

    def read_all(self) -> dict[int, bytes]:
        """Version → key, of both slots."""
        try:
            with self._locked(os.O_RDONLY, fcntl.LOCK_SH) as file:
                return dict(entry for slot in range(SLOTS) if (entry := _read(file, slot)) is not None)
        except FileNotFoundError:
            return {}

    def write(self, version: int, key: bytes) -> None:
        """Put a key into its version's slot, over what was there; returns when it is on the disk."""
        if len(key) != KEY_BYTES:
            raise ValueError(f"a key has {KEY_BYTES} bytes, not {len(key)}")
        is_new = not self.path.exists()
        if not self.path.parent.exists():
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            _sync_directory(self.path.parent.parent)
        entry = _ENTRY.pack(version, key)
        with self._locked(os.O_RDWR | os.O_CREAT, fcntl.LOCK_EX) as file:
            _overwrite(file, version % SLOTS, entry + _checksum(entry))
        if is_new:
            _sync_directory(self.path.parent)

    def erase(self, version: int) -> None:
        """Overwrite the key of that version, if it is still here. Another's in the same slot stays."""
        with suppress(FileNotFoundError), self._locked(os.O_RDWR, fcntl.LOCK_EX) as file:
            slot = version % SLOTS
            entry = _read(file, slot)
            if entry is not None and entry[0] == version:
                _overwrite(file, slot, bytes(_ENTRY_BYTES))

    def delete(self) -> None:
        """Overwrite every key, then remove the file."""
        with suppress(FileNotFoundError):
            with self._locked(os.O_RDWR, fcntl.LOCK_EX) as file:
                for slot in range(SLOTS):
                    _overwrite(file, slot, bytes(_ENTRY_BYTES))
            self.path.unlink()
            _sync_directory(self.path.parent)

    @contextmanager
    def _locked(self, flags: int, lock: int) -> Iterator[int]:
        file = os.open(self.path, flags | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, lock)
            yield file
        finally:
            os.close(file)


def all_erased(erasures: Iterable[tuple[str, Callable[[], None]]]) -> None:
    """Erase what is left in many files or keys: one that fails keeps no other from being erased.

    Args:
        erasures: name of the file or key, and what erases in it.

    Raises:
        KeysNotErasedError: some could not be read or written; of all others the keys are erased.
    """
    outcomes = [_succeeds(name, erase) for name, erase in erasures]
    if not all(outcomes):
        failed = outcomes.count(False)
        raise KeysNotErasedError(f"{failed} of {len(outcomes)} keys or files of keys could not be erased")


def _succeeds(name: str, erase: Callable[[], None]) -> bool:
    try:
        erase()
    except (OSError, KeyServiceError) as error:
        logger.error("keys_not_erased", file=name, error=type(error).__name__)
        return False
    return True


def _read(file: int, slot: int) -> tuple[int, bytes] | None:
    content = os.pread(file, _ENTRY_BYTES, slot * BLOCK_BYTES)
    entry, checksum = content[: _ENTRY.size], content[_ENTRY.size :]
    if len(content) < _ENTRY_BYTES or checksum != _checksum(entry):
        return None
    version, key = _ENTRY.unpack(entry)
    return version, key


def _overwrite(file: int, slot: int, content: bytes) -> None:
    os.pwrite(file, content.ljust(BLOCK_BYTES, b"\0"), slot * BLOCK_BYTES)
    os.fsync(file)


def _checksum(entry: bytes) -> bytes:
    return hashlib.sha256(entry).digest()[:_CHECKSUM_BYTES]


def _sync_directory(path: Path) -> None:
    """A new or removed name is on the disk once its directory is."""
    directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
