"""One contract for every object store: a server of S3's protocol, and a directory."""

from typing import Any

import obstore
import pytest

from reports import object_store
from reports.object_store import (
    ObjectMissingError,
    Part,
    StoreDownError,
    folder_delete,
    object_put,
    object_size,
    object_written,
    objects_delete,
    objects_put,
    part_get,
    parts_get,
    store_check,
)
from tests.object_store import object_get
from tests.patience import PATIENCE


@pytest.fixture(params=["s3", "file"])
def store(request: pytest.FixtureRequest) -> str:
    return request.getfixturevalue("s3_store" if request.param == "s3" else "report_store")


def test_get_gives_what_was_put(store: str) -> None:
    object_put("a/b", b"first")
    object_put("a/b", b"content")
    objects_put([("a/c", b""), ("d", memoryview(b"other"))])
    objects_put([("e", b"alone")])
    assert [object_get(name) for name in ("d", "a/c", "a/b", "e")] == [b"other", b"", b"content", b"alone"]


def test_a_large_object_comes_back_whole(store: str) -> None:
    """In several parts where the store takes such."""
    content = bytes(range(256)) * 60_000
    object_put("large", content)
    assert object_get("large") == content
    assert parts_get([Part("large", 14_000_000, 300), Part("large", 1, 2)]) == [
        content[14_000_000:14_000_300],
        content[1:3],
    ]


def written(name: str, *pieces: bytes) -> None:
    with object_written(name) as write:
        for piece in pieces:
            write(memoryview(piece))


def test_object_written_in_pieces_comes_back_whole(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pieces = [bytes(range(256)) * length for length in (1, 50_000, 0, 30_000)]
    for together in (100_000_000, 6_000_000):
        monkeypatch.setattr(object_store, "WRITTEN_TOGETHER", together)
        written("large", *pieces)
        assert object_get("large") == b"".join(pieces)
    assert object_size("large") == 80_001 * 256


def test_an_object_whose_writing_fails_is_not_there(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_store, "WRITTEN_TOGETHER", 6_000_000)
    with pytest.raises(ZeroDivisionError), object_written("a") as write:
        write(bytes(7_000_000))
        raise ZeroDivisionError
    with pytest.raises(ObjectMissingError):
        object_size("a")


@pytest.mark.parametrize("part", [Part("a", 0, 8), Part("a", 6, 2), Part("a", 7, 1), Part("a", 70, 3)])
def test_a_part_beyond_the_end_is_missing(store: str, part: Part) -> None:
    object_put("a", b"content")
    with pytest.raises(ObjectMissingError):
        part_get(part)


def test_what_was_never_put_is_missing(store: str) -> None:
    object_put("a/b", b"1")
    with pytest.raises(ObjectMissingError):
        object_size("a/c")
    with pytest.raises(ObjectMissingError):
        parts_get([Part("a/b", 0, 1), Part("a/c", 0, 1)])
    with pytest.raises(ObjectMissingError):
        part_get(Part("a/c", 0, 1))


def test_delete_of_what_is_gone_is_no_error(store: str) -> None:
    objects_put([("a", b"1"), ("b", b"2"), ("c", b"3")])
    objects_delete(["b"])
    objects_delete(["a", "b", "never"])
    assert object_get("c") == b"3"
    with pytest.raises(ObjectMissingError):
        object_size("a")
    objects_delete([])


def test_delete_of_a_folder_leaves_its_neighbours(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_store, "DELETED_TOGETHER", 2)
    objects_put([(name, b"") for name in ("a/1", "a/2", "a/b/3", "a/b/4", "a/5", "ab/6", "7")])
    folder_delete("a")
    folder_delete("a")
    folder_delete("never")
    left = [meta["path"] for listed in obstore.list(object_store._backend()) for meta in listed]
    assert sorted(left) == ["7", "ab/6"]


def test_without_a_store_nothing_is_done(settings: Any) -> None:
    settings.OBJECT_STORE = ""
    store_check()
    with pytest.raises(StoreDownError):
        object_put("a", b"")


@pytest.fixture
def unreachable(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store at a port without a server."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    settings.OBJECT_STORE = "s3://nowhere/reports"
    object_store._connected.cache_clear()


def test_a_store_that_does_not_answer_is_down(unreachable: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_store, "_checked_at", None)
    monkeypatch.setattr(object_store, "_failed_at", None)
    for ask in (
        store_check,
        lambda: object_put("a", b""),
        lambda: objects_put([("a", b""), ("b", b"")]),
        lambda: object_size("a"),
        lambda: written("a", b""),
        lambda: part_get(Part("a", 0, 1)),
        lambda: objects_delete(["a"]),
        lambda: folder_delete("a"),
    ):
        with pytest.raises(StoreDownError) as caught:
            ask()
        assert "127.0.0.1" not in str(caught.value)


def test_a_bucket_that_is_not_there_is_not_written_to(s3_store: str, settings: Any) -> None:
    settings.OBJECT_STORE = "s3://another-bucket/reports"
    with pytest.raises(StoreDownError):
        object_put("a", b"")


def test_check_writes_and_is_believed(store: str, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_store, "_checked_at", None)
    monkeypatch.setattr(object_store, "_failed_at", None)
    store_check()
    assert object_get("health")
    objects_delete(["health"])
    store_check()
    with pytest.raises(ObjectMissingError):
        object_size("health")


def test_a_check_waits_for_no_other_one_that_hangs(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_store, "WAIT_SECONDS", 0.0)
    with object_store._checking, pytest.raises(StoreDownError, match="not answered yet"):
        store_check()


def test_store_that_just_failed_is_left_alone(unreachable: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_store, "WAIT_SECONDS", float(PATIENCE))
    monkeypatch.setattr(object_store, "_checked_at", None)
    monkeypatch.setattr(object_store, "_failed_at", None)
    with pytest.raises(StoreDownError) as first:
        store_check()
    assert "a moment ago" not in str(first.value)
    with pytest.raises(StoreDownError, match="a moment ago"):
        store_check()
