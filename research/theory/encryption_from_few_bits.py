"""Weak encryption from a pan-private counter of S bits (LPP Theorem 6.2, Appendix C), computed exactly.

Enc(b) sets one input, at a step t drawn from 1..T/2, to b and simulates T/2 steps; Dec simulates the rest.
The counters here are ε-locally pan-private without cryptography, so that every law is a vector of 2^S
probabilities and each distance is exact. Their streams have at most one event, as in the proof.
"""

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from research.statements import Basis, Figure, Line, Statement, one_panel
from research.theory import square_root_of_t
from research.theory.demonstration import Demonstration
from research.theory.square_root_of_t import flip_probability

KEY = "encryption-from-few-bits"

EPSILON = 0.5
STEPS_DRAWN = (4, 16, 64, 256, 1024, 4096, 2**14, 2**16)
STEPS = 64
"""T of the facts."""
DEVICES = 10_000
"""n of the ciphertext that is drawn."""
DEVICES_READ = 1_000_000
"""n of a ciphertext that is read rightly at T = `STEPS`."""

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class FewBits:
    """A counter of S bits: a lazy walk on 2^S states that a randomized response to x_t moves up or down.

    A response of 1 moves up with probability ρ = min(1, 4^S/(2T)), one of 0 down with ρ·p/(1 − p), for the
    flip probability p = 1/(e^ε + 1); at the ends the state stays. Without an event both moves are equally
    likely, and ρ makes a walk forget in about T steps. State is the same at all steps, as the proof needs.

    Attributes:
        bits: S ≥ 1.
        steps: T, even and at least 2.
        epsilon: ε > 0 of every single step, the earlier states being known (proof of Lemma 3.1).
    """

    bits: int
    steps: int
    epsilon: float

    def __post_init__(self) -> None:
        if self.bits < 1:
            raise ValueError(f"bits must be at least 1, not {self.bits}")
        if self.steps < 2 or self.steps % 2:
            raise ValueError(f"steps must be even and at least 2, not {self.steps}")
        if self.epsilon <= 0:
            raise ValueError(f"epsilon must be above 0, not {self.epsilon}")

    @property
    def start(self) -> int:
        """s₀, the public key of one device: the lower of the two middle states."""
        return (1 << (self.bits - 1)) - 1

    def transitions(self, event: bool) -> Matrix:
        """M of State(x; ·) for x = `event`: rows are states before, columns states after, 2^S × 2^S."""
        p = flip_probability(self.epsilon)
        rate = min(1.0, 4**self.bits / (2 * self.steps))
        one = 1 - p if event else p
        up, down = one * rate, (1 - one) * rate * p / (1 - p)
        size = 2**self.bits
        moves = np.diag(np.full(size - 1, up), 1) + np.diag(np.full(size - 1, down), -1)
        return np.asarray(moves + np.diag(1 - moves.sum(axis=1)))


def power(matrix: Matrix, exponent: int) -> tuple[Matrix, int]:
    """M^τ by repeated squaring, and the multiplications of matrices it took: at most 2·log₂(τ) + 1.

    Args:
        exponent: τ ≥ 0.
    """
    result, multiplications = np.eye(len(matrix)), 0
    while exponent:
        if exponent & 1:
            result, multiplications = result @ matrix, multiplications + 1
        exponent >>= 1
        if exponent:
            matrix, multiplications = matrix @ matrix, multiplications + 1
    return result, multiplications


def ciphertext_laws(counter: FewBits, rerandomizations: int = 0) -> tuple[Matrix, int]:
    """The laws of one device's state in Φ^k(Enc(0)) and Φ^k(Enc(1)), and the multiplications of matrices.

    The sum over t of M₀^(t−1)·M₁·M₀^(τ−t) is the upper right block of ((M₀, M₁), (0, M₀))^τ: the mean over
    T/2 places of the event costs no more than one power.

    Args:
        rerandomizations: k, 0..T/2. At k = T/2 these are the laws that Dec sees.

    Returns:
        rows Enc(0) and Enc(1), 2 × 2^S; how many multiplications.

    Raises:
        ValueError: for more than T/2 rerandomizations. Theorem 6.2 promises T − 1, but Enc has used T/2.
    """
    half = counter.steps // 2
    if not 0 <= rerandomizations <= half:
        raise ValueError(f"rerandomizations must be in 0..{half}, not {rerandomizations}")
    without, size = counter.transitions(False), 2**counter.bits
    blocks = np.block([[without, counter.transitions(True)], [np.zeros_like(without), without]])
    powered, multiplications = power(blocks, half)
    later, more = power(without, rerandomizations)
    laws = np.stack([powered[counter.start, :size], powered[counter.start, size:] / half])
    return laws @ later, multiplications + more


def distance(laws: Matrix) -> float:
    """Total variation of the two rows."""
    return float(np.abs(laws[0] - laws[1]).sum() / 2)


def ratio(laws: Matrix) -> float:
    """The smallest ε′ for which the rows are (ε′, 0)-indistinguishable (LPP Definition 2.9).

    Raises:
        ValueError: an entry is 0, or too small for a double (`sum_laws` from T of some 1,500 on at ε = 0.5).
    """
    if (laws <= 0).any():
        raise ValueError("laws must be positive")
    return float(np.abs(np.log(laws[0] / laws[1])).max())


def one_device(bits: int, steps: int, epsilon: float) -> float:
    """Total variation of Enc(0) and Enc(1) of one device with S = `bits`."""
    return distance(ciphertext_laws(FewBits(bits, steps, epsilon))[0])


def largest(steps: int, epsilon: float) -> float:
    """The same of the sum of all T/2 responses: no ε-pan-private device has more (Lemma 3.2)."""
    return square_root_of_t.total_variation(steps // 2, epsilon)


def sum_laws(steps: int, epsilon: float) -> Matrix:
    """The laws of that sum in Enc(0) and Enc(1), 2 × (T/2 + 1)."""
    p, half = flip_probability(epsilon), steps // 2
    without = scipy.stats.binom.pmf(np.arange(half + 1), half, p)
    others = scipy.stats.binom.pmf(np.arange(half), half - 1, p)
    return np.stack([without, np.convolve(others, [p, 1 - p])])


def printed(steps: int, epsilon: float) -> float:
    """ε/√T, for the whole ciphertext (Theorem 6.2 without T·negl(λ): nothing here is computational)."""
    return epsilon / float(np.sqrt(steps))


def all_devices(devices: int, steps: int, epsilon: float) -> float:
    """Total variation of Enc(0) and Enc(1) with n devices of one bit: their ones are a sufficient statistic.

    The likelihood ratio grows with the ones, so a threshold is the best test.
    """
    laws, _ = ciphertext_laws(FewBits(1, steps, epsilon))
    zero, one = laws[:, 1]
    # Where Bin(n, zero) and Bin(n, one) have equal probability.
    odds = np.log1p(-zero) - np.log1p(-one)
    crossing = np.floor(devices * odds / (np.log(one / zero) + odds))
    tails = scipy.stats.binom.sf(crossing, devices, [zero, one])
    return float(tails[1] - tails[0])


def wrong_bit_probability(devices: int, steps: int, epsilon: float) -> float:
    """The larger probability of the two bits to be decrypted wrongly, n devices of one bit, exactly.

    Dec sees all T steps, debiases the ones, and decides at an estimate of n/2 devices.
    """
    laws, _ = ciphertext_laws(FewBits(1, steps, epsilon), steps // 2)
    zero, one = laws[:, 1]
    threshold = int(np.ceil(devices * (zero + one) / 2))
    return float(
        max(
            scipy.stats.binom.sf(threshold - 1, devices, zero),
            scipy.stats.binom.cdf(threshold - 1, devices, one),
        )
    )


def linked(counter: FewBits) -> float:
    """Total variation of (c, Φ(c)) and (c, Φ(c′)) for one device, c = Enc(0) and an independent c′ = Enc(1).

    Definition 2.8 asks that these pairs cannot be distinguished.
    """
    first = ciphertext_laws(counter)[0][0]
    other = ciphertext_laws(counter, 1)[0][1]
    pairs = first[:, None] * counter.transitions(False)
    return float(np.abs(pairs - np.outer(first, other)).sum() / 2)


def demonstrate(seed: int) -> Demonstration:
    """Distances of ciphertexts against ε/√T. Nothing is drawn at random."""
    curves = (
        ("one device, one bit", Basis.COMPUTED, lambda steps: one_device(1, steps, EPSILON)),
        ("one device, three bits", Basis.COMPUTED, lambda steps: one_device(3, steps, EPSILON)),
        ("one device, any state", Basis.BOUND, lambda steps: largest(steps, EPSILON)),
        (f"{DEVICES:,} devices, one bit", Basis.COMPUTED, lambda steps: all_devices(DEVICES, steps, EPSILON)),
        ("ε/√T", Basis.PRINTED, lambda steps: printed(steps, EPSILON)),
    )
    chart = Figure(
        key=f"{KEY}-distance",
        title="How far apart the encryptions of 0 and 1 are",
        caption=f"One device stays below ε/√T. A ciphertext of {DEVICES:,} devices exceeds it for small T.",
        x_title="time steps T",
        y_title="total variation distance",
        panels=one_panel(STEPS_DRAWN, *(Line.over(STEPS_DRAWN, *curve) for curve in curves)),
    )
    three = FewBits(3, STEPS, EPSILON)
    laws, multiplications = ciphertext_laws(three)
    return Demonstration(
        key=KEY,
        title="A small private counter encrypts weakly",
        sentence="A counter of a few bits gives an encryption, even if it has some privacy loss. Each device "
        "reveals little of the bit; a message needs many devices, and together they reveal more.",
        measured=f"Nothing is drawn at random: the laws of the states are computed by repeated squaring, for "
        f"walks on 2 and 8 states, ε = {EPSILON:g}, with T = {STEPS:,} in the table.",
        proved="One device’s encryptions of 0 and 1 differ by less than ε/√T in total variation, if ε is at "
        "most 1 (Lemma 3.2). For n devices the hybrid argument gives n times that. These counters have no "
        "private key: an eavesdropper reads at least as well as the receiver.",
        source="Local Pan-Privacy for Federated Analytics, section 6, Theorem 6.2; Appendix C",
        seed=seed,
        charts=(chart,),
        facts=(
            Statement("ε/√T", printed(STEPS, EPSILON), Basis.PRINTED),
            Statement("total variation, one device of three bits", distance(laws)),
            Statement(
                "smallest ε′ of (ε′, 0)-indistinguishability, sum of responses",
                ratio(sum_laws(STEPS, EPSILON)),
            ),
            Statement("total variation of (c, Φ(c)) and (c, Φ(c′)), one device", linked(three)),
            Statement("multiplications of matrices to encrypt", multiplications),
            Statement(
                f"one bit decrypted wrongly, {DEVICES_READ:,} devices of one bit",
                wrong_bit_probability(DEVICES_READ, STEPS, EPSILON),
            ),
            Statement(
                "total variation of that ciphertext",
                all_devices(DEVICES_READ, STEPS, EPSILON),
            ),
        ),
    )
