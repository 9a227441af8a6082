"""Hypothesis strategies for messages, made from their wire types."""

import functools
import importlib
import pkgutil
from typing import Any

from hypothesis import strategies as st

from panprivacy.formats.tls_messages import (
    Code,
    FixedLength,
    Message,
    NestedMessage,
    Opaque,
    Rest,
    Select,
    Uint,
    Url,
    Vector,
    WireType,
)
from panprivacy.protocols import dap
from panprivacy.protocols.dap.aggregation import (
    AggregationJobContinueReq,
    AggregationJobInitReq,
    VerifyContinue,
    VerifyInit,
)
from panprivacy.protocols.dap.basics import Extension, HpkeConfig, Interval
from panprivacy.protocols.dap.collection import BatchSelector, CollectionJobReq, Query
from panprivacy.protocols.dap.task import TaskConfiguration, task_interval_extension
from panprivacy.protocols.dap.upload import HpkeConfigList

for found in pkgutil.iter_modules(dap.__path__):
    importlib.import_module(f"{dap.__name__}.{found.name}")

ALL_MESSAGES: list[type[Message]] = sorted(
    (
        message
        for message in Message.__subclasses__()
        if message.__module__.startswith(f"{dap.__name__}.") and not message.__name__.startswith("_")
    ),
    key=lambda message: message.__name__,
)
"""All of DAP; this module imports them. Other protocols and dialects have tests of their own."""

INTERVALS = st.builds(Interval, st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1))


def values(type_: WireType) -> st.SearchStrategy[Any]:
    """Every value of a wire type, short ones."""
    match type_:
        case Uint(width):
            return st.integers(0, 256**width - 1)
        case Code(names):
            return st.sampled_from(list(names))
        case FixedLength(length):
            return st.binary(min_size=length, max_size=length)
        case Url():
            return st.text(st.characters(max_codepoint=127), min_size=1, max_size=20)
        case Opaque(_, minimum):
            return st.binary(min_size=minimum, max_size=20)
        case NestedMessage(of):
            return messages(of)
        case Vector(of, _, minimum):
            return st.lists(messages(of), min_size=min(minimum, 1), max_size=3).map(tuple)
        case Rest(of):
            return st.lists(messages(of), max_size=3).map(tuple)
        case Select(cases):
            return st.one_of([messages(case) for case in cases.values()])
    raise TypeError(f"no strategy for {type_}")


def _sorted_extensions() -> st.SearchStrategy[Any]:
    return st.lists(
        messages(Extension), max_size=3, unique_by=lambda extension: extension.extension_type
    ).map(lambda found: tuple(sorted(found, key=lambda extension: extension.extension_type)))


def _unique(of: type[Message], key: Any, minimum: int = 0) -> st.SearchStrategy[Any]:
    return st.lists(messages(of), min_size=minimum, max_size=3, unique_by=key).map(tuple)


def _fitting(message: type[Message]) -> dict[str, st.SearchStrategy[Any]]:
    """Fields whose values must fit the others."""
    if message is TaskConfiguration:
        return {
            "time_precision": st.integers(1, 2**64 - 1),
            "min_batch_size": st.integers(1, 2**64 - 1),
            "batch_config": st.just(b""),
            "extensions": st.one_of(
                st.just(()), INTERVALS.map(lambda interval: (task_interval_extension(interval),))
            ),
        }
    if message is HpkeConfigList:
        return {"configs": _unique(HpkeConfig, lambda config: config.id, minimum=1)}
    if message is CollectionJobReq:
        return {"extensions": _sorted_extensions()}
    if message is AggregationJobInitReq:
        return {
            "extensions": _sorted_extensions(),
            "verify_inits": _unique(VerifyInit, lambda init: init.report_id),
        }
    if message is AggregationJobContinueReq:
        return {
            "step": st.integers(1, 2**16 - 1),
            "verify_continues": _unique(VerifyContinue, lambda verify: verify.report_id),
        }
    return {}


@functools.cache
def messages(message: type[Message]) -> st.SearchStrategy[Any]:
    """Every message of a class, short ones."""
    if message is Query:
        return st.one_of(INTERVALS.map(Query.of_interval), st.just(Query.of_next_batch()))
    if message is BatchSelector:
        return st.one_of(
            INTERVALS.map(BatchSelector.of_interval),
            st.binary(min_size=32, max_size=32).map(BatchSelector.of_batch),
        )
    fields = {name: values(type_) for name, type_ in message.struct} | _fitting(message)
    return st.builds(message, **fields)
