"""Buckets on which a process fails, in a module that a new process imports in no time."""

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass

from devices_sim.workloads.bucket import Bucket, Stream


@dataclass(frozen=True)
class DyingBucket(Bucket):
    """Kills the process that works on it."""

    def __iter__(self) -> Iterator[Stream]:
        os._exit(3)


@dataclass(frozen=True)
class SlowBucket(Bucket):
    """Takes longer than any test may."""

    def __iter__(self) -> Iterator[Stream]:
        time.sleep(3_600)
        return iter(())


class UnpicklableError(Exception):
    def __init__(self, _one: str, _two: str) -> None:
        super().__init__("in words")


@dataclass(frozen=True)
class FailingBucket(Bucket):
    """Raises an error that does not survive pickling."""

    def __iter__(self) -> Iterator[Stream]:
        raise UnpicklableError("a", "b")
