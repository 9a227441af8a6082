"""One stream and its curator, in memory: nothing is published or stored."""

import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import islice
from pathlib import Path
from typing import Any

from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import Description, as_typed, description_of
from panprivacy.recipe.file_fields import file_fields, unknown_field
from panprivacy.recipe.parts.interface import Subject
from panprivacy.statistics.interface import is_uninformative
from panprivacy.statistics.intervals.estimate import Estimate
from panprivacy.statistics.streams import STREAM_STATISTICS
from panprivacy.statistics.streams.interface import StreamStatistic
from panprivacy.statistics.streams.item_bytes import ItemError, encode_items
from panprivacy.statistics.streams.parameters import NUMBERED, StreamParameters
from panprivacy.statistics.streams.sample import Sample
from panprivacy.statistics.trust_models import TRUST_MODELS, trusts_of
from recipes.items_file import read_items

BATCH_ITEMS = 10_000
LARGEST_TABLE = 1_000_000
"""Of the intervals whose half width is a `margin`."""


def stream_simulate(
    *,
    members: Mapping[str, Any],
    universe: Sequence[str] | None,
    path: Path,
    intrusions: Sequence[int],
    random_source: random.Random,
    say: Callable[[str], object],
) -> dict[str, Any]:
    """Fold every item of the file at `path` into a state, and estimate.

    Args:
        members: of a recipe file. Fields that do not concern the statistic are ignored.
        universe: the items that it is over, if they are listed.
        intrusions: numbers of items: after each, the state is read on purpose and randomized anew.
        random_source: of everything: sample, state and result.
        say: takes a warning line, if the result is not a real one, or leaves items out.

    Returns:
        Plain values for JSON. `seconds` is the time for hashing, folding and estimating.

    Raises:
        FieldError: names what is wrong; `items` also if none of them is in the universe.
    """
    counts = Counter(item for _, item in read_items(path, field="items"))
    try:
        encode_items(list(counts))
    except ItemError as error:
        refused = list(counts)[error.index]
        line = next(number for number, item in read_items(path, field="items") if item == refused)
        raise FieldError("items", f"line {line}: an item {error.message}") from None
    in_all = counts.total()
    steps = sorted(
        Description(label="", help="", minimum=0, maximum=in_all).check("intrude", int, step)
        for step in intrusions
    )
    plan = _plan(members, universe, counts, len(intrusions))
    statistic = plan.statistic
    outside = sum(plan.outside.values())
    if outside:
        first = as_typed(next(iter(plan.outside)))
        if outside == in_all:
            raise FieldError(
                "items", f"{path}: none of its {in_all:,} items is in the universe; the first is {first}"
            )
        say(f"Not in the universe, and passed over: {outside:,} of {in_all:,} items; the first is {first}.")
    sample = Sample.draw(statistic.parameters, universe, random_source)
    state = statistic.start(random_source)
    statistic.expected_error_bound()  # loads what estimating needs, which is not to be counted
    items = (plan.named(item) for _, item in read_items(path, field="items"))
    done, seconds = 0, 0.0
    for stop in (*steps, in_all):
        for batch in _batches(items, stop - done):
            began = time.perf_counter()
            try:
                cells = sample.cells_of(batch)
            except ItemError as error:
                raise FieldError(
                    "items", f"{path}: item {done + error.index + 1:,} {error.message}"
                ) from None
            statistic.process_batch(state, cells, random_source)
            seconds += time.perf_counter() - began
            done += len(batch)
        if state.announced_intrusions < len(steps):
            statistic.announce_intrusion(state, random_source)
    began = time.perf_counter()
    estimate = statistic.estimate(state, random_source)
    seconds += time.perf_counter() - began
    if _is_uninformative(statistic, estimate):
        say("This result says nothing: its margin is half the range of possible answers or more.")
    stated, *others = guarantees = [guarantee.as_dict() for guarantee in statistic.guarantees()]
    return {
        "statistic": statistic.statistic,
        "items": in_all,
        "items_outside": outside,
        **({} if statistic.scalar else {"labels": list(plan.labels)}),
        **_numbers(statistic, estimate),
        "truth": _shown(statistic, statistic.truth(plan.counts)),
        **_truth_range(statistic, plan.counts),
        **({"details": dict(estimate.details)} if estimate.details else {}),
        "guarantee": stated,
        **({"guarantees": guarantees} if others else {}),
        "state_bytes": len(state.to_bytes()),
        "seconds": round(seconds, 3),
    }


@dataclass(frozen=True)
class _Plan:
    """What is run.

    Attributes:
        statistic: with its parameters.
        named: item of the file → item of the universe.
        counts: item of the universe → how often it appears; of a list, its place there.
        labels: of the values: the item, if each value is of one item.
        outside: item of the file that is in no place of the list → how often it appears.
    """

    statistic: StreamStatistic[Any]
    named: Callable[[str], str]
    counts: Mapping[str, int]
    labels: Sequence[str]
    outside: Mapping[str, int]


def _plan(
    members: Mapping[str, Any], universe: Sequence[str] | None, counts: Mapping[str, int], intrusions: int
) -> _Plan:
    name = members.get("statistic")
    if not isinstance(name, str) or name not in STREAM_STATISTICS:
        raise FieldError("statistic", f"must be one of {', '.join(STREAM_STATISTICS)}, not {as_typed(name)}")
    statistic = STREAM_STATISTICS[name]
    given = _given(statistic, members, intrusions)
    numbered = None if "items" in given else _numbered_parameters(statistic, given)
    if numbered is not None:
        numbers = _numbers_of(counts, numbered.universe_size)
        renamed = {numbers[item]: count for item, count in counts.items()}
        of_numbers = statistic(numbered.calibrated())
        names = list(of_numbers.labels)
        if of_numbers.per_item:
            for item, number in numbers.items():
                names[int(number)] = item
        return _Plan(of_numbers, numbers.__getitem__, renamed, names, outside={})
    outside: Mapping[str, int] = {}
    if universe is not None:
        # What is not in the list is left out, of the stream as of the truth.
        listed = set(universe)
        outside = {item: count for item, count in counts.items() if item not in listed}
        counts = {str(place): counts[item] for place, item in enumerate(universe) if item in counts}
    of_items = statistic(statistic.parameters_class.from_mapping(given).calibrated())
    labels = of_items.labels if universe is None or not of_items.per_item else universe
    return _Plan(of_items, str, counts, labels, outside)


def _given(
    statistic: type[StreamStatistic[Any]], members: Mapping[str, Any], intrusions: int
) -> dict[str, Any]:
    """The statistic's parameters, with what a simulation makes of those that are left out."""
    known = statistic.parameters_class.names()
    for field in members:
        if field not in known and field not in file_fields():
            raise unknown_field(field, Subject(statistic, TRUST_MODELS[trusts_of(statistic)[0]]))
    given = {field: value for field, value in members.items() if field in known}
    if "universe_size" in given:
        name = "universe_size"
        stated_as = next(field for field in fields(statistic.parameters_class) if field.name == name)
        size = description_of(stated_as).check(name, int, given[name])
        given.setdefault("table_size", min(size, LARGEST_TABLE))
    stated = given.get("announced_intrusions", 0)
    if isinstance(stated, int) and stated >= 0:
        given["announced_intrusions"] = max(stated, intrusions)
    return given


def _numbers_of(items: Iterable[str], universe_size: int) -> dict[str, str]:
    """A number of the universe for every item: its own if all are such numbers, else the next.

    A simulation knows which items appear, so that those that do not need not be listed.
    """
    items = list(items)
    if len(items) > universe_size:
        raise FieldError(
            "universe_size", f"must be at least {len(items):,}, the number of different items in the file"
        )
    if all(_is_number(item, below=universe_size) for item in items):
        return {item: item for item in items}
    return {item: str(number) for number, item in enumerate(items)}


def _is_number(item: str, *, below: int) -> bool:
    """Whether it is written as items that are numbered are."""
    if not (item.isascii() and item.isdigit() and len(item) <= len(str(below))):
        return False
    return str(int(item)) == item and int(item) < below


def _numbered_parameters(
    statistic: type[StreamStatistic[Any]], given: Mapping[str, Any]
) -> StreamParameters | None:
    """The parameters over numbers; None if they must be over something else."""
    try:
        return statistic.parameters_class.from_mapping({**given, "items": NUMBERED})
    except FieldError as refusal:
        if refusal.field != "items":
            raise
        return None


def _batches(items: Iterator[str], count: int) -> Iterator[list[str]]:
    """The next `count` items, in batches."""
    while count > 0:
        batch = list(islice(items, min(count, BATCH_ITEMS)))
        if not batch:
            raise FieldError("items", "became shorter while it was read")
        count -= len(batch)
        yield batch


def _numbers(statistic: StreamStatistic[Any], estimate: Estimate) -> dict[str, Any]:
    """The result, with what is known of its error; None for what is not."""
    return {
        "estimate": _shown(statistic, estimate.values),
        "standard_error": _shown(statistic, estimate.standard_errors),
        "standard_error_note": estimate.standard_error_note,
        "error_bound": _shown(statistic, estimate.error_bounds),
        "confidence": estimate.confidence,
        "interval": _interval(statistic, estimate),
    }


def _truth_range(statistic: StreamStatistic[Any], counts: Mapping[str, int]) -> dict[str, Any]:
    """The range around the truth in which the estimated value lies, if it is not the truth itself."""
    if statistic.close_streams is None:
        return {}
    low, high = statistic.close_streams.truth_range(counts)
    return {"truth_range": {"low": low, "high": high}}


def _is_uninformative(statistic: StreamStatistic[Any], estimate: Estimate) -> bool:
    """As of a release."""
    margins = [
        reach
        for widest in estimate.stated_intervals()[:1]
        for reach in widest.margins(estimate.values)
        if reach is not None
    ]
    return bool(margins) and is_uninformative(statistic, min(margins))


def _interval(statistic: StreamStatistic[Any], estimate: Estimate) -> dict[str, Any] | None:
    """The widest one stated, of the shape that `collect` prints; None if there is none."""
    for widest in estimate.stated_intervals()[:1]:
        return {
            "level": widest.level,
            "low": _shown(statistic, widest.low),
            "high": _shown(statistic, widest.high),
            "together": len(estimate.values),
        }
    return None


def _shown(statistic: StreamStatistic[Any], values: Sequence[Any]) -> Any:
    """One value, or a list of them, to 12 significant digits; None if there are none."""
    if not values:
        return None
    rounded = [float(f"{value:.12g}") if isinstance(value, float) else value for value in values]
    return rounded[0] if statistic.scalar else rounded
