"""The reports of a bundle, part by part: only the parts that are worked on are in memory.

Parts do not depend on each other, so that processes share the work. What concerns two parts, their order and
the sum, is put together from what is kept of each.
"""

import random
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

from panprivacy.protocols.joint_key.sums import encode_total
from panprivacy.protocols.transparency.findings import CheckError
from panprivacy.recipe.accepted_list import PART_REPORTS, RECORD_BYTES, nonces_of, part_digest, proven_total
from panprivacy.recipe.document import PublishedRecipe, recipe_of

T = TypeVar("T")

Progress = Callable[[str, int, int], None]
"""Called with the name of a check, the number of reports that it has seen, and that of all."""

Source = Callable[[], random.Random]
"""Makes the randomness of one batch: `secrets.SystemRandom`. It goes to other processes."""


@dataclass(frozen=True)
class Part:
    """A part of the file of reports, as another process reads it.

    Attributes:
        document: of the recipe, canonical.
        file: with the reports.
        first: number of its first report, from 1.
        reports: how many, 1 to `PART_REPORTS`.
    """

    document: str
    file: Path
    first: int
    reports: int

    @property
    def recipe(self) -> PublishedRecipe:
        """The recipe; read once in each process."""
        return recipe_of(self.document)

    def content(self) -> bytes:
        """Its bytes; CheckError if the file has become shorter."""
        with self.file.open("rb") as file:
            file.seek((self.first - 1) * RECORD_BYTES)
            content = file.read(self.reports * RECORD_BYTES)
        if len(content) != self.reports * RECORD_BYTES:
            raise CheckError(f"{self.file.name} has become shorter while it was read")
        return content


@dataclass(frozen=True)
class PartTokens:
    """What is kept of a part whose tokens all hold.

    Attributes:
        nonces: of its reports in their order, 16 bytes each.
        digest: SHA-256 of the part, 32 bytes.
    """

    nonces: list[bytes]
    digest: bytes


@dataclass(frozen=True)
class PartSum:
    """What is kept of a part whose proofs all hold.

    Attributes:
        reports: how many.
        digest: as of `PartTokens`.
        total: the sum of the ciphertexts, encoded: processes cannot exchange points.
    """

    reports: int
    digest: bytes
    total: bytes


def tokens_checked(part: Part) -> PartTokens:
    """Check the tokens of a part, not their order; ListRefusedError as of `nonces_of`."""
    content = part.content()
    return PartTokens(nonces_of(part.recipe, content, part.first), part_digest(content))


def proofs_checked(part: Part, source: Source) -> PartSum:
    """Check the proofs of a part in one batch, and add up its ciphertexts; ListRefusedError as of
    `proven_total`."""
    content = part.content()
    total = proven_total(part.recipe, content, part.first, source())
    return PartSum(part.reports, part_digest(content), encode_total(total))


def parts_of(recipe: PublishedRecipe, file: Path, reports: int) -> Iterator[Part]:
    """The parts of the list, in their order; all but the last have `PART_REPORTS` reports."""
    document = recipe.canonical.decode()
    for start in range(0, reports, PART_REPORTS):
        yield Part(document, file, start + 1, min(PART_REPORTS, reports - start))


class Workers:
    """Work on parts, in this process or in others."""

    def __init__(self, pool: ProcessPoolExecutor | None, ahead: int) -> None:
        self._pool, self._ahead = pool, ahead

    def each(self, work: Callable[..., T], parts: Iterable[Part], *arguments: Any) -> Iterator[T]:
        """What the work makes of each part, in the order of the parts; the first error ends it."""
        if self._pool is None:
            yield from (work(part, *arguments) for part in parts)
            return
        # Few at a time: what was made and not yet taken is in memory.
        running: deque[Future[T]] = deque()
        for part in parts:
            running.append(self._pool.submit(work, part, *arguments))
            if len(running) > self._ahead:
                yield running.popleft().result()
        while running:
            yield running.popleft().result()


@contextmanager
def workers_for(reports: int, processes: int) -> Iterator[Workers]:
    """Workers for this number of reports.

    Args:
        processes: at most this many, at least 1. With 1, and for a single part, no process starts.
    """
    needed = min(processes, -(-reports // PART_REPORTS))
    if needed <= 1:
        yield Workers(None, 0)
        return
    # Spawned: forking a process that has threads is not safe.
    pool = ProcessPoolExecutor(needed, get_context("spawn"), initializer=_leave_interrupts)
    try:
        yield Workers(pool, 2 * needed)
    finally:
        pool.shutdown(cancel_futures=True)


def _leave_interrupts() -> None:
    """Ctrl-C reaches every process of a terminal: the first one ends the others."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
