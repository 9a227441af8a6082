"""Numbers and small structures that several messages share (DAP draft 18, section 4.1)."""

from collections.abc import Collection, Set
from dataclasses import dataclass
from enum import IntEnum
from itertools import pairwise
from typing import Annotated

from panprivacy.formats.tls_messages import UINT8, UINT16, UINT64, Message, Opaque

VERSION = b"dap-18"
"""Domain separation tag of the draft: every context and every HPKE info string starts with it."""

REPORT_ID_BYTES = 16
TASK_ID_BYTES = 32
BATCH_ID_BYTES = 32
CHECKSUM_BYTES = 32


class Role(IntEnum):
    """The parties of the protocol."""

    COLLECTOR = 0
    CLIENT = 1
    LEADER = 2
    HELPER = 3


class BatchMode(IntEnum):
    """How reports come into batches."""

    TIME_INTERVAL = 1
    LEADER_SELECTED = 2


class ReportError(IntEnum):
    """Why a report was rejected. `reason` is the draft's spelling, used in counts and on pages."""

    BATCH_COLLECTED = 1
    REPORT_REPLAYED = 2
    REPORT_DROPPED = 3
    HPKE_UNKNOWN_CONFIG_ID = 4
    HPKE_DECRYPT_ERROR = 5
    VDAF_VERIFY_ERROR = 6
    TASK_EXPIRED = 7
    INVALID_MESSAGE = 8
    REPORT_TOO_EARLY = 9
    TASK_NOT_STARTED = 10
    OUTDATED_CONFIG = 11

    @property
    def reason(self) -> str:
        """E.g. `report_replayed`."""
        return self.name.lower()


@dataclass(frozen=True)
class Interval(Message):
    """A span of time: with `start`, without `end`.

    Attributes:
        start, duration: in units of the task's time precision, since 1970.
    """

    start: Annotated[int, UINT64]
    duration: Annotated[int, UINT64]

    @property
    def end(self) -> int:
        """The first time after it."""
        return self.start + self.duration

    def encloses(self, other: "Interval") -> bool:
        """Whether `other` does not start sooner or end later."""
        return self.start <= other.start and other.end <= self.end


@dataclass(frozen=True)
class Extension(Message):
    """An extension of a task, a report, an aggregation job or a collection job: all have this form."""

    extension_type: Annotated[int, UINT16]
    extension_data: Annotated[bytes, Opaque(2)]


class UnsupportedExtensionError(ValueError):
    """Extensions that are unknown here: DAP's `unsupportedExtension`.

    Attributes:
        types: their numbers.
    """

    def __init__(self, types: tuple[int, ...]) -> None:
        super().__init__(f"unsupported extensions: {', '.join(map(str, types))}")
        self.types = types


def require_known(extensions: Collection[Extension], known: Set[int]) -> None:
    """UnsupportedExtensionError if the type of an extension is not in `known`."""
    types = tuple(extension.extension_type for extension in extensions)
    unknown = tuple(type_ for type_ in types if type_ not in known)
    if unknown:
        raise UnsupportedExtensionError(unknown)


def in_strict_order(extensions: Collection[Extension]) -> bool:
    """Whether every extension's type is greater than that of its predecessor."""
    types = [extension.extension_type for extension in extensions]
    return all(former < latter for former, latter in pairwise(types))


@dataclass(frozen=True)
class HpkeCiphertext(Message):
    """What HPKE's SealBase gives, and to which configuration of the recipient."""

    config_id: Annotated[int, UINT8]
    enc: Annotated[bytes, Opaque(2, minimum=1)]
    payload: Annotated[bytes, Opaque(4, minimum=1)]


@dataclass(frozen=True)
class HpkeConfig(Message):
    """A recipient's public key and algorithms, by their numbers in RFC 9180, section 7."""

    id: Annotated[int, UINT8]
    kem_id: Annotated[int, UINT16]
    kdf_id: Annotated[int, UINT16]
    aead_id: Annotated[int, UINT16]
    public_key: Annotated[bytes, Opaque(2, minimum=1)]
