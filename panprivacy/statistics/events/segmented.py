"""A statistic of events within each of several segments, from one histogram of segment and answer."""

import copy
import dataclasses
import random
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from panprivacy.accounting.composition import Repetition
from panprivacy.accounting.guarantees import Guarantee, Model, Relation
from panprivacy.accounting.interface import PrivacyEvent
from panprivacy.accounting.randomized_response_sum import RandomizedResponseSum
from panprivacy.encryption.interface import Ciphertext, PublicKey
from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import Parameters
from panprivacy.statistics.events.cohort import require_population
from panprivacy.statistics.events.count_nonzero import CountNonzero
from panprivacy.statistics.events.derived import Cells, Found, derived_numbers, sets_of
from panprivacy.statistics.events.histogram import Histogram, HistogramParameters
from panprivacy.statistics.events.interface import Mechanism, Report, State
from panprivacy.statistics.events.one_hot import BUCKET, OneHotMechanism, OneHotParameters, closest_histogram
from panprivacy.statistics.events.questions.automaton import AutomatonQuestion
from panprivacy.statistics.events.questions.both import Both
from panprivacy.statistics.events.questions.funnel import Funnel
from panprivacy.statistics.events.questions.longest_streak import LongestStreak
from panprivacy.statistics.events.questions.retention import Retention
from panprivacy.statistics.events.questions.time_to_first import TimeToFirst
from panprivacy.statistics.events.randomized_response import (
    RandomizedResponse,
    bits_expected_margin,
    bits_interval_at,
    bits_intervals,
    bits_standard_error,
    bits_standard_error_note,
    expected_bits_error,
)
from panprivacy.statistics.events.regular import Question
from panprivacy.statistics.interface import Segmentation
from panprivacy.statistics.intervals.estimate import LEVELS, Estimate, Interval
from panprivacy.statistics.intervals.randomized_bits import RandomizedBits, ends
from panprivacy.statistics.intervals.release_rule import ReleaseRule
from panprivacy.statistics.intervals.segment_estimates import (
    Ends,
    ExpectedSegments,
    SegmentBounds,
    SegmentCounts,
    SegmentEstimate,
    segments_shown,
)

MOST_CELLS = 1_001
"""The number of buckets of the longest histogram: a report has a ciphertext for each."""

RELATION_SENTENCES = {
    Relation.REPLACE: "The segment is replaced with the events.",
    Relation.ADD_REMOVE: "The device of the reference is of no segment.",
}
PAN_SENTENCE = "This is about events: a device knows its segment, and so does an intruder on it."


class Segmented(Mechanism[Any]):
    """Cells, one for each pair of segment and number of events; a device has a 1 in one of them.

    What a device keeps does not depend on segments: the state of `Histogram`. Only the report has the cells,
    each through its own randomized response: those of the device's segment made from the state, the others
    from zeros. A device of no segment, or of one that is not asked about, reports zeros alone, so its
    participation reveals nothing. Two devices differ in at most two cells, as in every histogram, whether
    their segments are the same or not (LPP Algorithm 5, Theorem 11).

    The estimates are the statistic's own, over all segments together; `segmentation` has each.

    Args:
        segments: their labels, 1 or more that differ.
        own: the device's own label; None for a device of none of them, and for servers.

    Raises FieldError naming `segments` if there are more than `MOST_CELLS` cells.
    """

    undivided_class: ClassVar[type[Mechanism[Any]]]
    """The statistic without segments, whose name, parameters and words are used."""

    counts_devices = True
    provable = True

    def __init_subclass__(cls, *, of: type[Mechanism[Any]] | None = None) -> None:
        super().__init_subclass__()
        if of is None:  # a base of several
            return
        cls.undivided_class, cls.parameters_class = of, of.parameters_class
        cls.statistic, cls.title, cls.description = of.statistic, of.title, of.description
        cls.unit, cls.scalar, cls.theorem = of.unit, of.scalar, of.theorem

    def __init__(self, parameters: Parameters, segments: Sequence[str], own: str | None = None) -> None:
        super().__init__(parameters)
        self.segments = tuple(segments)
        self._own = own
        self._within = self._histogram()
        self._response = RandomizedResponse(self._within.cell_epsilon)
        if self.contribution_length > MOST_CELLS:
            raise FieldError(
                "segments",
                f"are too many: {len(self.segments)} times {self._numbers} numbers of events are "
                f"{self.contribution_length:,} cells, and at most {MOST_CELLS:,} are counted",
            )

    def having(self, parameters: Parameters) -> Self:
        made = type(self)(parameters, self.segments, self._own)
        return made.with_noisy_count() if self.noisy_count else made

    @abstractmethod
    def _histogram(self) -> OneHotMechanism[Any]:
        """What is counted within each segment, with a coin for each cell."""

    @property
    def names(self) -> tuple[str, ...]:
        return self._within.names

    def outcome(self, events: Mapping[int, int]) -> int:
        return self._within.outcome(events)

    def _answers(self, numbers: Iterable[Any]) -> tuple[Any, ...]:
        """The entries of a segment's cells, or of values for them, that are the statistic's answer."""
        return tuple(numbers)

    @property
    def _question(self) -> Question | None:
        """What has derived numbers; None if nothing is derived."""
        return None

    @property
    def _sets(self) -> tuple[Cells, ...]:
        """Sums of a segment's cells that derived numbers need."""
        return () if self._question is None else sets_of(self._question.ratios)

    @property
    def _further(self) -> tuple[Cells, ...]:
        """Those besides one cell, all but one, and all."""
        bounded = (1, self._numbers - 1, self._numbers)
        return tuple(cells for cells in self._sets if len(cells) not in bounded)

    @property
    def segmentation(self) -> "SegmentsOfEvents":
        return SegmentsOfEvents(self)

    @property
    def undivided(self) -> Mechanism[Any]:
        """The same without segments."""
        return self.undivided_class(self.parameters)

    @property
    def labels(self) -> tuple[str, ...]:
        return self.undivided.labels

    @property
    def _numbers(self) -> int:
        """Cells of one segment."""
        return self._within.report_ciphertexts

    # For the device ------------------------------------------------------------

    @property
    def state_ciphertexts(self) -> int:
        return self._within.state_ciphertexts

    def start(self, public_key: PublicKey, random_source: random.Random) -> State:
        return self._within.start(public_key, random_source)

    def step(
        self, public_key: PublicKey, state: State, event: int, step: int, random_source: random.Random
    ) -> State:
        return self._within.step(public_key, state, event, step, random_source)

    def report(self, public_key: PublicKey, state: State, random_source: random.Random) -> Report:
        return self._report(self._within.report(public_key, state, random_source), public_key, random_source)

    def state_of_count(
        self, public_key: PublicKey, count: int, step: int, random_source: random.Random
    ) -> State:
        return self._within.state_of_count(public_key, count, step, random_source)

    def report_of_count(self, public_key: PublicKey, count: int, random_source: random.Random) -> Report:
        own = self._within.report_of_count(public_key, count, random_source)
        return self._report(own, public_key, random_source)

    def _report(self, own: Report, public_key: PublicKey, random_source: random.Random) -> Report:
        """All cells: those of the device's own segment, and zeros in every other one."""
        cells: list[Ciphertext] = []
        for segment in self.segments:
            # The same work for each segment, the own one too.
            zeros = [
                public_key.encrypt(
                    self._response.respond(0, random_source),
                    random_source,
                    rerandomizations=self.parameters.steps + 1,
                )
                for _ in range(self._numbers)
            ]
            cells += own if segment == self._own else zeros
        return tuple(cells)

    # For the server ------------------------------------------------------------

    @property
    def allowed_values(self) -> range:
        return range(2)

    @property
    def contribution_length(self) -> int:
        return len(self.segments) * self._numbers

    def debiased(self, total: Sequence[int], reports: int) -> tuple[float, ...]:
        rate, bits = self.parameters.sampling_rate, reports * len(self.segments)
        return tuple(self._response.debiased(ones, bits) / rate for ones in self._overall(total))

    def estimate(self, total: Sequence[int], reports: int) -> Estimate:
        self.require_total(total, reports)
        rate, rule = self.parameters.sampling_rate, self._rule_for(reports)
        coins = len(self.segments)
        values = self.debiased(total, reports)
        within = min(max(sum(values), 0.0), reports / rate)
        errors = [bits_standard_error(self._response, value, reports * coins, rate) for value in values]
        numbers = self._derived(values, within, Ones(self._cells(total), reports, rate, rule))
        return Estimate(
            values=values,
            standard_errors=self._standard_errors(errors, total, reports),
            standard_error_note=self._error_note(bits_standard_error_note(rate)),
            projection=closest_histogram(values, within),
            intervals=bits_intervals(
                self._response, self._overall(total), reports, rate, rule, coins, self._together
            ),
            details={"derived": numbers, "level": LEVELS[0]} if numbers else {},
        )

    @property
    def _together(self) -> int:
        """How many numbers of devices are bounded at once, over all segments: of each value of the answer,
        and of sums for derived numbers."""
        return len(self.labels) + sum(len(cells) > 1 for cells in self._sets)

    def _derived(self, values: Sequence[float], within: float, ones: "Ones") -> list[dict[str, Any]]:
        """The derived numbers over all segments."""
        if self._question is None:
            return []
        overall, segments = ones.cells.sum(axis=0, keepdims=True), len(self.segments)
        failure = (1 - LEVELS[0]) / self._together
        found = {
            cells: _ends(self._response, ones, _summed(overall, cells), segments * len(cells), failure)[0][0]
            for cells in self._sets
        }
        return _derived_numbers(self._question, values, within, found)

    def interval_at(self, level: float, values: Sequence[float], reports: int) -> Interval:
        rate, rule = self.parameters.sampling_rate, self._rule_for(reports)
        return bits_interval_at(
            level, self._response, values, reports, rate, rule, len(self.segments), self._together
        )

    def truth(self, devices_by_count: Mapping[Any, int]) -> tuple[float, ...]:
        """Over all segments: `devices_by_count[segment, c]` devices of a segment, or of None, had count c."""
        inside: dict[int, int] = {}
        for (segment, count), devices in devices_by_count.items():
            if segment in self.segments:
                inside[count] = inside.get(count, 0) + devices
        return self.undivided.truth(inside)

    def _cells(self, total: Sequence[int]) -> NDArray[np.int64]:
        """Ones by segment and number of events."""
        return np.asarray(total, dtype=np.int64).reshape(len(self.segments), self._numbers)

    def _overall(self, total: Sequence[int]) -> tuple[int, ...]:
        """Ones of all segments together, for each value of the answer."""
        return self._answers(int(ones) for ones in self._cells(total).sum(axis=0))

    # For the accountant --------------------------------------------------------

    def _release(self, n: int) -> PrivacyEvent:
        # As in Histogram: two cells move.
        return Repetition(event=RandomizedResponseSum(n=n, epsilon0=self._within.cell_epsilon), times=2)

    def local_guarantees(self) -> tuple[Guarantee, ...]:
        return tuple(map(_of_segments, self._within.local_guarantees()))

    def open_guarantees(self) -> tuple[Guarantee, ...]:
        """Those of a histogram of all cells: none depends on how many there are."""
        return tuple(map(_of_segments, self._within.open_guarantees()))

    def guarantees(self) -> tuple[Guarantee, ...]:
        return tuple(map(_of_segments, self._within.guarantees()))

    def expected_standard_error(self, population: int) -> float:
        """Of one value over all segments; the worst case over the truth: every device has it."""
        require_population(population)
        rate, rule, coins = self.parameters.sampling_rate, self.release_rule, len(self.segments)
        return expected_bits_error(
            self._response, population, rate, rule=rule, coins=coins, devices=population
        )

    def expected_margin(self, population: int, failure_probability: float) -> float:
        """As in `expected_standard_error`, for all values together."""
        require_population(population)
        return bits_expected_margin(
            self._response,
            population,
            self.parameters.sampling_rate,
            failure_probability / self._together,
            rule=self.release_rule,
            coins=len(self.segments),
        )


class SegmentsOfEvents(Segmentation):
    """The segments of a statistic of events."""

    def __init__(self, statistic: Segmented) -> None:
        self._statistic = statistic
        self.labels = statistic.segments

    def on_device(self, segment: str | None) -> Segmented:
        made = copy.copy(self._statistic)
        made._own = segment
        return made

    def expected(self, population: int, failure_probability: float) -> ExpectedSegments:
        """`segments_shown` compares the reports that each certainly has with the cohort size."""
        devices = population / len(self.labels)
        margin = self._margin(population, failure_probability, coins=1)
        uncertain = self._margin(population, failure_probability, coins=self._statistic._numbers)
        reports = (devices - uncertain) * float(self._statistic.parameters.sampling_rate)
        return ExpectedSegments(
            devices=devices,
            margin=margin,
            margin_points=100 * margin / devices,
            shown=reports >= self._statistic.cohort_size,
            reports=reports,
        )

    def _margin(self, population: int, failure_probability: float, *, coins: int) -> float:
        require_population(population)
        return bits_expected_margin(
            self._statistic._response,
            population,
            self._statistic.parameters.sampling_rate,
            failure_probability
            / Ones.quantities(len(self.labels), self._statistic._numbers, len(self._statistic._further)),
            rule=self._statistic.release_rule,
            coins=coins,
            devices=population / len(self.labels),
        )

    def estimates(self, total: Sequence[int], reports: int) -> tuple[SegmentEstimate, ...]:
        statistic = self._statistic
        statistic.require_total(total, reports)
        rate, numbers = statistic.parameters.sampling_rate, statistic._numbers
        cells = statistic._cells(total)
        counts = [[statistic._response.debiased(int(ones), reports) / rate for ones in row] for row in cells]
        bounds = segment_bounds(statistic._response, self._ones(cells, reports))
        devices = [statistic._response.debiased(int(row.sum()), reports * numbers) / rate for row in cells]
        counted = [
            SegmentCounts(
                label=label,
                devices=size,
                answers=statistic._answers(row),
                bounds=tuple(
                    replace(
                        bound,
                        answers=statistic._answers(bound.answers),
                        others=statistic._answers(bound.others),
                    )
                    for bound in found
                ),
                derived=self._derived(row, found[0]),
            )
            for label, size, row, found in zip(self.labels, devices, counts, bounds, strict=True)
        ]
        return segments_shown(counted, statistic.cohort_size, rate)

    def _ones(self, cells: NDArray[np.int64], reports: int) -> "Ones":
        statistic = self._statistic
        rate, rule = statistic.parameters.sampling_rate, statistic._rule_for(reports)
        return Ones(cells, reports, rate, rule, statistic._further)

    def _derived(self, values: Sequence[float], bounds: SegmentBounds) -> tuple[dict[str, Any], ...]:
        """The derived numbers of one segment, from its cells and what bounds them."""
        statistic = self._statistic
        if statistic._question is None:
            return ()
        every = frozenset(range(len(values)))
        ends = {every: bounds.devices} | dict(zip(statistic._further, bounds.sums, strict=True))
        for place, (having, lacking) in enumerate(zip(bounds.answers, bounds.others, strict=True)):
            ends |= {frozenset({place}): having, every - {place}: lacking}
        return tuple(_derived_numbers(statistic._question, values, max(sum(values), 0.0), ends))

    def bounds_at(
        self, level: float, devices: float, answers: Sequence[float], reports: int
    ) -> SegmentBounds:
        statistic, segments = self._statistic, len(self.labels)
        rate, response = statistic.parameters.sampling_rate, statistic._response
        ones = [response.total_of(answer * rate, reports) for answer in answers]
        if len(ones) < statistic._numbers:  # those without the one answer are in the first cell
            ones = [response.total_of(devices * rate, reports * statistic._numbers) - sum(ones), *ones]
        counted = self._ones(np.asarray([ones], dtype=np.int64), reports)
        # Quantities of all segments share what may fail equally.
        (found,) = _at_level(response, counted, 1 - (1 - level) / segments)
        return replace(
            found,
            level=level,
            answers=statistic._answers(found.answers),
            others=statistic._answers(found.others),
        )

    def truths(self, devices_by_count: Mapping[Any, int]) -> list[dict[str, Any]]:
        undivided, found = self._statistic.undivided, []
        for label in self.labels:
            own = {count: n for (segment, count), n in devices_by_count.items() if segment == label}
            answers = list(undivided.truth(own))
            found.append({"label": label, "devices": sum(own.values()), "answers": answers})
        return found


class SegmentedCountNonzero(Segmented, of=CountNonzero):
    """Devices with at least one event, by segment: cells are "none" and "at least one"."""

    def _histogram(self) -> Histogram:
        return Histogram(HistogramParameters(**dataclasses.asdict(self.parameters), k=1, coin=BUCKET))

    def _answers(self, numbers: Iterable[Any]) -> tuple[Any, ...]:
        _, some = numbers
        return (some,)


class SegmentedOneHot(Segmented):
    """A statistic with a coin, by segment. Each cell has a coin of its own."""

    def __init__(self, parameters: OneHotParameters, segments: Sequence[str], own: str | None = None) -> None:
        condition = "if a recipe asks by segment: devices of no segment report zeros"
        super().__init__(parameters.with_coins(condition), segments, own)

    def _histogram(self) -> OneHotMechanism[Any]:
        return self.undivided_class(self.parameters)  # type: ignore[return-value]  # one of them


class SegmentedHistogram(SegmentedOneHot, of=Histogram):
    """Histogram of events per device, by segment."""


class SegmentedQuestion(SegmentedOneHot):
    """A regular question by segment."""

    @property
    def _question(self) -> Question:
        question: Question = self.parameters.question
        return question


class SegmentedFunnel(SegmentedQuestion, of=Funnel):
    """How far devices get in a sequence of events, by segment."""


class SegmentedRetention(SegmentedQuestion, of=Retention):
    """Until when devices of the first period come back, by segment."""


class SegmentedTimeToFirst(SegmentedQuestion, of=TimeToFirst):
    """How long it takes until the first event, by segment."""


class SegmentedLongestStreak(SegmentedQuestion, of=LongestStreak):
    """The longest run of steps with the event, by segment."""


class SegmentedBoth(SegmentedQuestion, of=Both):
    """Which of a few events devices had, by segment."""


class SegmentedAutomaton(SegmentedQuestion, of=AutomatonQuestion):
    """A table of states, by segment."""


def _of_segments(guarantee: Guarantee) -> Guarantee:
    sentence = PAN_SENTENCE if guarantee.model is Model.PAN else RELATION_SENTENCES[guarantee.relation]
    return replace(guarantee, source=f"{guarantee.source} {sentence}")


def _derived_numbers(
    question: Question, values: Sequence[float], within: float, ends: Mapping[Cells, Ends]
) -> list[dict[str, Any]]:
    """The derived numbers of cells that hold `within` devices together.

    Args:
        ends: at least of every set of `sets_of`.
    """
    # Values that agree with each other: those of the closest possible cells.
    possible = closest_histogram(values, within)
    sums = {cells: Found(sum(possible[cell] for cell in cells), found) for cells, found in ends.items()}
    return derived_numbers(question.ratios, question.others, sums)


# Simultaneous intervals for the numbers of devices in all segments, by exact tests and a union bound.


@dataclass(frozen=True)
class Ones:
    """The intervals from the sum of all reports.

    Attributes:
        cells: ones by segment (row) and number of events (column, at least 2).
        reports, sampling_rate, rule: as in RandomizedBits.
        sets: further columns that are bounded together.
    """

    cells: NDArray[np.int64]
    reports: int
    sampling_rate: float
    rule: ReleaseRule
    sets: tuple[Cells, ...] = ()

    @staticmethod
    def quantities(segments: int, numbers: int, sets: int = 0) -> int:
        """How many numbers are bounded at once: of each segment its size, with and without each, and of
        further sets of them."""
        return segments * (1 + numbers * (1 if numbers == 2 else 2) + sets)


def segment_bounds(response: RandomizedResponse, ones: Ones) -> list[tuple[SegmentBounds, ...]]:
    """Of each segment, at each of `LEVELS`, the widest first."""
    found = [_at_level(response, ones, level) for level in LEVELS]
    return list(zip(*found, strict=True))


def _at_level(response: RandomizedResponse, ones: Ones, level: float) -> list[SegmentBounds]:
    segments, numbers = ones.cells.shape
    each = (1 - level) / Ones.quantities(segments, numbers, len(ones.sets))
    sizes = ones.cells.sum(axis=1, keepdims=True)
    devices = _ends(response, ones, sizes, numbers, each)
    answers = _ends(response, ones, ones.cells, 1, each)
    if numbers == 2:  # then those without one answer have the other
        others = [row[::-1] for row in answers]
    else:
        others = _ends(response, ones, sizes - ones.cells, numbers - 1, each)
    by_set = [
        [ends for (ends,) in _ends(response, ones, _summed(ones.cells, chosen), len(chosen), each)]
        for chosen in ones.sets
    ]
    sums = list(zip(*by_set, strict=True)) or [()] * segments
    return [
        SegmentBounds(level=level, devices=size, answers=tuple(having), others=tuple(lacking), sums=together)
        for (size,), having, lacking, together in zip(devices, answers, others, sums, strict=True)
    ]


def _summed(cells: NDArray[np.int64], chosen: Cells) -> NDArray[np.int64]:
    """The sum of some columns, as a column."""
    return np.asarray(cells[:, sorted(chosen)].sum(axis=1, keepdims=True))


def _ends(
    response: RandomizedResponse, ones: Ones, counted: NDArray[np.int64], coins: int, failure: float
) -> list[list[Ends]]:
    """The interval of the number of devices with one of `coins` bits, from the ones of all of them.

    Args:
        counted: any shape of two dimensions; the result has the same.
        coins: how many bits are counted together.
        failure: probability with which one interval does not hold.
    """
    rate = ones.sampling_rate
    family = RandomizedBits(ones.reports, response.absent, response.present, rate, coins, ones.rule)
    lows, highs = ends(family, counted.ravel().tolist(), failure)
    # As in bits_intervals: an estimate between two possible truths can lie outside of both.
    estimates = [response.debiased(int(seen), ones.reports * coins) / rate for seen in counted.ravel()]
    possible = np.clip(estimates, 0.0, ones.reports / rate)
    lows, highs = np.minimum(lows, possible), np.maximum(highs, possible)
    flat = list(zip(lows.tolist(), highs.tolist(), strict=True))
    width = counted.shape[1]
    return [flat[first : first + width] for first in range(0, len(flat), width)]
