"""Rounds of a series on simulated devices, one after the other."""

import csv
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from django.utils import timezone

from devices_sim.devices import SimulatedDevices, simulated_class
from devices_sim.workloads.bucket import Workload
from devices_sim.workloads.events_file import SEGMENT
from devices_sim.workloads.segments import checked_weights
from panprivacy.formats.csv_table import CsvTable
from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import as_typed
from panprivacy.recipe.series import SeriesDraft
from panprivacy.statistics.intervals.difference import Difference
from results.changes import Change, change_between
from results.models import Release
from results.parts import hidden_reason
from series.operations import round_simulated, series_publish_simulated
from series.selectors import asked_segment
from simulations.collect.collection import Say, collection_run, roles_beside
from simulations.collect.device_file import device_file
from simulations.installation.services import SIMULATING, Services, Warn
from simulations.installation.shared_installation import shared_installation
from simulations.outcome import CollectionResult

ROUND = "round"
"""The column that an events or values file may have as its last one."""


def series_simulate(
    *,
    draft: SeriesDraft,
    rounds: int,
    options: Mapping[str, Any],
    say: Callable[[str], None],
    warn: Warn,
) -> list[dict[str, Any]]:
    """Run rounds as `rounds_simulate`, and give what `collect` prints of each, with `change` since the last
    result, and `change_since_baseline`. All intervals of all changes hold together.

    All rounds have the same events, unless the file has the column `round`.

    Args:
        options: the files of devices, by their options; `seed`; `segment`, the one whose change is told (None
            for every segment, if there are some); `baseline`, the number of a round to compare later ones
            with, or None; and `weights` of the segments.
        warn: as of `shared_installation`.

    Raises:
        FieldError: the file, the series or the parameters cannot be met. Nothing was started.
        ServiceError, CollectionStalledError, FleetError, PartnerUnavailableError: as `collection_run`.
    """
    simulated_devices = simulated_class(draft.recipe)
    path = device_file(simulated_devices, options, draft.recipe.statistic)
    simulated = simulated_devices(draft.recipe.calibrated_statistic())
    segment = asked_segment(draft.recipe.segments, options["segment"] or "")
    baseline = options["baseline"]
    if baseline is not None and not 1 <= baseline < rounds:
        raise FieldError("baseline", f"must be a round that others follow: 1 to {rounds - 1}, not {baseline}")
    followed = (segment,) if segment else tuple(draft.recipe.segments) or (segment,)
    scalar = simulated.statistic.scalar
    checked_weights("weights", options["weights"], draft.recipe.segments)
    optional = (*((SEGMENT,) if draft.recipe.segments else ()), ROUND)
    table = partial(CsvTable, columns=simulated.columns, field=simulated.option, optional=optional)
    by_round = _has_rounds(path, table)
    if by_round:
        for number in range(1, rounds + 1):
            with _workload(simulated, path, table, number, rounds):
                pass
    results: list[dict[str, Any]] = []
    last: dict[str, Release] = {}
    first: dict[str, Release] = {}
    beside, processes = roles_beside(draft.recipe), os.cpu_count() or 1
    with shared_installation(
        partners=beside, warn=warn, devices=processes, environment=SIMULATING
    ) as services:
        simulating = rounds_simulate(
            draft=draft,
            rounds=rounds,
            workload_of=lambda number: _workload(
                simulated, path, table, number if by_round else None, rounds
            ),
            services=services,
            seed=options["seed"],
            weights=options["weights"],
            processes=processes,
            say=say,
        )
        for number, result in enumerate(simulating, start=1):
            release, told = result.release, result.as_dict()
            compared = {"change": last} | ({} if baseline is None else {"change_since_baseline": first})
            for name, before in compared.items():
                found = _changes(before, release, followed, among=rounds)
                told[name] = (
                    _change(found.get(segment), scalar=scalar)
                    if followed == (segment,)
                    else [_of_segment(label, change, scalar=scalar) for label, change in found.items()]
                )
            results.append(told)
            for label in followed:
                if release.outcome == Release.Outcome.RELEASED and not (
                    label and hidden_reason(release, label)
                ):
                    last[label] = release
                    if number == baseline:
                        first[label] = release
    return results


def rounds_simulate(
    *,
    draft: SeriesDraft,
    rounds: int,
    workload_of: Callable[[int], AbstractContextManager[Workload[Any]]],
    services: Services,
    seed: int | None,
    weights: Sequence[float] | None = None,
    processes: int,
    say: Say,
) -> Iterator[CollectionResult]:
    """Publish a series for simulated devices, then each round with its devices; yields what came of each.

    No round waits for its time: each has the day at which it would have opened, so that the last opens today.

    Args:
        workload_of: the devices of a round, from its number.
        seed, weights, processes, say: as of `collection_run`.

    Raises: as `collection_run`. The rounds before are stored with their results.
    """
    now = timezone.now()
    dated = draft.ending(now, rounds)
    series = series_publish_simulated(draft=dated)
    for number, opens_at in enumerate(dated.openings(now), start=1):
        say(f"round {number} of {rounds}")
        with workload_of(number) as workload:
            result = collection_run(
                members=draft.round(number, rounds, opens_at).as_dict(),
                workload=workload,
                services=services,
                seed=None if seed is None else seed + number - 1,
                weights=weights,
                eager=False,
                processes=processes,
                say=say,
                stored=partial(round_simulated, series=series, number=number),
            )
        yield result


@contextmanager
def _workload(
    simulated: SimulatedDevices,
    path: Path,
    table: Callable[[BinaryIO], CsvTable],
    number: int | None,
    rounds: int,
) -> Iterator[Any]:
    """The devices of one round; of all where `number` is None."""
    if number is None:
        with simulated.workload(path) as workload:
            yield workload
        return
    with tempfile.TemporaryDirectory(prefix="panapp-round-") as folder:
        own = Path(folder) / "round.csv"
        with path.open("rb") as source, own.open("w", encoding="utf-8", newline="") as file:
            found = _write_round(table(source), number, rounds, file)
        if not found:
            raise FieldError(
                ROUND, f"{number} has no row in {path}; each of the {rounds} rounds needs devices"
            )
        with simulated.workload(own) as workload:
            yield workload


def _has_rounds(path: Path, table: Callable[[BinaryIO], CsvTable]) -> bool:
    if not path.is_file():
        return False  # a pipe can be read only once
    with path.open("rb") as file:
        return ROUND in table(file).columns


def _write_round(table: CsvTable, number: int, rounds: int, to: TextIO) -> bool:
    """Write the rows of one round without that column, each in the line in which it stands in the whole file,
    so that refusals name it; whether there are some."""
    known = {str(one): one for one in range(1, rounds + 1)}
    *columns, _ = table.columns
    writer = csv.writer(to)
    writer.writerow(columns)
    written, found = 1, False
    for *row, text in table:
        where = known.get(text.strip())
        if where is None:
            raise FieldError(
                ROUND,
                f"line {table.line}, column {len(columns) + 1}: must be 1 to {rounds}, as in `--rounds`, "
                f"not {as_typed(text)}",
            )
        if where == number:
            to.write("\n" * (table.line - written - 1))
            writer.writerow(row)
            written, found = table.last_line, True
    return found


def _changes(
    before: Mapping[str, Release], release: Release, labels: Sequence[str], *, among: int
) -> dict[str, Change]:
    """Label → what changed since the result that is there for it; nothing if one of the two has none."""
    found = {
        label: change_between(before[label], release, label, among=among)
        for label in labels
        if label in before and release.outcome == Release.Outcome.RELEASED
    }
    return {label: change for label, change in found.items() if change is not None}


def _of_segment(label: str, change: Change, *, scalar: bool) -> dict[str, Any]:
    shape: Callable[[Any], Any] = itemgetter(0) if scalar else list
    told = change.told
    return {
        "segment": label,
        "difference": shape(told.values),
        "interval": shape(list(zip(told.interval.low, told.interval.high, strict=True))),
        "level": told.interval.level,
        "more_than_noise": shape(told.more_than_noise),
    }


def _change(change: Change | None, *, scalar: bool) -> dict[str, Any] | None:
    if change is None:
        return None
    share = None if change.shares is None else _difference(change.shares, scalar=scalar)
    return {**_difference(change.estimates, scalar=scalar), "share": share}


def _difference(found: Difference, *, scalar: bool) -> dict[str, Any]:
    shape: Callable[[Any], Any] = itemgetter(0) if scalar else list
    return {
        "difference": shape(found.values),
        "level": found.interval.level,
        "low": shape(found.interval.low),
        "high": shape(found.interval.high),
        "more_than_noise": shape(found.more_than_noise),
    }
