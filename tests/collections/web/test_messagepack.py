"""Bodies of MessagePack: what honest senders write is read, and nothing larger is built."""

from typing import Any

import msgpack
import pytest

from tests.memory import peak_of
from web.messagepack import MessagePackError, read_messagepack

LIMITS = {"containers": 5, "members": 1_000, "text_bytes": 200}


@pytest.mark.parametrize(
    "value",
    [
        {"batch": bytes(16), "items": ["a", "ß", "1" * 200]},
        {"nonce": bytes(16), "messages": [bytes(66)] * 1_000},
        {"reports": [{"nonce": b"n", "ciphertexts": [b"c"]}]},
        {"a": {"b": [[], {}]}},
        [None, True, -5, 1.5, 2**63],
        "text",
        [],
    ],
)
def test_what_the_library_packs_is_read_as_the_library_reads_it(value: Any) -> None:
    packed = msgpack.packb(value)
    assert read_messagepack(packed, **LIMITS) == value == msgpack.unpackb(packed)


def test_every_way_to_write_a_length_is_read() -> None:
    for head in (b"\x92", b"\xdc\x00\x02", b"\xdd\x00\x00\x00\x02"):
        assert read_messagepack(head + b"\x01\x02", **LIMITS) == [1, 2]
    for head in (b"\x81", b"\xde\x00\x01", b"\xdf\x00\x00\x00\x01"):
        assert read_messagepack(head + b"\xa1a\x02", **LIMITS) == {"a": 2}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xc1",
        b"\x91",
        b"\x81\xa1a",
        b"\xdd\xff\xff\xff\xff",
        b"\xdf\xff\xff\xff\xff",
        b"\xc6\xff\xff\xff\xff",
        b"\xa1\xff",
        b"\xd6\xff\x00\x00\x00\x00",
        b"\x01\x01",
        b"\x81\x01\x01",
        b"\x81\x90\x01",
        b"\x81\x91\x01\x01",
        b"\xc7\x00\x01",
        b"\x82\xa1a\x01\xa1a\x02",
        msgpack.packb({"a": 1, "b": 2, "c": 3, "d": 4}),
        msgpack.packb([0] * 1_001),
        msgpack.packb([[], [], [], [], []]),
        msgpack.packb([{}, {}, {}, {}, {}]),
    ],
)
def test_what_is_no_value_or_too_much_of_one_is_refused(body: bytes) -> None:
    with pytest.raises(MessagePackError):
        read_messagepack(body, **LIMITS)


@pytest.mark.parametrize(
    "body",
    [
        b"\xdd\x00\x00\x01\x90" + (b"\xdc\x03\xe8" + b"\x90" * 1_000) * 400,
        b"\xdd\x00\x00\x01\x90" + (b"\xdc\x03\xe8" + b"\x80" * 1_000) * 400,
        b"\xdc\x03\xe8" * 100_000,
        b"\xdd\x00\x00\x03\xe8" * 1_000,
        b"\x81\xa1a" * 100_000,
        b"\x81" * 100_000,
    ],
    ids=["lists of lists", "lists of objects", "deep", "deep and announced", "deep objects", "deep names"],
)
@pytest.mark.parametrize("containers", [2, 2_002])
def test_a_small_body_of_many_containers_is_refused_before_they_are_built(
    body: bytes, containers: int
) -> None:
    def refused() -> None:
        with pytest.raises(MessagePackError):
            read_messagepack(body, containers=containers, members=1_000, text_bytes=200)

    _, peak = peak_of(refused)
    # Built, the lists of the first take 25,000,000 bytes.
    assert peak < 2 * len(body) + 1_000_000


@pytest.mark.parametrize("value", ["\U0001f600" * 51, ["a" * 201], {"a" * 201: 1}])
def test_a_text_of_too_many_bytes_is_refused(value: Any) -> None:
    with pytest.raises(MessagePackError):
        read_messagepack(msgpack.packb(value), **LIMITS)
