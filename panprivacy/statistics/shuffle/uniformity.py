"""Whether all values are equally frequent (RSP Algorithms 4 and 5, Theorems 4.2 and 4.8).

Of k values, c_j users have value j; the analyzer knows c_j + E_j with E_j ~ Bin(ℓ_j, 1/2) − ℓ_j/2, and
ℓ_j. The paper's analysis draws the number of samples from a Poisson distribution, so that the c_j are
independent. Here exactly n users take part, so their counts are multinomial. The calibrated threshold and
the standard error are those of multinomial counts.

The final test runs over fewer, coarser values (`compressed_size`).
"""

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np

# Its parts are loaded when they are first used (see accounting/discrete_gaussian_sum.py).
import scipy
from numpy.typing import NDArray

from panprivacy.accounting.binomial_noise import least_noise, poisson_epsilon
from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import described
from panprivacy.statistics.intervals.estimate import Estimate
from panprivacy.statistics.shuffle.coins import poisson
from panprivacy.statistics.shuffle.interface import ShuffleStatistic
from panprivacy.statistics.shuffle.parameters import ShuffleParameters
from panprivacy.statistics.shuffle.public_randomness import LARGEST_SEED, partition, public_seed
from panprivacy.statistics.simulation import simulation_generator

PRELIMINARY, FINAL = "preliminary", "final"

NOT_UNIFORM = "not_uniform"
NO_DIFFERENCE_FOUND = "no_difference_found"
"""The verdicts. A test can find a difference, and never that there is none."""

LARGEST_EXPECTED_MESSAGES = 1_000_000
"""The largest allowed expected number of a user's messages."""


CALIBRATED_LEVEL = 0.1
"""How often uniform values exceed the calibrated threshold; the paper's proof has 1/10 too."""

Counts = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class UniformityParameters(ShuffleParameters):
    """The parameters of every shuffle statistic, the distance to detect, and the test."""

    alpha: float = described(
        label="Distance from uniform (α)",
        help="Total variation distance that is to be noticed.",
        minimum=0.001,
        maximum=1,
    )
    test: str = described(
        label="Test",
        help="Preliminary compares counts value by value. Final compares them over random groups of values, "
        "and needs fewer users if k is very large.",
        choices=(PRELIMINARY, FINAL),
        default=PRELIMINARY,
    )
    partition_seed: int | None = described(
        label="Partition seed",
        help="Chooses the public random groups of values. It follows from the other parameters.",
        minimum=0,
        maximum=LARGEST_SEED,
        derived=True,
        default=None,
    )

    def __post_init__(self) -> None:
        """Raises FieldError also if the noise would take too many messages."""
        super().__post_init__()
        most_noise = LARGEST_EXPECTED_MESSAGES - self.groups
        least = math.ceil(self.groups * self.noise_messages / most_noise)
        if self.cohort_size < least:
            raise FieldError(
                "cohort_size",
                f"must be at least {least:,}, so that no user has to send more than about "
                f"{LARGEST_EXPECTED_MESSAGES:,} messages, not {self.cohort_size:,}",
            )

    @property
    def groups(self) -> int:
        """k̂: over how many groups of values the users are counted; k in the preliminary test."""
        if self.test == PRELIMINARY:
            return self.k
        return compressed_size(self.k, self.epsilon, self.alpha)

    @property
    def noise_messages(self) -> int:
        """λ = 40·((e^ε+1)/(e^ε−1))²·ln(2k̂/δ), rounded up: the expected number for a group, of all users."""
        return math.ceil(4 * least_noise(self.epsilon, self.delta / self.groups))

    @property
    def required_partition_seed(self) -> int:
        """`partition_seed`, or FieldError while it has not been derived."""
        if self.partition_seed is None:
            raise FieldError(
                "partition_seed", "has not been derived yet; use the parameters that `calibrated()` returns"
            )
        return self.partition_seed

    def calibrated(self) -> Self:
        """With the partition seed, if the test is the final one."""
        if self.test == PRELIMINARY:
            return self
        return replace(self, partition_seed=public_seed(Uniformity.statistic, self, "partition_seed"))


class Uniformity(ShuffleStatistic[UniformityParameters]):
    """A statistic Z′ of noisy counts, which is large if they are far from equal, and two verdicts.

    Uniform values do not leave Z′ at 0 but, on average, at about k̂²λ/(4m) − 1, because the users' noise is
    in it too. `details` has this as `expected_if_uniform`, for the noise that came. Of the preliminary test
    it has as `expected_shift_at_alpha` by how much values at a distance of α raise Z′ at least. It also has
    the verdict of the printed threshold τ, and that of a threshold calibrated for uniform values.

    The final test is run once, whatever k̂; its proof repeats it a constant number of times.
    """

    statistic = "uniformity"
    title = "Whether all values are equally frequent"
    description = (
        "Tests whether the users' values are spread evenly over k possible values, up to a distance of α."
    )
    unit = "units of the test statistic"
    hypothesis_test = True
    parameters_class = UniformityParameters
    detail_labels: ClassVar = {
        "verdict": (
            "Verdict",
            "By the threshold that the paper proves. No difference found does not mean that there is none.",
        ),
        "threshold": (
            "Threshold of the paper (τ)",
            "A test statistic (Z′) above it is called not uniform. Small differences do not reach it.",
        ),
        "calibrated_verdict": (
            "Calibrated verdict",
            "By a threshold computed for values that are equally frequent.",
        ),
        "calibrated_threshold": (
            "Calibrated threshold",
            "A test statistic (Z′) above it is called not uniform, too.",
        ),
        "calibrated_level": (
            "Level of the calibrated threshold",
            "How often Z′ exceeds it by chance, if the values are equally frequent.",
        ),
        "expected_if_uniform": (
            "Test statistic if uniform (Z′)",
            "Its mean if the values are equally frequent: measure from there, not from 0.",
        ),
        "expected_shift_at_alpha": (
            "Rise of the test statistic (Z′) at distance (α)",
            "Values at a distance of α raise Z′ by at least this much on average. From about three "
            "standard errors of Z′ on, the calibrated threshold mostly notices them; that of the "
            "paper takes more.",
        ),
    }
    source = "RSP Theorem 4.2; δ as its proof has it before ln(2k/δ) is replaced by ln(2/δ)."
    labels = ("Z′",)

    def require_promise(self) -> None:
        """FieldError if the test is the final one and the seed of its partition is missing."""
        if self.parameters.test == FINAL:
            _ = self.parameters.required_partition_seed

    @property
    def contribution_length(self) -> int:
        return 2 * self.parameters.groups

    def group_of(self) -> tuple[int, ...]:
        """The group of each value."""
        parameters = self.parameters
        if parameters.test == PRELIMINARY:
            return tuple(range(parameters.k))
        return partition(parameters.required_partition_seed, parameters.k, parameters.groups)

    def randomize(self, value: int, random_source: random.Random) -> list[int]:
        self.require_value(value)
        own = self.group_of()[value]
        mean = Fraction(self.parameters.noise_messages, self.cohort_size)
        messages = []
        # Algorithm 4, step 1: for every group j.
        for group in range(self.parameters.groups):
            # Steps 2 to 5: (j, 1) if it is the user's own, else (j, 0).
            messages.append(2 * group + int(group == own))
            # Step 6: s_j ~ Pois(λ/n).
            noise = poisson(mean, random_source)
            # Steps 7 to 9: s_j messages with fair bits.
            messages += [2 * group + random_source.getrandbits(1) for _ in range(noise)]
        return messages

    def randomize_all(self, values: NDArray[np.int64], random_source: random.Random) -> NDArray[np.int64]:
        generator = simulation_generator(random_source)
        groups, users = self.parameters.groups, len(values)
        counts = np.bincount(np.asarray(self.group_of())[values], minlength=groups)
        noise = generator.poisson(self.parameters.noise_messages * users / self.cohort_size, size=groups)
        noise_ones = generator.binomial(noise, 0.5)
        total = np.empty(2 * groups, dtype=np.int64)
        total[1::2] = counts + noise_ones
        total[::2] = users - counts + noise - noise_ones
        return total

    @property
    def fewest_messages(self) -> int:
        """One for each group, if no noise is drawn."""
        return self.parameters.groups

    @property
    def most_messages(self) -> int:
        """More are sent by any of n users with probability at most 2^−60 (Bernstein's inequality)."""
        groups = self.parameters.groups
        mean = groups * self.parameters.noise_messages / self.cohort_size
        log_failure = math.log(self.cohort_size) + 60 * math.log(2)
        beyond = log_failure / 3 + math.sqrt(log_failure**2 / 9 + 2 * log_failure * mean)
        return groups + math.ceil(mean + beyond)

    def estimate(self, total: Sequence[int], reports: int) -> Estimate:
        """Z′ and the verdicts, with m = `reports`."""
        self.require_total(total, reports)
        # Algorithm 5, step 2: the noise scale ℓ_j, the number of messages beyond one for each user.
        zeros, ones = np.asarray(total[::2], dtype=float), np.asarray(total[1::2], dtype=float)
        noise = zeros + ones - reports
        # Users that break the protocol may have left messages out.
        trials = np.maximum(noise, 0.0)
        # Steps 3 and 4: c_j is the number of ones less ℓ_j/2, and Z′ is computed from all c_j.
        value = float(chi_squared_statistic(ones - noise / 2, reports))
        parameters = self.parameters
        alpha = compressed_distance(parameters.k, parameters.groups, parameters.alpha)
        # Step 5: the verdict, by τ and by the calibrated threshold.
        threshold = printed_threshold(trials, reports, alpha)
        calibrated = calibrated_threshold(trials, reports)
        expected = UniformMoments.of(trials, reports).mean
        preliminary = parameters.test == PRELIMINARY
        return Estimate(
            values=(value,),
            standard_errors=(uniform_standard_error(trials, reports),),
            standard_error_note=(
                "If the values are uniform; includes which values the users drew. Z′ is then "
                f"{expected:,.1f} on average, which is of the users' noise: measure from there, not from 0."
            ),
            projection=(value,),
            details={
                "expected_if_uniform": expected,
                **({"expected_shift_at_alpha": self._shift_at_alpha(reports)} if preliminary else {}),
                "verdict": _verdict(value, threshold),
                "threshold": threshold,
                "calibrated_verdict": _verdict(value, calibrated),
                "calibrated_threshold": calibrated,
                "calibrated_level": CALIBRATED_LEVEL,
            },
        )

    def expected_standard_error(self) -> float:
        """Of Z′ if the values are uniform."""
        trials = np.full(self.parameters.groups, float(self.parameters.noise_messages))
        return uniform_standard_error(trials, self.cohort_size)

    @property
    def expected_note(self) -> str:
        """How far Z′ rises for values at a distance of α."""
        if self.parameters.test == FINAL:
            return "How far other values raise it depends on the groups that they fall into."
        share = self._shift_at_alpha(self.cohort_size) / self.expected_standard_error()
        return (
            f"Values at a distance of α = {self.parameters.alpha:g} raise it by at least {share:,.1f} "
            "standard errors on average; from about three of them on they are mostly noticed."
        )

    def _shift_at_alpha(self, samples: int) -> float:
        """By how much values at a distance of α raise Z′ of the preliminary test on average, at least.

        It is kΣ(p_j − 1/k)²·(n − 1) ≥ 4α²(n − 1), by Cauchy and Schwarz. Both are equal if half of the values
        are as far above 1/k as the rest is below.
        """
        return 4 * self.parameters.alpha**2 * (samples - 1)

    def truth(self, users_by_value: Mapping[int, int]) -> tuple[float, ...]:
        """The average of Z′ over the users' noise, given their values: Z of the counts plus k̂²λ/(4m)."""
        groups, group_of = self.parameters.groups, self.group_of()
        counts = np.zeros(groups)
        for value, users in users_by_value.items():
            counts[group_of[value]] += users
        samples = int(counts.sum())
        if samples < 1:
            raise ValueError("without users there are no counts")
        noise = self.parameters.noise_messages * samples / self.cohort_size
        z = float(chi_squared_statistic(counts, samples))
        return (z + groups**2 * noise / (4 * samples),)

    def privacy_of(self, honest_users: int) -> tuple[float, float, float]:
        """2ε and 8·(δ/2k̂)^γ, which is at most the printed 8δ^γ.

        With μ = γλ, fewer than μ/2 noise messages come for a value with probability at most 2e^{−μ/12}
        (Lemma 4.3). That is below 2·(δ/2k̂)^γ. μ/2 of them give (ε, 2·(δ/2k̂)^γ) (Lemma 2.4). Two values
        change.
        """
        parameters = self.parameters
        gamma = honest_users / self.cohort_size
        delta = min(1.0, 8 * (parameters.delta / (2 * parameters.groups)) ** gamma)
        exact = poisson_epsilon(gamma * parameters.noise_messages, delta / 2, parameters.epsilon)
        return 2 * parameters.epsilon, delta, 2 * exact


def _verdict(value: float, threshold: float) -> str:
    return NOT_UNIFORM if value > threshold else NO_DIFFERENCE_FOUND


def chi_squared_statistic(counts: NDArray[np.floating], samples: int) -> NDArray[np.float64]:
    """Z′ = (k/m)·Σ_j (c_j − m/k)² − c_j, along the last axis, of length k; m is the number of samples."""
    k = counts.shape[-1]
    return np.asarray(k / samples * np.sum((counts - samples / k) ** 2 - counts, axis=-1))


def printed_threshold(noise_trials: Counts, samples: int, alpha: float) -> float:
    """τ of RSP equation (8), from the noise scales ℓ_j that were observed.

    Uniform values stay below it with probability 9/10 at least. Values at a distance above α exceed it with
    21/50, if m is large enough: from 1000·√k/α² on the first summand covers Z.
    """
    k = len(noise_trials)
    total, squares = float(np.sum(noise_trials)), float(np.sum(noise_trials**2))
    signal = alpha**2 * samples / 500 + math.sqrt(50 * alpha**4 * samples**2 / 500_000)
    a = k * total / (4 * samples) + math.sqrt(50 * k**2 * squares / (8 * samples**2))
    b = math.sqrt(50 * k * total / samples)
    c = math.sqrt(50 * k**2 * total / (4 * samples**2))
    return signal + a + b + c


@dataclass(frozen=True)
class UniformMoments:
    """Mean, variance and third central moment of Z′ for uniform values, given the ℓ_j: exact."""

    mean: float
    variance: float
    third: float

    @classmethod
    def of(cls, noise_trials: Counts, samples: int) -> "UniformMoments":
        """Args: ℓ_j ≥ 0 of the k values, and m ≥ 1.

        With d_j = c_j − m/k and a = k/m, Z′ = a·Σ(d_j² + E_j² + (2d_j − 1)·E_j) − k. Each of the moments is
        that over the d_j of what is expected given these, plus what is left: the law of total cumulance.

        Σd_j² is twice the number of pairs of users with the same value, plus a constant. Any two pairs
        are independent, and of three only those among three users are not.
        """
        k, m = len(noise_trials), samples
        a, same = k / m, 1 / k
        # Central moments of one d_j, and of the number of pairs.
        spread = m * same * (1 - same)
        pairs = m * (m - 1) / 2 * same * (1 - same)
        pairs_third = pairs * (1 - 2 * same) + m * (m - 1) * (m - 2) * same**2 * (1 - same)
        # Of each E_j, and of its square.
        second = noise_trials / 4
        fourth = second * (3 * second - 0.5)
        sixth = second * (15 * second**2 - 7.5 * second + 1)
        square_variance = fourth - second**2
        square_third = sixth - 3 * second * fourth + 2 * second**3

        left = np.sum(square_variance + (4 * spread + 1) * second)
        left_third = np.sum(square_third + 3 * (4 * spread + 1) * square_variance)
        together = 4 * float(np.mean(second)) * 4 * pairs  # of Σd_j² with the variance that is left
        return cls(
            mean=a * float(np.sum(second)) - 1,
            variance=a**2 * (4 * pairs + float(left)),
            third=a**3 * (8 * pairs_third + float(left_third) + 3 * together),
        )


def calibrated_threshold(noise_trials: Counts, samples: int) -> float:
    """The threshold that Z′ of uniform values exceeds with a probability close to `CALIBRATED_LEVEL`, given
    the ℓ_j.

    The quantile of the gamma distribution, moved and scaled (Pearson's type III), that has the mean, variance
    and skewness of Z′. It is that of Z′ in the limit of many users, and in that of much noise. With the least
    noise that parameters allow, simulations find a probability between 0.095 and 0.105, for all k and m. All
    users are taken to follow the protocol.
    """
    moments = UniformMoments.of(noise_trials, samples)
    if moments.third == 0:  # at most two users, and hardly any noise: Cantelli's inequality
        return moments.mean + math.sqrt(moments.variance * (1 / CALIBRATED_LEVEL - 1))
    shape = 4 * moments.variance**3 / moments.third**2
    scale = moments.third / (2 * moments.variance)
    return moments.mean + scale * (float(scipy.special.gammainccinv(shape, CALIBRATED_LEVEL)) - shape)


def uniform_standard_error(noise_trials: Counts, samples: int) -> float:
    """The standard deviation of Z′ for `samples` uniform values, given the ℓ_j: exact."""
    return math.sqrt(UniformMoments.of(noise_trials, samples).variance)


def compressed_size(k: int, epsilon: float, alpha: float) -> int:
    """k̂: into how many groups of one size to cut k values at random.

    The rule of RSP Theorem 4.8, k^{2/3}·(ε/α)^{4/3} between 2 and k, brought to the largest divisor of k that
    is no larger. If there is none, it is the smallest from 2 on. With groups of two sizes, uniform values
    would not be uniform over groups.
    """
    wanted = k ** (2 / 3) * (epsilon / alpha) ** (4 / 3) * (1 + 1e-12)  # 1000^{2/3} is 99.99999999999997
    divisors = _divisors_from_two(k)
    return max((size for size in divisors if size <= wanted), default=divisors[0])


def compressed_distance(k: int, groups: int, alpha: float) -> float:
    """α̂: how far from uniform the groups are if the values are α or more away.

    With probability at least 1/954 over the partition (RSP Lemma 4.7); always if each group is a value.
    """
    if groups == k:
        return alpha
    return alpha * math.sqrt(groups) / (477 * math.sqrt(10 * k))


def _divisors_from_two(k: int) -> list[int]:
    """All divisors of k ≥ 2 but 1, in order."""
    small = [size for size in range(1, math.isqrt(k) + 1) if k % size == 0]
    return sorted({*small, *(k // size for size in small)} - {1})
