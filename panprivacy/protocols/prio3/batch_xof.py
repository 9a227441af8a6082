"""XofTurboShake128 for the reports of a batch (VDAF draft 20, section 6.2)."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from panprivacy.protocols.prio3 import xof
from panprivacy.protocols.prio3.batch_field import BatchField
from panprivacy.protocols.prio3.batch_turboshake import Bytes, turboshake128
from panprivacy.protocols.prio3.prio3 import Prio3
from panprivacy.protocols.prio3.xof import SEED_SIZE

WORTH_A_BATCH = 100
"""Below this number of messages a library's function is faster, one message after the other."""


class BatchXof:
    """What the parties of one VDAF derive for N reports, each under a context of its own or all under one."""

    def __init__(self, vdaf: Prio3[Any], field: BatchField, contexts: Sequence[bytes] | bytes) -> None:
        """`contexts`: one for all reports, or one for each."""
        self._vdaf = vdaf
        self._field = field
        self._contexts = contexts

    def seeds(self, usage: int, seeds: Bytes | bytes, *binder: Bytes | bytes) -> Bytes:
        """`derive_seed` for each report: N rows of 32 bytes.

        Args:
            usage: constant of section 7.2.
            seeds: a row for each report, or one seed for all.
            binder: parts of the binder string, each a row for each report or one for all.
        """
        return _streams(self._messages(usage, (seeds, *binder)), SEED_SIZE)

    def elements(self, usage: int, length: int, seeds: Bytes | bytes, *binder: Bytes | bytes) -> Bytes:
        """`expand_into_vec` for each report: N rows of `length` encoded elements. Otherwise as `seeds`."""
        messages = self._messages(usage, (seeds, *binder))
        streams = _streams(messages, length * self._field.encoded_size)
        field = self._vdaf.field
        return without_excess(
            self._field, streams, lambda row: field.encode(xof.elements(field, bytes(messages[row]), length))
        )

    def _messages(self, usage: int, parts: Sequence[Bytes | bytes]) -> Sequence[bytes] | Bytes:
        """What is hashed for each report; rows of an array if all have one length."""
        count = next(len(part) for part in parts if not isinstance(part, bytes))
        if isinstance(self._contexts, bytes):
            return _side_by_side(count, [self._prefix(usage, self._contexts), *parts])
        prefixes = [self._prefix(usage, context) for context in self._contexts]
        if len({len(prefix) for prefix in prefixes}) == 1:
            return _side_by_side(count, [rows_of(prefixes), *parts])
        rest = _side_by_side(count, parts)
        return [prefix + row.tobytes() for prefix, row in zip(prefixes, rest, strict=True)]

    def _prefix(self, usage: int, context: bytes) -> bytes:
        return xof.prefix(SEED_SIZE, xof.domain_separation_tag(self._vdaf.identifier, usage, context))


def without_excess(field: BatchField, streams: Bytes, again: Callable[[int], bytes]) -> Bytes:
    """`streams`, cut into numbers; if one is no element, the row is the one that `again` derives number by
    number.

    A number is too large once in 2^32 (Field64) or 2^59 (Field128): the rows of a batch hardly ever are.
    """
    for row in np.flatnonzero(~field.are_elements(streams)):
        streams[row] = np.frombuffer(again(int(row)), np.uint8)
    return streams


def rows_of(strings: Sequence[bytes]) -> Bytes:
    """Strings of one length as the rows of an array that must not be written to."""
    return np.frombuffer(b"".join(strings), np.uint8).reshape(len(strings), -1)


def _side_by_side(count: int, parts: Sequence[Bytes | bytes]) -> Bytes:
    sizes = [len(part) if isinstance(part, bytes) else part.shape[1] for part in parts]
    rows = np.empty((count, sum(sizes)), np.uint8)
    at = 0
    for part, size in zip(parts, sizes, strict=True):
        rows[:, at : at + size] = np.frombuffer(part, np.uint8) if isinstance(part, bytes) else part
        at += size
    return rows


def _streams(messages: Sequence[bytes] | Bytes, length: int) -> Bytes:
    if isinstance(messages, np.ndarray) and len(messages) >= WORTH_A_BATCH:
        return turboshake128(messages, xof.DOMAIN, length)
    streams = [xof.stream(bytes(message), length) for message in messages]
    return rows_of(streams).copy()
