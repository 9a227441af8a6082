"""Caches whose entries are data and bear a code: who writes to Redis can neither run nor forge anything.

Django's own caches unpickle what they find, which runs any code in it. Here an entry is JSON behind an
HMAC-SHA256 over its key and itself. An entry that was altered, forged, or moved from another key counts as
missing, is logged, and is removed. The authentication code cannot detect an older entry of the same key that
an attacker puts back: counts of failed sign-ins can be reset in this manner, while numbers of the ledger are
the same whenever they were computed.
"""

import hmac
import json
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import structlog
from django.conf import settings
from django.core.cache.backends.base import DEFAULT_TIMEOUT
from django.core.cache.backends.filebased import FileBasedCache
from django.core.cache.backends.redis import RedisCache, RedisCacheClient
from django.core.exceptions import ImproperlyConfigured

logger = structlog.get_logger(__name__)

CODE_BYTES = 32
PURPOSE = b"panapp cache entries 1"
"""Keeps the key of the codes apart from the key-encryption key that it is derived from."""

_MISSING = object()


class EntryRefusedError(ValueError):
    """A stored entry that we did not write under this key."""


def entry_seal(key: str, value: object) -> bytes:
    """A value of JSON as it is stored under a key. Raises TypeError if it is none."""
    body = json.dumps(value, separators=(",", ":")).encode()
    return _code(key, body) + body


def entry_open(key: str, stored: bytes) -> Any:
    """Inverse of `entry_seal`: the value, lists in place of tuples.

    Raises:
        EntryRefusedError: nothing that `entry_seal` made for this key.
    """
    code, body = stored[:CODE_BYTES], stored[CODE_BYTES:]
    if not hmac.compare_digest(code, _code(key, body)):
        raise EntryRefusedError
    return json.loads(body)


def _code(key: str, body: bytes) -> bytes:
    if not settings.KEY_ENCRYPTION_KEY:
        raise ImproperlyConfigured("this process uses no cache: it has no PANAPP_KEY_ENCRYPTION_KEY")
    secret = hmac.digest(settings.KEY_ENCRYPTION_KEY, PURPOSE, "sha256")
    name = key.encode()
    return hmac.digest(secret, len(name).to_bytes(4, "big") + name + body, "sha256")


def _known(key: str, stored: bytes | None) -> Any:
    """What is stored, or `_MISSING`, also for what is not ours."""
    if stored is None:
        return _MISSING
    try:
        return entry_open(key, stored)
    except EntryRefusedError:
        # Not which one: keys reveal questions and names.
        logger.error("cache_entry_refused")
        return _MISSING


class _Client(RedisCacheClient):
    """Keys come with prefix and version, so that entries of one cache are none of another."""

    def add(self, key: Any, value: Any, timeout: Any) -> bool:
        client, sealed = self.get_client(key, write=True), entry_seal(key, value)
        if timeout == 0:
            return not self.has_key(key)
        if client.set(key, sealed, ex=timeout, nx=True):
            return True
        # What is stored there may not be ours: then it must not block.
        if self.has_key(key):
            return False
        return bool(client.set(key, sealed, ex=timeout, nx=True))

    def get(self, key: Any, default: Any) -> Any:
        client: Any = self.get_client(key)
        stored = client.get(key)
        value = _known(key, stored)
        if value is not _MISSING:
            return value
        if stored is not None:
            client.delete(key)
        return default

    def set(self, key: Any, value: Any, timeout: Any) -> None:
        client, sealed = self.get_client(key, write=True), entry_seal(key, value)
        if timeout == 0:
            client.delete(key)
        else:
            client.set(key, sealed, ex=timeout)

    def get_many(self, keys: Iterable[Any]) -> dict[Any, Any]:
        found = {key: self.get(key, _MISSING) for key in keys}
        return {key: value for key, value in found.items() if value is not _MISSING}

    def has_key(self, key: Any) -> bool:
        return self.get(key, _MISSING) is not _MISSING

    def incr(self, key: Any, delta: Any) -> int:
        """Exact, because concurrent additions are noticed; ValueError if there is no such count."""

        def add(pipe: Any) -> Any:
            number = _known(key, pipe.get(key))
            if type(number) is not int:
                raise ValueError(f"there is no count {key!r}")
            pipe.multi()
            pipe.set(key, entry_seal(key, number + delta), keepttl=True)
            return number + delta

        client: Any = self.get_client(key, write=True)
        return int(client.transaction(add, key, value_from_callable=True))

    def set_many(self, data: Mapping[Any, Any], timeout: Any) -> None:
        for key, value in data.items():
            self.set(key, value, timeout)


class AuthenticatedRedisCache(RedisCache):
    """A cache in Redis that processes share."""

    def __init__(self, server: Any, params: dict[str, Any]) -> None:
        super().__init__(server, params)
        self._class = _Client


class AuthenticatedFileCache(FileBasedCache):
    """A cache in files of one machine; the time at which an entry ends is under its code, too."""

    _key_to_file: Callable[..., str]
    _delete: Callable[[str], bool]

    def get(self, key: Any, default: Any = None, version: int | None = None) -> Any:
        path = Path(self._key_to_file(key, version))
        try:
            stored = path.read_bytes()
        except FileNotFoundError:
            return default
        entry = _known(self.make_key(key, version), stored)
        ends, value = (0.0, None) if entry is _MISSING else entry
        if ends is not None and ends < time.time():
            self._delete(str(path))
            return default
        return value

    def set(self, key: Any, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None) -> None:
        entry = [self.get_backend_timeout(timeout), value]
        super().set(key, entry_seal(self.make_key(key, version), entry), timeout, version)

    def _write_content(self, file: Any, timeout: Any, value: bytes) -> None:
        file.write(value)

    def has_key(self, key: Any, version: int | None = None) -> bool:
        return self.get(key, _MISSING, version) is not _MISSING

    def touch(self, key: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None) -> bool:
        value = self.get(key, _MISSING, version)
        if value is not _MISSING:
            self.set(key, value, timeout, version)
        return value is not _MISSING
