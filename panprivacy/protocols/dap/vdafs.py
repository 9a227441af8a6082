"""Which VDAF a task runs: code points and encoded parameters (DAP draft 18, appendix "VDAF Configuration
Encodings"; VDAF draft 20, section 10). A new VDAF is one line of `PRIO3`, or one of its own as ours is.
"""

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from panprivacy.encryption.interface import PrivateKey
from panprivacy.formats.errors import FieldError
from panprivacy.formats.tls_messages import UINT32, UINT64, Message
from panprivacy.protocols.dap.basics import VERSION, Role
from panprivacy.protocols.dap.task import TaskConfiguration
from panprivacy.protocols.encrypted_shares.configuration import IDENTIFIER, PanPrivateCountVec
from panprivacy.protocols.encrypted_shares.verifier import PanPrivateVerifier
from panprivacy.protocols.prio3.interface import Verifier
from panprivacy.protocols.prio3.prio3 import (
    L2_BOUND_SUM,
    Prio3,
    Prio3Count,
    Prio3Histogram,
    Prio3L1BoundSum,
    Prio3L2BoundSum,
    Prio3MultihotCountVec,
    Prio3Sum,
    Prio3SumVec,
)
from panprivacy.protocols.prio3.verifier import Prio3Verifier

MAX_LENGTH = 100_000
"""Longest vector, and longest chunk of a proof, that is accepted: a task of 2^32 elements would be an attack
on memory."""


class UnsupportedVdafError(ValueError):
    """A task whose VDAF is unknown here, or whose parameters are impossible to run."""


@dataclass(frozen=True)
class Prio3CountConfig(Message):
    """Measurements are 0 or 1."""


@dataclass(frozen=True)
class Prio3SumConfig(Message):
    """Measurements are 0 to `max_measurement`."""

    max_measurement: Annotated[int, UINT64]


@dataclass(frozen=True)
class Prio3SumVecConfig(Message):
    """Measurements are vectors of `length` numbers from 0 to `max_measurement`."""

    length: Annotated[int, UINT32]
    max_measurement: Annotated[int, UINT64]
    chunk_length: Annotated[int, UINT32]


@dataclass(frozen=True)
class Prio3HistogramConfig(Message):
    """Measurements are one of `length` buckets."""

    length: Annotated[int, UINT32]
    chunk_length: Annotated[int, UINT32]


@dataclass(frozen=True)
class Prio3MultihotCountVecConfig(Message):
    """Measurements are vectors of `length` bits with at most `max_weight` of them set."""

    length: Annotated[int, UINT32]
    chunk_length: Annotated[int, UINT32]
    max_weight: Annotated[int, UINT64]


@dataclass(frozen=True)
class Prio3L1BoundSumConfig(Message):
    """Measurements are vectors of `length` numbers from 0 that add up to at most `max_value`
    (draft-ietf-ppm-l1-bound-sum-02, section 4)."""

    length: Annotated[int, UINT32]
    max_value: Annotated[int, UINT64]
    chunk_length: Annotated[int, UINT32]


@dataclass(frozen=True)
class Prio3L2BoundSumConfig(Message):
    """Measurements are vectors of `length` numbers from 0 to 2·`offset`, whose squared distances from
    `offset` add up to at most `max_squares`."""

    length: Annotated[int, UINT32]
    offset: Annotated[int, UINT64]
    max_squares: Annotated[int, UINT64]
    chunk_length: Annotated[int, UINT32]


PRIO3: Mapping[int, tuple[type[Message], Callable[..., Prio3[Any]]]] = {
    1: (Prio3CountConfig, Prio3Count),
    2: (Prio3SumConfig, Prio3Sum),
    3: (Prio3SumVecConfig, Prio3SumVec),
    4: (Prio3HistogramConfig, Prio3Histogram),
    5: (Prio3MultihotCountVecConfig, Prio3MultihotCountVec),
    7: (Prio3L1BoundSumConfig, Prio3L1BoundSum),
    L2_BOUND_SUM: (Prio3L2BoundSumConfig, Prio3L2BoundSum),
}
"""`vdaf_type` → how its parameters are encoded, and the VDAF, which takes them by the same names."""


def prio3_with(vdaf_type: int, message: Message) -> Prio3[Any]:
    """The VDAF of that code point with these parameters; FieldError for impossible ones."""
    _, vdaf = PRIO3[vdaf_type]
    return vdaf(**dataclasses.asdict(message))


def plain_report_bytes(statistic: Any) -> int:
    """Bytes of all shares of one report.

    Args:
        statistic: calibrated, one that names its VDAF (`Randomizer`).
    """
    vdaf = prio3_with(statistic.vdaf_type, statistic.vdaf_message)
    shares = sum(vdaf.input_share_bytes(side) for side in SIDES.values())
    return vdaf.public_share_bytes + shares


def vdaf_name(vdaf_type: int) -> str:
    """The name of a VDAF that is known here, by its code point: `Prio3Sum`."""
    if vdaf_type == IDENTIFIER:
        return PanPrivateCountVec.__name__
    message, _ = PRIO3[vdaf_type]
    return message.__name__.removesuffix("Config")


SIDES: Mapping[Role, int] = {Role.LEADER: 0, Role.HELPER: 1}
"""Number of an aggregator in a VDAF."""


def context_of(task_id: bytes) -> bytes:
    """The VDAF's application context in a task."""
    return VERSION + task_id


def prio3_of(configuration: TaskConfiguration) -> Prio3[Any]:
    """The VDAF of a plain Prio3 task; a client shards with it.

    Raises:
        UnsupportedVdafError: another VDAF, or impossible parameters, including those with which the sum of
            the smallest batch could wrap round the VDAF's field.
        InvalidMessageError: parameters that do not decode.
    """
    if configuration.vdaf_type not in PRIO3:
        raise UnsupportedVdafError(f"VDAF {configuration.vdaf_type:#010x} is not one of Prio3")
    message, vdaf = PRIO3[configuration.vdaf_type]
    parameters = dataclasses.asdict(message.decode(configuration.vdaf_configuration))
    for name in ("length", "chunk_length"):
        if parameters.get(name, 1) > MAX_LENGTH:
            raise UnsupportedVdafError(f"{name}: must be at most {MAX_LENGTH}, not {parameters[name]}")
    try:
        prio3 = vdaf(**parameters)
        _require_exact_sums(prio3, configuration.min_batch_size)
    except FieldError as refusal:
        raise UnsupportedVdafError(str(refusal)) from refusal
    return prio3


def pan_private_of(configuration: TaskConfiguration) -> PanPrivateCountVec:
    """The VDAF of a task of pan-private shares.

    Raises:
        UnsupportedVdafError: impossible parameters.
    """
    try:
        vdaf = PanPrivateCountVec.decode(configuration.vdaf_configuration)
    except FieldError as refusal:
        raise UnsupportedVdafError(str(refusal)) from refusal
    if vdaf.length > MAX_LENGTH:
        raise UnsupportedVdafError(f"length: must be at most {MAX_LENGTH}, not {vdaf.length}")
    return vdaf


def _require_exact_sums(vdaf: Prio3[Any], min_batch_size: int) -> None:
    if min_batch_size > vdaf.largest_batch:
        largest = vdaf.circuit.largest_output
        raise FieldError(
            "min_batch_size",
            f"must be at most {vdaf.largest_batch} if measurements go up to {largest}, not "
            f"{min_batch_size}: sums could wrap round the VDAF's field",
        )


def verifier_for(
    configuration: TaskConfiguration,
    task_id: bytes,
    role: Role,
    verify_key: bytes,
    share_key: PrivateKey | None = None,
) -> Verifier:
    """The verifier of an aggregator for the reports of a task.

    Args:
        role: leader or helper.
        verify_key: 32 bytes that leader and helper share.
        share_key: this aggregator's private key of pan-private shares; a plain Prio3 task has none.

    Raises:
        UnsupportedVdafError: an unknown VDAF, or impossible parameters.
        InvalidMessageError: parameters that do not decode.
        ValueError: a share key that is missing, or is not of the scheme that the task names.
    """
    if configuration.vdaf_type != IDENTIFIER:
        return Prio3Verifier(prio3_of(configuration), verify_key, context_of(task_id))
    vdaf = pan_private_of(configuration)
    if share_key is None or share_key.public_key.scheme != vdaf.scheme:
        raise ValueError(f"the task's shares need a private key of scheme {vdaf.scheme}")
    return PanPrivateVerifier(vdaf.length, share_key, SIDES[role], verify_key, context_of(task_id))
