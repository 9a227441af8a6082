"""What keeps a device's state: a file, or a store of the caller's own.

The file is small, and is replaced as a whole, or not at all, whenever the power fails (POSIX).
"""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol


class StateFileError(Exception):
    """A state file that cannot be used."""


class StateFileBusyError(StateFileError):
    """Another process has the state file open."""


class StateStore(Protocol):
    """A store of the caller's own, for one state. The content is bytes without meaning to the caller.

    Only one device may use a store at a time: two would take the same step twice.
    """

    def read(self) -> bytes | None:
        """The content that was last written; None if there is none."""

    def write(self, content: bytes) -> None:
        """Replace the content as a whole. Return once it is durable: the device then acts on it, and a device
        that finds an older content again may take a step or send a report twice."""


@dataclass
class MemoryStore:
    """The state in the caller's hands: bytes in, bytes out.

    Attributes:
        content: the state; None until there is one. After every call that may change it, and ahead of the
            next one, it is the caller's task to keep it.
    """

    content: bytes | None = None

    def read(self) -> bytes | None:
        """The content."""
        return self.content

    def write(self, content: bytes) -> None:
        """Take the content in."""
        self.content = content


class AtomicFile:
    """A store that is a file, with its replacement in the making (`.new`) and its lock (`.lock`, empty).

    The lock keeps two processes from taking the same step twice; the operating system lets go of it
    when the process ends, however it ends. Closing removes it if there is no file to lock.

    Raises:
        StateFileBusyError: the file is open elsewhere.
        StateFileError: the directory does not exist or cannot be written, or the name ends in `.new` or
            `.lock`: it may be the replacement or the lock of another file.
    """

    def __init__(self, path: Path) -> None:
        if path.suffix.lower() in (".new", ".lock"):
            raise StateFileError(
                f"{path} cannot be used: names that end in .new or .lock belong to other files"
            )
        self.path = path
        self._replacement = path.with_name(path.name + ".new")
        self._lock_path = path.with_name(path.name + ".lock")
        try:
            self._lock: IO[bytes] | None = _locked(self._lock_path)
        except (FileNotFoundError, NotADirectoryError):
            raise StateFileError(f"{path} cannot be used: its directory does not exist") from None
        except BlockingIOError:
            raise StateFileBusyError(f"{path} is locked: another process uses this state") from None
        except OSError as error:
            raise StateFileError(f"{path} cannot be locked: {error.strerror}") from error
        try:
            # Left by a process that was killed while writing; never the current state.
            self._replacement.unlink(missing_ok=True)
        except OSError:
            self.close()
            raise

    def read(self) -> bytes | None:
        """The content, or None if there is no file."""
        try:
            return self.path.read_bytes()
        except FileNotFoundError:
            return None

    def write(self, content: bytes) -> None:
        """Make `content` the file's content, durably. After an error, read the file to know whether it has
        the old or the new content."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(self._replacement, flags, 0o600)
        try:
            view = memoryview(content)
            while view:
                view = view[os.write(descriptor, view) :]
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(self._replacement, self.path)
        # The rename itself is durable only once the directory is.
        descriptor = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def close(self) -> None:
        if self._lock is not None:
            # Only the lock's holder may remove it; see `_locked` for a process that waits with it open.
            if not self.path.exists():
                with contextlib.suppress(OSError):  # an empty file is left over; nothing depends on it
                    self._lock_path.unlink()
            self._lock.close()
            self._lock = None


@contextlib.contextmanager
def open_store(location: Path | StateStore) -> Iterator[StateStore]:
    """The store at a location: a file, which is locked until the end of the context, or a store itself.

    Raises:
        StateFileBusyError, StateFileError: as in `AtomicFile`.
    """
    if not isinstance(location, Path):
        if not hasattr(location, "read"):
            raise StateFileError(f"a state is kept at a Path or in a store, not at {location!r}")
        yield location
        return
    with contextlib.closing(AtomicFile(location)) as file:
        yield file


def location_name(location: Path | StateStore) -> str:
    """Its name in messages."""
    return str(location) if isinstance(location, Path) else "the state"


def _locked(path: Path) -> IO[bytes]:
    """The lock file, created if need be, held by this process; BlockingIOError if another holds it."""
    while True:
        with contextlib.ExitStack() as stack:
            file = stack.enter_context(path.open("ab"))
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Its last holder may have removed it after it was opened: no other process would find this lock.
            if _is_at(file, path):
                stack.pop_all()
                return file


def _is_at(file: IO[bytes], path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False
