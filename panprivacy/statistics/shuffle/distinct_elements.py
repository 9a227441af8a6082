"""How many different values the users have (RSP Algorithms 1 and 2, Theorem 3.3; Appendix A.2).

A place is odd with probability ½ if it is touched, and with a smaller one if it is empty. `touched_places`
and `odd_probability` return the answers that agree with the observed number of odd places. Any other would
give that number, or a more extreme one, with half of a failure probability at most. So the truth is left out
with no more than this probability, whatever it is.
"""

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

# Its parts are loaded when they are first used (see accounting/discrete_gaussian_sum.py).
import scipy
from numpy.typing import NDArray

from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import described
from panprivacy.statistics.intervals.estimate import LEVELS, Estimate, Interval
from panprivacy.statistics.intervals.exact import bounds
from panprivacy.statistics.intervals.randomized_bits import RandomizedBits
from panprivacy.statistics.shuffle.coins import coin
from panprivacy.statistics.shuffle.interface import CONFIDENCE, ShuffleStatistic
from panprivacy.statistics.shuffle.parameters import ShuffleParameters
from panprivacy.statistics.shuffle.public_randomness import LARGEST_SEED, hashed_place, public_seed
from panprivacy.statistics.shuffle.split_and_mix import log2_distance, shares_for, split
from panprivacy.statistics.simulation import simulation_generator
from panprivacy.statistics.streams.hashed_places import LARGEST_STANDARD_ERROR, HashedPlaces

NO, YES = "no", "yes"

ROBUST_DOWN_TO = 3
"""The shares are as private as δ requires while at least one user in this number is honest."""


@dataclass(frozen=True, kw_only=True)
class DistinctElementsParameters(ShuffleParameters):
    """The parameters of every shuffle statistic, and whether values are hashed."""

    hashed: str = described(
        label="Hashed",
        help="No: a value is a whole number below k. Yes: it is any text, which a public hash maps to one "
        "of k places. The result is corrected for values that share a place, as far as enough places stay "
        "empty: k should be no less than the number of users.",
        choices=(NO, YES),
        default=NO,
    )
    hash_seed: int | None = described(
        label="Hash seed",
        help="Chooses the public hash. It follows from the other parameters.",
        minimum=0,
        maximum=LARGEST_SEED,
        derived=True,
        default=None,
    )

    @property
    def required_hash_seed(self) -> int:
        """`hash_seed`, or FieldError while it has not been derived."""
        if self.hash_seed is None:
            raise FieldError(
                "hash_seed", "has not been derived yet; use the parameters that `calibrated()` returns"
            )
        return int(self.hash_seed)

    def calibrated(self) -> Self:
        """With the hash seed, if values are hashed."""
        if self.hashed == NO:
            return self
        return replace(self, hash_seed=public_seed(DistinctElements.statistic, self, "hash_seed"))

    @property
    def security(self) -> float:
        """σ = log₂((e^ε + 1)/δ), such that shares off by 2^−σ in distribution cost δ (RSP Lemma 3.4)."""
        return math.log2((math.exp(self.epsilon) + 1) / self.delta)

    @property
    def shares(self) -> int:
        """m: the number of bits into which a user splits its bit for each place."""
        return shares_for(max(2, math.ceil(self.cohort_size / ROBUST_DOWN_TO)), self.security)


class DistinctElements(ShuffleStatistic[DistinctElementsParameters]):
    """Of every place, the XOR of all users' bits: a fair coin if a user has the place, nearly 0 if none has.

    The error bound reaches to the last number of values with which the number of odd places agrees.

    If values are hashed, several may share a place. The estimate is then the number of values that touch as
    many places on average, and `details` has the places. If nearly every place is touched, the number of
    values cannot be estimated. Then the error bound reaches to the number of users, and `details` have
    `saturated`. A standard error is stated if and only if it would be small enough (`LARGEST_STANDARD_ERROR`)
    even with no two users having the same value. So whether it is stated does not depend on the data.

    The projection is the estimate's closest value from 1 to the number of users, or to k if that is smaller
    and values are not hashed.
    """

    statistic = "distinct_elements"
    title = "Number of different values"
    description = (
        "Estimates how many of k possible values at least one user has. The error grows with the square "
        "root of k, not with the number of users."
    )
    unit = "different values"
    parameters_class = DistinctElementsParameters
    detail_labels: ClassVar = {
        "touched_places": (
            "Touched places",
            "Estimated number of places that values were hashed to. The result follows from it: some "
            "share one.",
        ),
        "saturated": (
            "Saturated",
            "Yes if the table may be nearly full: then the result could be far too low.",
        ),
    }
    source = (
        "RSP Theorem 3.3, with the exact ε(γ) and δ(γ) of its proof and shares whose distance is computed "
        "exactly (after Balle, Bell, Gascón & Nissim 2020)."
    )
    labels = ("different values",)

    def require_promise(self) -> None:
        """FieldError if values are hashed and the seed is missing."""
        if self.parameters.hashed == YES:
            _ = self.parameters.required_hash_seed

    @property
    def flip_probability(self) -> float:
        """p' = (1 − (1 − e^−ε)^{1/n})/2, with which a user's bit for another place than its own is 1."""
        return -math.expm1(log_one_minus_exp(self.parameters.epsilon) / self.cohort_size) / 2

    def value_of(self, text: str) -> int:
        """A text's place if values are hashed; otherwise as in every protocol."""
        if self.parameters.hashed == NO:
            return super().value_of(text)
        return hashed_place(self.parameters.required_hash_seed, text, self.parameters.k)

    def randomize(self, value: int, random_source: random.Random) -> list[int]:
        self.require_value(value)
        # Algorithm 1, steps 2 and 3: p′, and the number of shares m for σ.
        flip, shares = self.flip_probability, self.parameters.shares
        messages = []
        # Step 4: for every place j.
        for place in range(self.parameters.k):
            # Always make both draws: the amount of randomness does not depend on the value.
            fair, rare = random_source.getrandbits(1), coin(flip, random_source)
            # Steps 5 to 8: u ~ Ber(1/2) for the user's own place, else u ~ Ber(p′).
            bit = fair if place == value else rare
            # Steps 9 to 11: the shares of u, each with its place.
            messages += [2 * place + share for share in split(bit, shares, random_source)]
        return messages

    def randomize_all(self, values: NDArray[np.int64], random_source: random.Random) -> NDArray[np.int64]:
        generator = simulation_generator(random_source)
        k, shares = self.parameters.k, self.parameters.shares
        users, with_value = len(values), np.bincount(values, minlength=k)
        odd = generator.binomial(with_value, 0.5) + generator.binomial(
            users - with_value, self.flip_probability
        )
        total = np.empty(2 * k, dtype=np.int64)
        for place in range(k):
            # All shares but the last are fair; the last makes the first `odd` users' numbers of ones odd.
            ones = generator.binomial(shares - 1, 0.5, size=users)
            wanted = np.arange(users) < odd[place]
            total[2 * place + 1] = ones.sum() + np.count_nonzero((ones & 1) != wanted)
        total[::2] = users * shares - total[1::2]
        return total

    @property
    def most_messages(self) -> int:
        """Always exactly this number."""
        return self.parameters.k * self.parameters.shares

    def estimate(self, total: Sequence[int], reports: int) -> Estimate:
        """(2Ce^ε − k)/(e^ε − 1) places for n users, if C places have an odd number of ones."""
        self.require_total(total, reports)
        # Algorithm 2, steps 2 to 7: C_j is the parity of the ones of place j, and C the sum of them.
        k, odd = self.parameters.k, sum(ones & 1 for ones in total[1::2])
        log_keep = self._log_keep(reports)
        # Step 8: z = (2Ce^ε − k)/(e^ε − 1), with what keeps it unbiased if fewer than n users reported.
        places = (2 * odd + k * math.expm1(log_keep)) / math.exp(log_keep)
        if self.parameters.hashed == YES:
            return self._hashed_estimate(odd, places, reports)
        most = max(1, min(k, reports))
        projection = min(max(places, 1.0), float(most))
        fewest, largest = touched_places(odd, k, -math.expm1(log_keep) / 2, most, 1 - CONFIDENCE)
        return Estimate(
            values=(places,),
            standard_errors=(math.sqrt(self._places_variance(projection, log_keep)),),
            standard_error_note="Includes the randomization by the users.",
            projection=(projection,),
            error_bounds=(max(abs(largest - places), abs(places - fewest)),),
            confidence=CONFIDENCE,
            intervals=tuple(
                Interval(level, (float(low),), (float(high),))
                for level in LEVELS
                for low, high in [touched_places(odd, k, -math.expm1(log_keep) / 2, most, 1 - level)]
            ),
        )

    def _hashed_estimate(self, odd: int, places: float, reports: int) -> Estimate:
        """How many values touch as many places on average, if each takes one at random.

        The hash counts as a random function, which it is as far as SHA-256 is. The touched places are random
        then, but negatively associated. A place is odd likelier if it is touched. So the moment generating
        function of the number of odd ones is at most that of independent places. That is at most the one of a
        binomial count with the same mean, so Chernoff's bound holds for it.
        """
        k, hashed, log_keep = self.parameters.k, HashedPlaces(self.parameters.k), self._log_keep(reports)
        share = min(places / k, hashed.full)
        value, most = hashed.items(share), float(max(1, reports))
        fewest, largest, saturated = self._hashed_bounds(odd, reports, 1 - CONFIDENCE)
        is_stated = self._is_error_stated(reports)
        return Estimate(
            values=(value,),
            standard_errors=(self._hashed_standard_error(share, log_keep),) if is_stated else (),
            standard_error_note=(
                "Includes the randomization by the users, and the random places of the values; by the delta "
                "method."
                if is_stated
                else "None is stated: if nearly all users' values differ, too few places stay empty to "
                "estimate how many there are."
            ),
            projection=(min(max(value, 1.0), most),),
            error_bounds=(max(abs(largest - value), abs(value - fewest)),),
            confidence=CONFIDENCE,
            intervals=tuple(
                Interval(level, (low,), (high,))
                for level in LEVELS
                for low, high, _ in [self._hashed_bounds(odd, reports, 1 - level)]
            ),
            details={"touched_places": places, "saturated": saturated},
        )

    def _hashed_bounds(self, odd: int, reports: int, failure_probability: float) -> tuple[float, float, bool]:
        """The fewest and the most values that agree with this number of odd places, and whether these may be
        nearly all."""
        hashed, log_keep, most = (
            HashedPlaces(self.parameters.k),
            self._log_keep(reports),
            float(max(1, reports)),
        )
        lowest, highest = (
            (2 * probability + math.expm1(log_keep)) / math.exp(log_keep)
            for probability in odd_probability(odd, self.parameters.k, failure_probability)
        )
        saturated = highest >= hashed.full
        fewest = min(max(hashed.items(lowest), 1.0), most)
        # There are no more values than users, however full the table is.
        return fewest, most if saturated else min(max(hashed.items(highest), 1.0), most), saturated

    def _is_error_stated(self, reports: int) -> bool:
        """Whether there is a standard error if values are hashed; it must not depend on the result."""
        k = self.parameters.k
        largest = self._hashed_standard_error(HashedPlaces(k).touched(reports), self._log_keep(reports))
        return largest <= LARGEST_STANDARD_ERROR * k

    @property
    def largest(self) -> float:
        if self.parameters.hashed == YES:
            return float(self.cohort_size)
        return float(min(self.parameters.k, self.cohort_size))

    def expected_standard_error(self) -> float:
        """For the largest possible number of taken places."""
        k, log_keep = self.parameters.k, self._log_keep(self.cohort_size)
        if self.parameters.hashed == YES:
            return self._hashed_standard_error(HashedPlaces(k).touched(self.cohort_size), log_keep)
        return math.sqrt(self._places_variance(min(k, self.cohort_size), log_keep))

    def _log_keep(self, reports: int) -> float:
        """ln keep, if the XOR of an empty place is 1 with probability (1 − keep)/2; keep = 1 − e^−ε for n
        users."""
        return log_one_minus_exp(self.parameters.epsilon) * reports / self.cohort_size

    def _places_variance(self, touched: float, log_keep: float) -> float:
        """Of the estimated number of places, if this number is touched."""
        empty = -math.expm1(log_keep) / 2
        odd_variance = touched / 4 + (self.parameters.k - touched) * empty * (1 - empty)
        return 4 * math.exp(-2 * log_keep) * odd_variance

    def _hashed_standard_error(self, share: float, log_keep: float) -> float:
        """If this share of all places is touched, from one place to `HashedPlaces.full`."""
        k, hashed = self.parameters.k, HashedPlaces(self.parameters.k)
        within = min(max(share, 1 / k), hashed.full)
        variance = self._places_variance(within * k, log_keep) / k**2 + hashed.variance(within, k)
        return hashed.slope(within) * math.sqrt(variance)

    @property
    def expected_note(self) -> str:
        if self.parameters.hashed == NO:
            return ""
        if not self._is_error_stated(self.cohort_size):
            return (
                "The result will have an error bound, but no standard error: if nearly all users' values "
                "differ, too few places stay empty to estimate how many there are. A larger k helps."
            )
        return "Includes that values may share a place by their hash."

    def truth(self, users_by_value: Mapping[int, int]) -> tuple[float, ...]:
        """The number of different places that users have: of values, unless they are hashed."""
        return (float(sum(users > 0 for users in users_by_value.values())),)

    def truth_of(self, users_by_text: Mapping[str, int]) -> tuple[float, ...]:
        """The number of different texts if values are hashed, including those that share a place."""
        if self.parameters.hashed == NO:
            return super().truth_of(users_by_text)
        return (float(sum(users > 0 for users in users_by_text.values())),)

    def privacy_of(self, honest_users: int) -> tuple[float, float, float]:
        """2ε' and 2δ' for ε' = ln(1/(1 − (1 − e^−ε)^γ)) and δ' = (e^ε' + 1)·distance.

        Replacing a value changes the bits of two places. The XOR of one goes from Ber(1/2) to Ber(e^−ε'/2) or
        not at all, while the other goes in the opposite direction. That raises an outcome's probability by no
        more than 2 − e^−ε'. Both together cost ε' + ln(2 − e^−ε') ≤ 2ε'.
        """
        parameters = self.parameters
        gamma = honest_users / self.cohort_size
        epsilon = -log_one_minus_exp(-gamma * log_one_minus_exp(parameters.epsilon))
        distance = 2 ** max(-parameters.security, log2_distance(max(2, honest_users), parameters.shares))
        delta = min(1.0, 2 * (math.exp(epsilon) + 1) * distance)
        return 2 * epsilon, delta, epsilon + math.log(2 - math.exp(-epsilon))


def log_one_minus_exp(x: float) -> float:
    """ln(1 − e^−x) for x > 0, without cancellation (Mächler 2012)."""
    return math.log(-math.expm1(-x)) if x < math.log(2) else math.log1p(-math.exp(-x))


def touched_places(
    odd: int, places: int, empty: float, most: int, failure_probability: float
) -> tuple[int, int]:
    """The fewest and the most touched places, from 1 to `most`, that agree with this number of odd ones.

    By exact tails of the sum of two binomial counts, which grows with the number of touched places.

    Args:
        empty: the probability with which an empty place is odd, from 0 to ½.
        most: from 1 to `places`.
    """
    (fewest,), (largest,) = bounds(RandomizedBits(places, empty, 0.5), [odd], most, failure_probability)
    return max(1, int(fewest)), max(1, int(largest))


def odd_probability(odd: int, places: int, failure_probability: float) -> tuple[float, float]:
    """The lowest and the highest mean probability of being odd that agrees with this number of odd places.

    By Chernoff's bound for binomial counts. The bound also holds for every count whose moment generating
    function is at most as large, such as one over independent places of different probabilities (Hoeffding
    1963).
    """
    allowed = math.log(2 / failure_probability) / places
    return _lowest(odd / places, allowed), 1 - _lowest(1 - odd / places, allowed)


def _lowest(share: float, allowed: float) -> float:
    """The lowest probability from which a share diverges by at most `allowed`."""
    if share <= 0:
        return 0.0

    def excess(probability: float) -> float:
        first = scipy.special.rel_entr(share, probability)
        second = scipy.special.rel_entr(1 - share, 1 - probability)
        return float(first + second) - allowed

    # One odd place of a probability of 1e-300 is rarer than any failure probability that is asked for.
    return float(scipy.optimize.brentq(excess, 1e-300, share, xtol=1e-300, rtol=1e-12))
