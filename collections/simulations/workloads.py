"""Which devices can be simulated: random events, a file, or the flights; and how they are cut into chunks."""

import json
import math
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from devices_sim.devices import SimulatedDevices, simulated_class
from devices_sim.devices.events import SimulatedEvents
from devices_sim.devices.values import SimulatedValues
from devices_sim.fleet_attributes import FleetAttributes
from devices_sim.workloads.bucket import Bucket, ListedBucket, Stream
from devices_sim.workloads.flights import STEPS, DatasetMissingError, flight_events, flights, home_airports
from devices_sim.workloads.segments import WEIGHT, SegmentedDevice, checked_weights
from devices_sim.workloads.synthetic import PROBABILITY, RATE, SHARE, ShareBucket, SyntheticBucket
from panprivacy.formats.csv_table import header_text
from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import Description, as_typed
from panprivacy.recipe.draft import RecipeDraft

DEVICES = Description(label="Devices", help="Number of devices.", minimum=1, maximum=1_000_000)
SEED = Description(
    label="Seed",
    help="The same seed and devices give the same reports again.",
    minimum=0,
    maximum=2**53 - 1,  # what every reader of JSON takes exactly
)
WEIGHTS = WEIGHT
"""What the size of a segment may be."""

CSV_BYTES = 8 * 1024 * 1024
"""Most bytes of a file, in UTF-8."""

RANDOM = {"bernoulli": PROBABILITY, "poisson": RATE}
"""Kinds of random events, and what their `rate` may be."""

SHARES = "shares"
"""Workloads in which a fixed share of the devices has the event, in each segment its own."""

OPTION = "events"
"""The option of `collect` of devices that have events; the others have values."""


@dataclass(frozen=True)
class Chunk:
    """Some devices of a workload.

    Attributes:
        first: index of the first one.
        listed: what is known of each, in JSON; None where it is drawn.
    """

    first: int
    count: int
    listed: bytes | None


@dataclass(frozen=True)
class Planned:
    """The devices that were asked for.

    Attributes:
        workload: what was asked for, without the rows of a file.
        devices: their number; None if only cutting them tells.
        cut: cuts them into chunks of at most this size. If `devices` is None it reads a file, which takes
            up to minutes: for a worker, not for a request.
        content: of a file that was given; None without.
    """

    workload: dict[str, Any]
    devices: int | None
    cut: Callable[[int], Iterator[Chunk]]
    content: bytes | None = None


def kinds_of(draft: RecipeDraft) -> tuple[str, ...]:
    """The kinds of workload that a recipe's devices can have, the simplest first; FieldError where no devices
    take part in it."""
    return kinds_for(simulated_class(draft)(draft.plain_statistic))


def kinds_for(simulated: SimulatedDevices) -> tuple[str, ...]:
    """The kinds of workload that these devices can have, the simplest first. Flights have events, or one
    value: no vectors."""
    vectors = len(simulated.columns) > len(simulated.header)
    return (
        *(RANDOM if simulated.option == OPTION else ()),
        *(() if vectors else ("flights",)),
        simulated.option,
    )


def header_of(draft: RecipeDraft) -> tuple[str, ...]:
    """The columns of a file for a recipe's devices; FieldError as of `kinds_of`."""
    return simulated_class(draft)(draft.plain_statistic).columns


def planned(workload: object, simulated: SimulatedDevices, segments: tuple[str, ...] = ()) -> Planned:
    """Read and check a workload.

    Args:
        workload: `kind`, and what belongs to it: `devices` with `rate` or `shares`, or `csv`; and perhaps
            `weights`, the relative sizes of the segments, for devices whose own is not known.
        simulated: the devices of the recipe.
        segments: of the recipe.

    Raises:
        FieldError: names the member, e.g. `workload.devices`. What is wrong within a file comes up while it
            is cut.
    """
    if not isinstance(workload, Mapping):
        raise FieldError("workload", "must be an object with the field kind")
    members = dict(workload)
    kind, kinds = members.pop("kind", None), kinds_for(simulated)
    if kind == SHARES and simulated.option == OPTION:
        return _shares(members, segments)
    if kind not in kinds:
        raise FieldError("workload.kind", f"must be one of {', '.join(kinds)}, not {as_typed(kind)}")
    weights = checked_weights("workload.weights", members.pop("weights", None), segments)
    plan = _planned(str(kind), members, simulated)
    if weights is None:
        return plan
    return replace(plan, workload={**plan.workload, "weights": list(weights)})


def planned_again(workload: Mapping[str, Any], content: bytes | None, simulated: SimulatedDevices) -> Planned:
    """The plan of a `Planned.workload` without `devices`, and of its `content`."""
    if content is None:
        return _flights(simulated)
    return _of_content(workload["kind"], content, simulated)


@dataclass(frozen=True)
class Devices:
    """Those of a chunk.

    Attributes:
        attributes: what each knows of itself; None where no target asks.
    """

    bucket: Bucket[Any]
    attributes: FleetAttributes | None


def devices_of(
    chunk: Chunk, workload: Mapping[str, Any], steps: int, seed: str, segments: tuple[str, ...] = ()
) -> Devices:
    """The devices of a chunk, the same at every attempt.

    Args:
        workload: as `Planned.workload` has it.
        steps: number of time steps of the recipe.
        seed: of the simulation.
        segments: of the recipe.
    """
    if workload["kind"] == SHARES:
        shares = tuple(workload["shares"])
        return Devices(ShareBucket(seed, chunk.first, chunk.count, steps, segments, shares), None)
    if chunk.listed is None:
        random_devices = _RandomDevices(
            seed, chunk.first, chunk.count, steps, workload["probability"], workload.get("names", 1)
        )
        return Devices(random_devices, None)
    rows = json.loads(chunk.listed)
    bucket = ListedBucket(tuple((name, _unpacked(given)) for name, given, *_ in rows))
    known = {name: own for name, _, *others in rows for own in others}
    return Devices(bucket, FleetAttributes(of_device=known) if known else None)


def weights_of(workload: Mapping[str, Any]) -> tuple[float, ...] | None:
    """The relative sizes of the segments, of a `Planned.workload`; None where they are equal."""
    weights = workload.get("weights")
    return None if weights is None else tuple(weights)


@dataclass(frozen=True)
class _RandomDevices(Bucket[Any]):
    """Devices whose events depend on the seed and on their own index, not on where chunks begin."""

    seed: str
    first: int
    count: int
    steps: int
    probability: float
    names: int

    def __iter__(self) -> Iterator[Stream]:
        for index in range(self.first, self.first + self.count):
            # The bucket's seed is part of a text: any number will do.
            yield from SyntheticBucket(int(self.seed), index, 1, self.steps, self.probability, self.names)


def _planned(kind: str, members: Mapping[str, object], simulated: SimulatedDevices) -> Planned:
    if kind in RANDOM:
        return _random(kind, members, len(_names(simulated)))
    if kind == "flights":
        _require_members(members, ())
        return _flights(simulated)
    _require_members(members, ("csv",))
    return _file(kind, members["csv"], simulated)


def _names(simulated: SimulatedDevices) -> tuple[str, ...]:
    return simulated.names if isinstance(simulated, SimulatedEvents) else ()


def _random(kind: str, members: Mapping[str, object], names: int) -> Planned:
    _require_members(members, ("devices", "rate"))
    devices = DEVICES.check("workload.devices", int, members["devices"])
    rate = RANDOM[kind].check("workload.rate", float, members["rate"])
    probability = -math.expm1(-rate) if kind == "poisson" else rate
    several = {"names": names} if names > 1 else {}
    return _drawn({"kind": kind, "devices": devices, "rate": rate, "probability": probability, **several})


def _shares(members: Mapping[str, object], segments: tuple[str, ...]) -> Planned:
    _require_members(members, ("devices", "shares"))
    devices = DEVICES.check("workload.devices", int, members["devices"])
    shares = checked_shares("workload.shares", members["shares"], segments)
    return _drawn({"kind": SHARES, "devices": devices, "shares": list(shares)})


def checked_shares(field: str, values: object, segments: Sequence[str]) -> tuple[float, ...]:
    """Shares of devices with the event: one, or one for each segment.

    Raises:
        FieldError: named `field`.
    """
    counts = {1, len(segments) or 1}
    if not isinstance(values, Sequence) or isinstance(values, str) or len(values) not in counts:
        each = f", or {len(segments)}, one for each of {', '.join(segments)}" if len(counts) > 1 else ""
        raise FieldError(field, f"must be a list of one number{each}")
    return tuple(SHARE.check(field, float, value) for value in values)


def _drawn(asked: dict[str, Any]) -> Planned:
    """Devices that are drawn where they report."""
    devices: int = asked["devices"]

    def cut(size: int) -> Iterator[Chunk]:
        for first in range(0, devices, size):
            yield Chunk(first, min(size, devices - first), None)

    return Planned(asked, devices, cut)


def _flights(simulated: SimulatedDevices) -> Planned:
    steps = simulated.statistic.parameters.step_count
    has_events = simulated.option == OPTION
    names = _names(simulated)
    if has_events and not names and steps < STEPS:
        raise FieldError("workload.kind", f"flights needs a recipe of {STEPS} steps or more, not {steps}")

    def cut(size: int) -> Iterator[Chunk]:
        try:
            given = _flights_of(names, steps) if has_events else home_airports()
        except FieldError as error:
            raise FieldError("workload.kind", f"cannot be flights: {error.message}") from None
        except DatasetMissingError as error:
            raise FieldError("workload.kind", f"cannot be flights here: {error}") from None
        if isinstance(simulated, SimulatedValues):
            _require_values({value for _, value in given}, simulated)
        yield from listed(given, size)

    return Planned({"kind": "flights"}, None, cut)


def _flights_of(names: tuple[str, ...], steps: int) -> Iterable[tuple[str, Any]]:
    return flight_events(names, steps) if names else flights()


def _require_values(values: Iterable[str], simulated: SimulatedValues) -> None:
    for value in values:
        try:
            simulated.require_value(value)
        except FieldError as error:
            raise FieldError("workload.kind", f"cannot be flights: a value {error.message}") from None


def _file(kind: str, csv: object, simulated: SimulatedDevices) -> Planned:
    if not isinstance(csv, str):
        raise FieldError("workload.csv", f"must be text with the header {header_text(simulated.columns)}")
    # A lone surrogate is refused by who reads the file, with its line.
    content = csv.encode(errors="surrogatepass")
    if len(content) > CSV_BYTES:
        raise FieldError("workload.csv", f"must be at most {CSV_BYTES:,} bytes, not {len(content):,}")
    return _of_content(kind, content, simulated)


def _of_content(kind: str, content: bytes, simulated: SimulatedDevices) -> Planned:
    """The plan of a file's bytes, which are read while they are cut."""

    def cut(size: int) -> Iterator[Chunk]:
        # The readers take files, of any size, and give back complete devices bit by bit.
        with tempfile.NamedTemporaryFile(prefix="panapp-simulation-", suffix=".csv") as file:
            file.write(content)
            file.flush()
            try:
                with simulated.workload(Path(file.name)) as devices:
                    yield from listed(devices, size)
            except FieldError as error:
                raise FieldError("workload.csv", error.message) from None

    return Planned({"kind": kind}, None, cut, content)


def listed(
    devices: Iterable[tuple[str, Any]], size: int, attributes: FleetAttributes | None = None
) -> Iterator[Chunk]:
    """Devices in chunks of `size`, with their attributes if they have any."""
    first, waiting = 0, list[tuple[Any, ...]]()
    for name, given in devices:
        own = () if attributes is None else (dict(attributes.of(name)),)
        waiting.append((name, _packed(given), *own))
        if len(waiting) == size:
            yield Chunk(first, size, json.dumps(waiting).encode())
            first += size
            waiting.clear()
    if waiting:
        yield Chunk(first, len(waiting), json.dumps(waiting).encode())


def _packed(given: Any) -> Any:
    if isinstance(given, SegmentedDevice):
        return {"steps": sorted(given.steps), "segment": given.segment}
    return given if isinstance(given, str) else sorted(given)


def _unpacked(given: Any) -> Any:
    if isinstance(given, dict):
        return SegmentedDevice(frozenset(given["steps"]), given["segment"])
    return given if isinstance(given, str) else frozenset(given)


def _require_members(members: Mapping[str, object], names: tuple[str, ...]) -> None:
    for name in names:
        if name not in members:
            raise FieldError(f"workload.{name}", "is missing")
    for name in members:
        if name not in names:
            raise FieldError("workload", f"cannot have {as_typed(name)[:60]} with this kind")
