"""Statistics whose devices report a one-hot vector of cells, with one coin for all cells or one for each."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Self, TypeVar

import numpy as np

from panprivacy.accounting.composition import Repetition
from panprivacy.accounting.guarantees import Guarantee, Model, Relation
from panprivacy.accounting.interface import PrivacyEvent
from panprivacy.accounting.randomized_response_sum import RandomizedResponseSum
from panprivacy.accounting.vector_coin_sum import VectorCoinSum
from panprivacy.encryption.interface import Ciphertext, PublicKey
from panprivacy.formats.display import plain
from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import EPSILON, Parameters, described
from panprivacy.statistics.events.assumptions import FOLLOWS_PROTOCOL
from panprivacy.statistics.events.cohort import Release, require_population
from panprivacy.statistics.events.interface import MaskedMechanism, Report
from panprivacy.statistics.events.randomized_response import (
    RandomizedBit,
    RandomizedResponse,
    bits_expected_margin,
    bits_standard_error,
    bits_standard_error_note,
    expected_bits_error,
)
from panprivacy.statistics.events.vector_coin import VectorCoin
from panprivacy.statistics.interface import InvalidReportError
from panprivacy.statistics.intervals.estimate import Estimate, Interval
from panprivacy.statistics.intervals.randomized_bits import RandomizedBits, ends, intervals

VECTOR, BUCKET = "vector", "bucket"


@dataclass(frozen=True, kw_only=True)
class OneHotParameters(Parameters):
    """The parameters of every statistic, and the coin."""

    coin: str | None = described(
        label="Coin",
        help="One coin for the whole answer (vector), or one for each value (bucket). Leave empty for the "
        "one whose largest error is smaller.",
        choices=(VECTOR, BUCKET),
        default=None,
        settled=True,
    )

    @property
    def replacement_epsilon(self) -> float:
        """ε of one report if its vector is replaced by another one, with either coin."""
        raise NotImplementedError

    def with_coins(self, condition: str) -> Self:
        """The same with a coin for each cell; FieldError if one for the whole vector is asked for.

        Args:
            condition: when no other coin is possible, as a clause.
        """
        if self.coin == VECTOR:
            raise FieldError("coin", f"must be {BUCKET}, or left out, {condition}")
        return replace(self, coin=BUCKET)


H = TypeVar("H", bound=OneHotParameters)


class OneHotMechanism(MaskedMechanism[H]):
    """In which of several cells a device is.

    The device sends the vector of cells through one coin (`VectorCoin`), or each cell through a coin of its
    own (LPP Algorithm 5 as printed). The latter have half of the ε under replacement, because two vectors
    differ in two cells. With one coin and a hidden number of reports there is one cell more, for dummies.

    If the parameters name no coin, `better_coin` chooses; `parameters` state it.

    The projection of the estimate is the closest point (Euclidean) with no negative cell and the sum
    reports/q.
    """

    unit = "devices"
    scalar = False
    counts_devices = True

    parameters_class: ClassVar[type[OneHotParameters]]

    def __init__(self, parameters: H) -> None:
        super().__init__(parameters)
        self._asked = parameters
        if parameters.coin is None:
            coin = better_coin(parameters.replacement_epsilon, len(self.labels))
            self.parameters = replace(parameters, coin=coin)
        if not self._has_vector_coin and self.cell_epsilon < EPSILON["minimum"]:
            least = parameters.epsilon * EPSILON["minimum"] / self.cell_epsilon
            raise FieldError("epsilon", f"must be at least {plain(least)} with a coin for each value")
        self._response = RandomizedResponse(self.cell_epsilon)

    def having(self, parameters: H) -> Self:
        # A coin that was not asked for is chosen anew.
        chosen = self._asked.coin is None and parameters.coin == self.parameters.coin
        return super().having(replace(parameters, coin=None) if chosen else parameters)

    def with_noisy_count(self) -> Self:
        made = super().with_noisy_count()
        made.parameters = self._asked.with_coins(
            "if servers show the number of reports with noise only: one-hot vectors add up to that number"
        )
        return made

    @property
    def cell_epsilon(self) -> float:
        """ε of the coin of one cell, if each has its own: two cells differ."""
        return self.parameters.replacement_epsilon / 2

    @property
    def _has_vector_coin(self) -> bool:
        return self.parameters.coin == VECTOR

    @property
    def _vector_coin(self) -> VectorCoin:
        return VectorCoin(self.parameters.replacement_epsilon, self.contribution_length)

    # For the device ------------------------------------------------------------

    def _respond(
        self, public_key: PublicKey, cells: Sequence[Ciphertext], blank: bool, random_source: random.Random
    ) -> Report:
        """The response to a vector of `contribution_length` encrypted cells.

        Args:
            blank: whether it is a dummy.
        """
        times = self.parameters.steps + 1
        if self._has_vector_coin:
            instead = self.contribution_length - 1 if blank else None
            return self._vector_coin.respond_encrypted(
                public_key, cells, times, random_source, instead=instead
            )
        return tuple(
            self._response.respond_encrypted(public_key, cell, times, random_source, blank=blank)
            for cell in cells
        )

    def _respond_in_clear(self, public_key: PublicKey, cell: int, random_source: random.Random) -> Report:
        """The same for a cell in the clear: the coins first, encryption afterwards."""
        length, blank = self.contribution_length, self._is_dummy(random_source)
        if self._has_vector_coin:
            shown = self._vector_coin.respond(length - 1 if blank else cell, random_source)
            bits = [int(shown == place) for place in range(length)]
        else:
            bits = [
                self._response.respond(int(not blank and place == cell), random_source)
                for place in range(length)
            ]
        times = self.parameters.steps + 1
        return tuple(public_key.encrypt(bit, random_source, rerandomizations=times) for bit in bits)

    # For the server ------------------------------------------------------------

    @property
    def allowed_values(self) -> range:
        return range(2)

    @property
    def _has_dummy_cell(self) -> bool:
        return self._has_vector_coin and self.dummies is not None

    @property
    def contribution_length(self) -> int:
        return len(self.labels) + self._has_dummy_cell

    def contribution(self, values: Sequence[int]) -> tuple[int, ...]:
        found = super().contribution(values)
        if self._has_vector_coin and sum(found) != 1:
            raise InvalidReportError("not_one_hot", f"one value must be 1, not {sum(found)}")
        return found

    def random_values(self, random_source: random.Random) -> tuple[int, ...]:
        if not self._has_vector_coin:
            return super().random_values(random_source)
        one = random_source.randrange(self.contribution_length)
        return tuple(int(place == one) for place in range(self.contribution_length))

    def _sum_of(self, cells: int) -> tuple[RandomizedBit, int]:
        """Whether a device is in any of this number of cells, as a bit; and how many such bits of a report
        are added up for it."""
        return (self._vector_coin.sum_of(cells), 1) if self._has_vector_coin else (self._response, cells)

    @property
    def _together(self) -> int:
        """How many numbers of devices are bounded at once."""
        return len(self.labels)

    def debiased(self, total: Sequence[int], reports: int) -> tuple[float, ...]:
        bit, _ = self._sum_of(1)
        rate = self.parameters.sampling_rate
        return tuple(bit.debiased(ones, reports) / rate for ones in total[: len(self.labels)])

    def estimate(self, total: Sequence[int], reports: int) -> Estimate:
        """All intervals of a level hold together."""
        self.require_total(total, reports)
        rate, rule = self.parameters.sampling_rate, self._rule_for(reports)
        cells, bit = total[: len(self.labels)], self._sum_of(1)[0]
        values = self.debiased(total, reports)
        errors = [bits_standard_error(bit, value, reports, rate) for value in values]
        bits = RandomizedBits(reports, bit.absent, bit.present, rate, 1, rule)
        possible = self._possible(values, reports)
        return Estimate(
            values=values,
            standard_errors=self._standard_errors(errors, total, reports),
            standard_error_note=self._error_note(bits_standard_error_note(rate)),
            projection=closest_histogram(values, reports / self.reporting_rate),
            intervals=tuple(one.reaching(possible) for one in intervals(bits, cells, self._together)),
        )

    def interval_at(self, level: float, values: Sequence[float], reports: int) -> Interval:
        rate, rule, bit = self.parameters.sampling_rate, self._rule_for(reports), self._sum_of(1)[0]
        bits = RandomizedBits(reports, bit.absent, bit.present, rate, 1, rule)
        ones = [bit.total_of(value * rate, reports) for value in values]
        low, high = ends(bits, ones, (1 - level) / self._together)
        found = Interval(level, tuple(map(float, low)), tuple(map(float, high)))
        return found.reaching(self._possible(values, reports))

    def _possible(self, values: Sequence[float], reports: int) -> list[float]:
        """The closest numbers of devices that are possible."""
        most = reports / self.parameters.sampling_rate
        return [min(max(value, 0.0), most) for value in values]

    # For the accountant --------------------------------------------------------

    def _release(self, n: int) -> PrivacyEvent:
        if self._has_vector_coin:
            return self._one_coin(n, Relation.REPLACE)
        # Two cells move under replacement; given all inputs, their noise is independent.
        return Repetition(event=self._cell(n), times=2)

    def _one_coin(self, n: int, relation: Relation) -> VectorCoinSum:
        k, epsilon = self.contribution_length, self.parameters.replacement_epsilon
        return VectorCoinSum(n=n, k=k, epsilon0=epsilon, relation=relation.value)

    def _cell(self, n: int) -> PrivacyEvent:
        return RandomizedResponseSum(n=n, epsilon0=self.cell_epsilon)

    def _releases(self) -> tuple[Release, ...]:
        # With secret sampling, nothing is claimed for add/remove: without the protected device a cohort holds
        # another one instead, which differs in two cells.
        added = partial(self._one_coin, relation=Relation.ADD_REMOVE) if self._has_vector_coin else self._cell
        return (*super()._releases(), Release((Relation.ADD_REMOVE,), added))

    def local_guarantees(self) -> tuple[Guarantee, ...]:
        epsilon = self.parameters.replacement_epsilon
        if not self._has_vector_coin:
            return (
                _local(
                    Relation.ADD_REMOVE,
                    self.cell_epsilon,
                    "Randomized response of a one-hot vector that differs in one bit: LPP Theorem 11.",
                    "the reference is a report about all zeros, which no device’s stream gives",
                ),
                _local(
                    Relation.REPLACE,
                    epsilon,
                    "Randomized response of a one-hot vector that differs in two bits: twice the ε of one.",
                ),
            )
        return (
            _local(
                Relation.ADD_REMOVE,
                self._one_coin(2, Relation.ADD_REMOVE).largest_loss,
                "Randomized response of one of k values, against a report drawn uniformly: the larger of "
                "ln(p·k) and −ln(q·k).",
                "the reference is a report that is drawn uniformly",
            ),
            _local(Relation.REPLACE, epsilon, "Randomized response of one of k values: p/q = e to this ε."),
        )

    def expected_standard_error(self, population: int) -> float:
        """Of one cell; the worst case over the truth: every device is in it."""
        require_population(population)
        rate, rule, bit = self.parameters.sampling_rate, self.release_rule, self._sum_of(1)[0]
        return expected_bits_error(bit, population, rate, rule=rule, devices=population)

    @property
    def expected_note(self) -> str:
        """The largest errors of both coins, compared; empty if only one is possible."""
        if self.noisy_count:
            return ""
        cells, epsilon = len(self.labels), self.parameters.replacement_epsilon
        one, each = (largest_error(coin, epsilon, cells) for coin in (VECTOR, BUCKET))
        other, times = "one coin for all values", one / each
        if self._has_vector_coin:
            other, times = "a coin for each value", each / one
        compared = "about as large" if abs(times - 1) < 0.05 else f"{times:.2g} times as large"
        return f"With {other}, the largest error would be {compared}."

    def expected_margin(self, population: int, failure_probability: float) -> float:
        """Of the intervals of all cells, about, which hold together with those of derived numbers; the worst
        case is the same. Shares of several cells have more noise than one cell."""
        require_population(population)
        each = failure_probability / self._together
        rate, rule = self.parameters.sampling_rate, self.release_rule
        return bits_expected_margin(self._sum_of(1)[0], population, rate, each, rule=rule)


def better_coin(epsilon: float, cells: int) -> str:
    """The coin whose largest error over all truths is smaller: for the vector, that of a cell which holds all
    devices.

    Args:
        epsilon: of one report, under replacement.
    """
    one, each = (largest_error(coin, epsilon, cells) for coin in (VECTOR, BUCKET))
    return VECTOR if one <= each else BUCKET


def largest_error(coin: str, epsilon: float, cells: int) -> float:
    """Standard error of a cell that holds all devices, of one report."""
    bit = VectorCoin(epsilon, cells).sum_of(1) if coin == VECTOR else RandomizedResponse(epsilon / 2)
    return bits_standard_error(bit, 1.0, 1, 1.0)


def _local(relation: Relation, epsilon: float, source: str, reference: str = "") -> Guarantee:
    return Guarantee(
        model=Model.LOCAL,
        relation=relation,
        epsilon=epsilon,
        delta=0.0,
        source=source,
        assumption=f"{FOLLOWS_PROTOCOL}; {reference}" if reference else FOLLOWS_PROTOCOL,
    )


def closest_histogram(values: Sequence[float], total: float) -> tuple[float, ...]:
    """The point closest to `values` (Euclidean) with no negative entry and the sum `total` ≥ 0.

    Subtracts from all the one level at which the positive parts add up to `total` (Held, Wolfe &
    Crowder 1974).
    """
    given = np.asarray(values, dtype=float)
    descending = np.sort(given)[::-1]
    levels = (np.cumsum(descending) - total) / np.arange(1, given.size + 1)
    # The largest entries stay positive as long as they exceed the level that they alone would need.
    level = levels[int(np.flatnonzero(descending >= levels)[-1])]
    return tuple(float(value) for value in np.maximum(given - level, 0.0))
