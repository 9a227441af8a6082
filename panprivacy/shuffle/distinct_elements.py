"""How many different values the users have (RSP Algorithms 1 and 2, Theorem 3.3; Appendix A.2)."""

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from panprivacy.errors import FieldError
from panprivacy.estimate import Estimate
from panprivacy.parameters import described
from panprivacy.shuffle.coins import coin
from panprivacy.shuffle.interface import CONFIDENCE, ShuffleStatistic
from panprivacy.shuffle.parameters import ShuffleParameters
from panprivacy.shuffle.public_randomness import LARGEST_SEED, hashed_place, public_seed
from panprivacy.shuffle.split_and_mix import log2_distance, shares_for, split
from panprivacy.simulation import simulation_generator

NO, YES = "no", "yes"

ROBUST_DOWN_TO = 3
"""The shares hide as much as δ asks for while at least one in so many users is honest."""


@dataclass(frozen=True, kw_only=True)
class DistinctElementsParameters(ShuffleParameters):
    """Those of every shuffle statistic, and whether values are hashed."""

    hashed: str = described(
        label="Hashed",
        help="Whether a value is any text, which a public hash maps to one of k places, or a whole number "
        "below k. Values that share a place are counted once: k should be well above the number of users.",
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
        """With the hash seed, where values are hashed."""
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
    """Of every place, the XOR of all users' bits: fair where somebody is, nearly 0 where nobody is.

    The projection is the estimate's closest value from 1 to the smaller of k and the number of users.
    """

    statistic = "distinct_elements"
    title = "Number of different values"
    description = (
        "Estimates how many of k possible values at least one user has. The error grows with the square root "
        "of k, and not with the number of users."
    )
    unit = "different values"
    parameters_class = DistinctElementsParameters
    source = (
        "RSP Theorem 3.3, with the exact ε(γ) and δ(γ) of its proof and shares whose distance is computed "
        "exactly (after Balle, Bell, Gascón & Nissim 2020)."
    )

    def require_promise(self) -> None:
        """FieldError where values are hashed and the seed is missing."""
        if self.parameters.hashed == YES:
            _ = self.parameters.required_hash_seed

    @property
    def flip_probability(self) -> float:
        """p' = (1 − (1 − e^−ε)^{1/n})/2, with which a user's bit for another place than its own is 1."""
        return -math.expm1(log_one_minus_exp(self.parameters.epsilon) / self.cohort_size) / 2

    def value_of(self, text: str) -> int:
        """A text's place where values are hashed; otherwise as of every protocol."""
        if self.parameters.hashed == NO:
            return super().value_of(text)
        return hashed_place(self.parameters.required_hash_seed, text, self.parameters.k)

    def randomize(self, value: int, random_source: random.Random) -> list[int]:
        self.require_value(value)
        flip, shares = self.flip_probability, self.parameters.shares
        messages = []
        for place in range(self.parameters.k):
            # Both draws always: how much randomness is consumed does not depend on the value.
            fair, rare = random_source.getrandbits(1), coin(flip, random_source)
            bit = fair if place == value else rare
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
        """Always exactly so many."""
        return self.parameters.k * self.parameters.shares

    def estimate(self, total: Sequence[int], reports: int) -> Estimate:
        """(2Ce^ε − k)/(e^ε − 1) for n users, C being the number of places with an odd number of ones."""
        self.require_total(total, reports)
        parameters = self.parameters
        k, odd = parameters.k, sum(ones & 1 for ones in total[1::2])
        # The XOR of an empty place is 1 with probability (1 − keep)/2; keep = 1 − e^−ε for n users.
        log_keep = log_one_minus_exp(parameters.epsilon) * reports / self.cohort_size
        keep, empty = math.exp(log_keep), -math.expm1(log_keep) / 2
        value = (2 * odd - 2 * k * empty) / keep
        projection = min(max(value, 1.0), float(min(k, reports)))
        failure, collisions = 1 - CONFIDENCE, 0.0
        note = "Includes the randomization by the users."
        details: dict[str, float] = {}
        if parameters.hashed == YES:
            failure /= 2
            collisions = collision_bound(reports, k, failure)
            note += " Not what is lost where several values share a place; the error bound includes it."
            details = {"corrected_for_collisions": corrected_for_collisions(projection, k)}
        return Estimate(
            values=(value,),
            standard_errors=(self._standard_error(projection, log_keep),),
            standard_error_note=note,
            projection=(projection,),
            error_bounds=(math.sqrt(2 * k * math.log(2 / failure)) / keep + collisions,),
            confidence=CONFIDENCE,
            details=details,
        )

    @property
    def largest(self) -> float:
        return float(min(self.parameters.k, self.cohort_size))

    def expected_standard_error(self) -> float:
        """Where as many places as possible are taken."""
        k = self.parameters.k
        return self._standard_error(min(k, self.cohort_size), log_one_minus_exp(self.parameters.epsilon))

    def _standard_error(self, distinct: float, log_keep: float) -> float:
        """If so many places are taken, and the XOR of an empty one is 1 with probability (1 − keep)/2."""
        empty = -math.expm1(log_keep) / 2
        variance = distinct / 4 + (self.parameters.k - distinct) * empty * (1 - empty)
        return 2 * math.exp(-log_keep) * math.sqrt(variance)

    @property
    def expected_note(self) -> str:
        if self.parameters.hashed == NO:
            return ""
        return "Values that share a place by their hash are counted once, which this does not include."

    @property
    def labels(self) -> tuple[str, ...]:
        return ("different values",)

    def truth(self, users_by_value: Mapping[int, int]) -> tuple[float, ...]:
        """The number of different places that users have: of values, unless they are hashed."""
        return (float(sum(users > 0 for users in users_by_value.values())),)

    def truth_of(self, users_by_text: Mapping[str, int]) -> tuple[float, ...]:
        """The number of different texts where values are hashed, also of those that share a place."""
        if self.parameters.hashed == NO:
            return super().truth_of(users_by_text)
        return (float(sum(users > 0 for users in users_by_text.values())),)

    def privacy_of(self, honest_users: int) -> tuple[float, float, float]:
        """2ε' and 2δ' for ε' = ln(1/(1 − (1 − e^−ε)^γ)) and δ' = (e^ε' + 1)·distance.

        Replacing a value changes the bits of two places. The XOR of one goes from Ber(1/2) to Ber(e^−ε'/2)
        or not at all, while the other goes the opposite way: that raises an outcome's probability by no
        more than 2 − e^−ε', so that both together cost ε' + ln(2 − e^−ε') ≤ 2ε'.
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


def collision_bound(values: int, places: int, failure: float) -> float:
    """How many of `values` different values are lost where several share a place, but with this probability.

    At most one for each pair with one place. There are values·(values − 1)/(2·places) of them on average
    (at most), so Markov's inequality gives half of what RSP Lemma A.3 prints; all but one is certain.
    """
    return min(values * (values - 1) / (2 * places * failure), values - 1.0)


def corrected_for_collisions(occupied: float, places: int) -> float:
    """How many different values leave `occupied` places on average, if each takes one at random.

    For this the hash must be as good as random, which no 2-universal family promises. A full table is
    taken as one place short of full.
    """
    return math.log1p(-min(occupied, places - 1.0) / places) / math.log1p(-1 / places)
