"""The crate `prio` and our Prio3: what one shards the other verifies, byte for byte as it does itself.

Two sides that the same people wrote can share an error. Parameters and measurements are drawn at random,
the same in every run; the crate draws the randomness of its shares anew.
"""

import base64
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from panprivacy.protocols.prio3.interface import ReportInput, Transition
from panprivacy.protocols.prio3.prio3 import (
    NONCE_SIZE,
    VERIFY_KEY_SIZE,
    Prio3,
    Prio3Count,
    Prio3Histogram,
    Prio3MultihotCountVec,
    Prio3Sum,
    Prio3SumVec,
)
from panprivacy.protocols.prio3.verifier import Prio3Verifier
from tests.peers import rust_packages
from tests.peers.conversations import Peer, PeerRefusedError, base64_of

pytestmark = [pytest.mark.long, pytest.mark.processes]

SHAPES = 8
"""Parameters that are drawn for each VDAF."""

REPORTS = 6
"""Measurements for each of them."""


@dataclass(frozen=True)
class Task:
    """A VDAF with parameters, as both sides have it, and how a measurement is drawn.

    Attributes:
        name, parameters: for the crate.
        ours: the same.
        draw: from a generator, a number or a list of them.
    """

    name: str
    parameters: tuple[int, ...]
    ours: Prio3[Any]
    draw: Callable[[random.Random], Any]
    key: bytes
    context: bytes

    @property
    def asked(self) -> dict[str, Any]:
        return {"vdaf": self.name, "parameters": texts(self.parameters), "context": base64_of(self.context)}

    @property
    def verifier(self) -> Prio3Verifier:
        return Prio3Verifier(self.ours, self.key, self.context)


@dataclass(frozen=True)
class Sharded:
    """One report, whoever made it."""

    nonce: bytes
    public: bytes
    leader: bytes
    helper: bytes

    @property
    def asked(self) -> dict[str, str]:
        return {name: base64_of(value) for name, value in vars(self).items()}


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Peer]:
    with rust_packages.running("rust_prio", tmp_path_factory.mktemp("peer")) as peer:
        yield peer


def texts(values: Any) -> list[str]:
    return [str(int(value)) for value in values]


def count(_: random.Random) -> tuple[tuple[int, ...], Prio3[Any], Callable[[random.Random], Any]]:
    return (), Prio3Count(), lambda g: g.randint(0, 1)


def sum_(generator: random.Random) -> tuple[tuple[int, ...], Prio3[Any], Callable[[random.Random], Any]]:
    most = generator.randrange(1, 2 ** generator.randint(1, 60))
    return (most,), Prio3Sum(most), lambda g: g.choice((0, most, g.randint(0, most)))


def sumvec(generator: random.Random) -> tuple[tuple[int, ...], Prio3[Any], Callable[[random.Random], Any]]:
    length, most = generator.randint(1, 12), generator.randrange(1, 2 ** generator.randint(1, 40))
    shape = (length, most, generator.randint(1, 20))
    return shape, Prio3SumVec(*shape), lambda g: [g.randint(0, most) for _ in range(length)]


def histogram(generator: random.Random) -> tuple[tuple[int, ...], Prio3[Any], Callable[[random.Random], Any]]:
    shape = generator.randint(1, 60), generator.randint(1, 20)
    return shape, Prio3Histogram(*shape), lambda g: g.randrange(shape[0])


def multihot(generator: random.Random) -> tuple[tuple[int, ...], Prio3[Any], Callable[[random.Random], Any]]:
    length = generator.randint(1, 40)
    weight = generator.randint(1, length)

    def draw(g: random.Random) -> list[bool]:
        true = g.sample(range(length), g.randint(0, weight))
        return [at in true for at in range(length)]

    shape = (length, weight, generator.randint(1, 20))
    return shape, Prio3MultihotCountVec(*shape), draw


VDAFS = {"count": count, "sum": sum_, "sumvec": sumvec, "histogram": histogram, "multihot": multihot}

each_task = pytest.mark.parametrize(("name", "seed"), [(name, n) for name in VDAFS for n in range(SHAPES)])


def task_of(name: str, seed: int) -> tuple[Task, random.Random]:
    generator = random.Random(f"{name} {seed}")
    parameters, ours, draw = VDAFS[name](generator)
    key, context = generator.randbytes(VERIFY_KEY_SIZE), generator.randbytes(generator.randint(0, 40))
    return Task(name, parameters, ours, draw, key, context), generator


def listed(measurement: Any) -> list[Any]:
    return measurement if isinstance(measurement, list) else [measurement]


def sharded_by_them(theirs: Peer, task: Task, measurement: Any, nonce: bytes) -> Sharded:
    asked = {"measurement": texts(listed(measurement)), "nonce": base64_of(nonce)}
    made = theirs("shard", **task.asked, **asked)
    return Sharded(nonce, *(base64.b64decode(made[part]) for part in ("public", "leader", "helper")))


def sharded_by_us(task: Task, measurement: Any, nonce: bytes, generator: random.Random) -> Sharded:
    rand = generator.randbytes(task.ours.rand_size)
    public, (leader, helper) = task.ours.shard(task.context, measurement, nonce, rand)
    return Sharded(nonce, public, leader, helper)


def verified_by_them(theirs: Peer, task: Task, report: Sharded) -> tuple[bytes, ...]:
    """Both output shares, and the messages from leader and helper."""
    found = theirs("verify", **task.asked, key=base64_of(task.key), **report.asked)
    parts = found["leaderOut"], found["helperOut"], *found["messages"]
    return tuple(base64.b64decode(part) for part in parts)


def verified_by_us(task: Task, reports: list[Sharded]) -> list[tuple[bytes, ...] | None]:
    """The same of a batch; None for what either side rejects."""
    verifier = task.verifier
    leader = verifier.leader_init([ReportInput(r.nonce, r.public, r.leader) for r in reports])
    outcomes: list[tuple[bytes, ...] | None] = []
    for report, ours in zip(reports, leader, strict=True):
        if not isinstance(ours, Transition):
            outcomes.append(None)
            continue
        helper_input = ReportInput(report.nonce, report.public, report.helper)
        (other,) = verifier.helper_init([helper_input], [ours.outbound])
        if not isinstance(other, Transition):
            outcomes.append(None)
            continue
        (end,) = verifier.leader_finish([ours.state], [other.outbound])
        outcomes.append(
            (end, other.out_share, ours.outbound, other.outbound) if isinstance(end, bytes) else None
        )
    return outcomes


def result_by_them(theirs: Peer, task: Task, leader: bytes, helper: bytes, reports: int) -> tuple[int, ...]:
    shares = {"leader": base64_of(leader), "helper": base64_of(helper)}
    found = theirs("unshard", **task.asked, **shares, count=[str(reports)])
    return tuple(map(int, found["result"]))


def expected(task: Task, measurements: list[Any]) -> tuple[int, ...]:
    """Counted from the measurements alone."""
    if task.name == "histogram":
        return tuple(measurements.count(bucket) for bucket in range(task.parameters[0]))
    return tuple(sum(column) for column in zip(*map(listed, measurements), strict=True))


def agree(theirs: Peer, task: Task, reports: list[Sharded], measurements: list[Any]) -> None:
    """Both verify every report to the same messages and output shares, and both sums are right."""
    ours = verified_by_us(task, reports)
    assert ours == [verified_by_them(theirs, task, report) for report in reports]
    verifier = task.verifier
    leader, helper = (verifier.aggregate([one[side] for one in ours if one]) for side in (0, 1))
    sums = expected(task, measurements)
    assert verifier.unshard(leader, helper, len(reports)) == sums
    assert result_by_them(theirs, task, leader, helper, len(reports)) == sums


@each_task
def test_what_they_shard_we_verify_as_they_do(theirs: Peer, name: str, seed: int) -> None:
    task, generator = task_of(name, seed)
    measurements = [task.draw(generator) for _ in range(REPORTS)]
    reports = [sharded_by_them(theirs, task, m, generator.randbytes(NONCE_SIZE)) for m in measurements]
    agree(theirs, task, reports, measurements)


@each_task
def test_what_we_shard_they_verify_as_we_do(theirs: Peer, name: str, seed: int) -> None:
    task, generator = task_of(name, seed)
    measurements = [task.draw(generator) for _ in range(REPORTS)]
    reports = [sharded_by_us(task, m, generator.randbytes(NONCE_SIZE), generator) for m in measurements]
    agree(theirs, task, reports, measurements)


def flipped(value: bytes, generator: random.Random) -> bytes:
    """One bit of it is another."""
    at = generator.randrange(len(value))
    return value[:at] + bytes([value[at] ^ 1 << generator.randrange(8)]) + value[at + 1 :]


@each_task
def test_what_was_changed_both_reject(theirs: Peer, name: str, seed: int) -> None:
    """A bit of any part of a report, or another nonce or context. A proof of a wrong statement holds
    with a probability below 2^-50 in the smaller field."""
    task, generator = task_of(name, seed)
    nonce = generator.randbytes(NONCE_SIZE)
    report = sharded_by_us(task, task.draw(generator), nonce, generator)
    parts = [part for part in ("nonce", "public", "leader", "helper") if getattr(report, part)]
    if not report.public:
        parts.remove("nonce")  # it only chooses the point of the query, and an honest proof holds at each
    for part in parts:
        changed = replace(report, **{part: flipped(getattr(report, part), generator)})
        assert verified_by_us(task, [changed]) == [None]
        with pytest.raises(PeerRefusedError):
            verified_by_them(theirs, task, changed)
    elsewhere = replace(task, context=task.context + b".")
    assert verified_by_us(elsewhere, [report]) == [None]
    with pytest.raises(PeerRefusedError):
        verified_by_them(theirs, elsewhere, report)
