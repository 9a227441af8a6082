"""Objects outside of the database: any store that speaks S3's protocol, Google's or Azure's, or a directory.

The setting `OBJECT_STORE` selects one; the environment of the process has its credentials. An object is
written once, whole, and is there when `put` returns.
"""

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from functools import lru_cache
from itertools import islice
from typing import NamedTuple, TypeVar

import obstore
import structlog
from django.conf import settings
from django.db import OperationalError
from obstore.exceptions import BaseError, NotFoundError
from obstore.store import ObjectStore as Backend
from obstore.store import from_url

logger = structlog.get_logger(__name__)

T = TypeVar("T")

_MISSING = (NotFoundError, FileNotFoundError)
_FAILED = (BaseError, OSError)
"""The library raises some of its errors as those of files."""

REQUEST_SECONDS = 30
"""How long one attempt at a request may take."""

RETRY_SECONDS = 10
"""For how long a request that failed is tried again."""

AT_ONCE = 16
"""Requests of one process that are under way, at most."""

WRITTEN_TOGETHER = 8 * 1024 * 1024
"""Bytes of one request of an object that is written piece by piece."""

WRITTEN_AT_ONCE = 4
"""Such requests that are under way, at most."""

DELETED_TOGETHER = 1_000
"""Objects of one request to delete, at most: S3 takes no more."""

CHECK_SECONDS = 30.0
"""For which a process believes that the store takes what is written."""

WAIT_SECONDS = 2.0
"""For which a check waits for another one, and believes that the store is still down."""


class StoreDownError(OperationalError):
    """The store does not work, or is not the intended one. Nothing was done.

    An OperationalError, because the store counts as a part of the database here: the client is asked to
    retry.

    Attributes:
        is_told: the log knows of it already, by an event of its own.
    """

    is_told = True


class ObjectMissingError(Exception):
    """The store has no such object, or a shorter one."""


class Part(NamedTuple):
    """Bytes of one object."""

    name: str
    start: int
    length: int


def object_put(name: str, content: bytes | memoryview) -> None:
    """Write an object; durable when this returns. Raises StoreDownError: it may be there, or not."""
    try:
        obstore.put(_backend(), name, content)
    except _FAILED as error:
        raise _down("put", error) from None


def objects_put(objects: Sequence[tuple[str, bytes]]) -> None:
    """The same for several, side by side."""
    if len(objects) == 1:
        object_put(*objects[0])
        return
    _all(_pool().submit(object_put, name, content) for name, content in objects)


@contextmanager
def object_written(name: str) -> Iterator[Callable[[bytes | memoryview], object]]:
    """Gives a function that appends to a new object; the object is there, whole, when this ends without an
    error. Raises StoreDownError."""
    try:
        with obstore.open_writer(
            _backend(), name, buffer_size=WRITTEN_TOGETHER, max_concurrency=WRITTEN_AT_ONCE
        ) as writer:
            yield writer.write
    except _FAILED as error:
        raise _down("put", error) from None


def object_size(name: str) -> int:
    """The length of an object, in bytes.

    Raises:
        ObjectMissingError: there is none.
        StoreDownError: nothing is known of it.
    """
    try:
        return obstore.head(_backend(), name)["size"]
    except _MISSING:
        raise ObjectMissingError(name) from None
    except _FAILED as error:
        raise _down("head", error) from None


def part_get(part: Part) -> bytes:
    """Some bytes of an object, at least one. A whole one is read so, too: it may be longer than it was.

    Raises:
        ObjectMissingError: there is none, or it ends before.
        StoreDownError: nothing is known of it.
    """
    try:
        content = bytes(obstore.get_range(_backend(), part.name, start=part.start, length=part.length))
    except _MISSING:
        raise ObjectMissingError(part.name) from None
    except _FAILED as error:
        # A range that begins after the end is an error to a store.
        if object_size(part.name) < part.start + part.length:
            raise ObjectMissingError(part.name) from None
        raise _down("get", error) from None
    if len(content) < part.length:
        raise ObjectMissingError(part.name)
    return content


def parts_get(parts: Sequence[Part]) -> list[bytes]:
    """The same for several, side by side, in their order."""
    return _all(_pool().submit(part_get, part) for part in parts)


def objects_delete(names: Sequence[str]) -> None:
    """Delete objects; those already deleted are no error. Raises StoreDownError."""
    remaining = iter(names)
    while together := list(islice(remaining, DELETED_TOGETHER)):
        try:
            obstore.delete(_backend(), together)
        except _MISSING:
            # A directory raises at the first missing one.
            _each_deleted(together)
        except _FAILED as error:
            raise _down("delete", error) from None


def folder_delete(name: str) -> None:
    """Delete all objects below a name. Raises StoreDownError; what was deleted until then stays so."""
    try:
        for listed in obstore.list(_backend(), name, chunk_size=DELETED_TOGETHER):
            objects_delete([meta["path"] for meta in listed])
    except _FAILED as error:
        raise _down("list", error) from None


_checked_at: float | None = None
_failed_at: float | None = None
_checking = threading.Lock()


def store_check() -> None:
    """Write to the store, unless there is none or this process just did. Raises StoreDownError.

    One thread at a time asks a store that hangs: others must not wait for it, because anyone may request
    this.
    """
    global _checked_at, _failed_at
    if not settings.OBJECT_STORE:
        return
    if not _checking.acquire(timeout=WAIT_SECONDS):
        raise StoreDownError("the object store has not answered yet")
    try:
        now = time.monotonic()
        if _checked_at is not None and now - _checked_at < CHECK_SECONDS:
            return
        if _failed_at is not None and now - _failed_at < WAIT_SECONDS:
            raise StoreDownError("the object store failed a moment ago")
        _checked_at, _failed_at = None, None
        try:
            object_put("health", b"written to see whether this store takes anything")
        except StoreDownError:
            _failed_at = time.monotonic()
            raise
        _checked_at = time.monotonic()
    finally:
        _checking.release()


def _each_deleted(names: Iterable[str]) -> None:
    for name in names:
        try:
            obstore.delete(_backend(), name)
        except _MISSING:
            continue
        except _FAILED as error:
            raise _down("delete", error) from None


def _down(operation: str, error: Exception) -> StoreDownError:
    # The kind alone: messages hold addresses, and answers of the store.
    logger.warning("report_store_failed", operation=operation, error=type(error).__name__)
    return StoreDownError(f"the object store failed ({operation}: {type(error).__name__})")


def _all(futures: Iterable["Future[T]"]) -> list[T]:
    """What they give, once all have ended; the first failure is raised."""
    waiting = list(futures)
    for future in waiting:
        future.exception()
    return [future.result() for future in waiting]


def _backend() -> Backend:
    if not settings.OBJECT_STORE:
        raise StoreDownError("no object store is set")
    return _connected(settings.OBJECT_STORE, os.getpid())


@lru_cache(maxsize=4)
def _connected(url: str, process: int) -> Backend:
    """A client for this process: threads of the library do not survive a fork."""
    if url.startswith("file://"):
        return from_url(url, mkdir=True)
    return from_url(
        url,
        client_options={"timeout": f"{REQUEST_SECONDS}s", "connect_timeout": "5s", "allow_http": True},
        retry_config={"max_retries": 3, "retry_timeout": timedelta(seconds=RETRY_SECONDS)},
    )


def _pool() -> ThreadPoolExecutor:
    return _threads(os.getpid())


@lru_cache(maxsize=1)
def _threads(process: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(AT_ONCE, thread_name_prefix="object store")
