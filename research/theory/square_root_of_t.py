"""The √T price of a local state that is private without encryption (LPP section 3, Theorems 8 and 9).

Each device's stream has T bits of which at most one is 1. A device that keeps only ε-randomized state lets
an intruder that reads every state distinguish "no event" from "one event at step t" by at most ε. Then its
state is a function of randomized responses to every single bit (Lemma 3.1) and, for an event at a step drawn
at random, of their sum alone (Lemma 3.2): Bin(T, p) without an event, Bin(T − 1, p) + Ber(1 − p) with one, p
= 1/(e^ε + 1). Everything below is computed from these two distributions, P₀ and P₁.

Their likelihood ratio is linear in the sum, so (sum − T·p)/(1 − 2p) is, of all unbiased functions of a
device's state, the one with the smallest variance: no post-processing makes the measured device better.
"""

import math
import random

import numpy as np
import scipy
from numpy.typing import NDArray

from panprivacy.statistics.events.randomized_response import RandomizedResponse
from panprivacy.statistics.simulation import simulation_generator, source
from research.statements import Basis, Figure, Line, Statement, one_panel
from research.theory.demonstration import Demonstration

KEY = "square-root-of-t"

EPSILON = 1.0
DEVICES = 10_000
STEPS = (1, 4, 16, 64, 256, 1024, 4096)
REPETITIONS = 200


def flip_probability(epsilon: float) -> float:
    """p = 1/(e^ε + 1)."""
    return 1 / (math.exp(epsilon) + 1)


def total_variation(steps: int, epsilon: float) -> float:
    """TV(P₀, P₁), exactly: (1 − 2p)·max_m Pr[Bin(T − 1, p) = m] (LPP Theorem 12, without its misprint).

    Ber(p) and Ber(1 − p) differ by 1 with probability 1 − 2p, and a unimodal distribution is as far from
    itself moved by 1 as its mode is high. No message of such a device can be distinguished any better.
    """
    p = flip_probability(epsilon)
    mode = math.floor(steps * p)
    return (1 - 2 * p) * float(scipy.stats.binom.pmf(mode, steps - 1, p))


def printed_total_variation_bound(steps: int, epsilon: float) -> float:
    """(1 − 2p)/√(4p(1 − p)T), the inequality of LPP Theorem 12."""
    p = flip_probability(epsilon)
    return (1 - 2 * p) / math.sqrt(4 * p * (1 - p) * steps)


def standard_error(devices: int, steps: int, epsilon: float) -> float:
    """√(nT·e^ε)/(e^ε − 1) devices: of the best unbiased estimate from such devices, whatever the truth is."""
    return math.sqrt(devices * steps) / (2 * math.sinh(epsilon / 2))


def error_bound(devices: int, steps: int, epsilon: float) -> float:
    """A lower bound on max E|Ŝ − S| over all inputs, of any estimate from any such devices, in devices.

    LPP Theorem 9 with a constant, by Le Cam's method. Either no device has an event, or each has one with
    probability θ, at a step drawn at random. Any estimate errs on average over both by at least

        ½·(nθ·(1 − TV) − √(nθ(1 − θ))),

    where TV is between the messages of all devices in the two cases, and the last term is how far S strays
    from nθ. TV ≤ √(1 − BC^{2n}) for the Bhattacharyya coefficient BC of P₀ and (1 − θ)P₀ + θP₁, summed
    exactly; no function of the states exceeds it. θ is chosen to make the bound largest.
    """
    p = flip_probability(epsilon)
    sums = np.arange(steps + 1)
    without = scipy.stats.binom.pmf(sums, steps, p)
    ratio = (sums * (1 - p) / p + (steps - sums) * p / (1 - p)) / steps

    def bound(theta: float) -> float:
        # 1 − BC, and not BC, which is too close to 1 to be raised to a power.
        distance = float(np.sum(without * (1 - np.sqrt(1 + theta * (ratio - 1)))))
        variation = math.sqrt(-math.expm1(2 * devices * math.log1p(-distance)))
        astray = math.sqrt(devices * theta * (1 - theta))
        return (devices * theta * (1 - variation) - astray) / 2

    found = scipy.optimize.minimize_scalar(
        lambda exponent: -bound(math.exp(exponent)), bounds=(-math.log(devices), 0.0), method="bounded"
    )
    # Any θ gives a bound: how well the best was found does not matter.
    return max(bound(math.exp(found.x)), 0.0)


def randomized_estimates(
    devices: int, steps: int, epsilon: float, with_event: int, repetitions: int, random_source: random.Random
) -> NDArray[np.float64]:
    """Estimates Ŝ, one per repetition, from devices that keep the sum of T randomized responses.

    Args:
        with_event: S, the devices with an event, at one step.
    """
    p = flip_probability(epsilon)
    draw = simulation_generator(random_source)
    sums = draw.binomial(steps, p, (repetitions, devices - with_event)).sum(axis=1)
    sums += draw.binomial(steps - 1, p, (repetitions, with_event)).sum(axis=1)
    sums += draw.binomial(1, 1 - p, (repetitions, with_event)).sum(axis=1)
    return np.asarray((sums - devices * steps * p) / (1 - 2 * p))


def encrypted_estimates(
    devices: int, epsilon: float, with_event: int, repetitions: int, random_source: random.Random
) -> NDArray[np.float64]:
    """Estimates Ŝ of `count_nonzero`, whose state is one encrypted bit: its report does not depend on T."""
    response = RandomizedResponse(epsilon)
    totals = [
        sum(response.respond(int(device < with_event), random_source) for device in range(devices))
        for _ in range(repetitions)
    ]
    return np.array([response.debiased(total, devices) for total in totals])


def root_mean_square(errors: NDArray[np.float64]) -> float:
    """√E(Ŝ − S)² of the errors seen."""
    return float(np.sqrt(np.mean(errors**2)))


def measured_randomized(steps: int, seed: int) -> float:
    """Root mean square error of the randomized devices at T = `steps`, half of them with an event."""
    truth = DEVICES // 2
    random_source = source(seed, KEY, "randomized", steps)
    return root_mean_square(
        randomized_estimates(DEVICES, steps, EPSILON, truth, REPETITIONS, random_source) - truth
    )


def measured_encrypted(steps: int, seed: int) -> float:
    """The same of the devices that keep an encrypted bit."""
    truth = DEVICES // 2
    random_source = source(seed, KEY, "encrypted", steps)
    return root_mean_square(encrypted_estimates(DEVICES, EPSILON, truth, REPETITIONS, random_source) - truth)


def growth(errors: tuple[float, ...]) -> float:
    """The exponent a of the law error ∝ T^a that fits best over `STEPS`."""
    return float(np.polyfit(np.log(STEPS), np.log(errors), 1)[0])


def demonstrate(seed: int) -> Demonstration:
    """Both protocols at growing T. Takes some seconds."""
    randomized = tuple(measured_randomized(steps, seed) for steps in STEPS)
    encrypted = tuple(measured_encrypted(steps, seed) for steps in STEPS)
    expected = tuple(standard_error(DEVICES, steps, EPSILON) for steps in STEPS)
    bound = tuple(error_bound(DEVICES, steps, EPSILON) for steps in STEPS)
    errors = Figure(
        key=f"{KEY}-errors",
        title="Error of the count of devices with an event",
        caption="The longer devices watch, the less the randomized state is worth; the encrypted one does "
        "not care.",
        x_title="time steps T",
        y_title="error, in devices",
        panels=one_panel(
            STEPS,
            Line("randomized state", Basis.MEASURED, randomized),
            Line("encrypted state", Basis.MEASURED, encrypted),
            Line("randomized state", Basis.COMPUTED, expected),
            Line("any such state", Basis.BOUND, bound),
        ),
    )
    distances = Figure(
        key=f"{KEY}-distance",
        title="How far the messages with and without an event are apart",
        caption="Total variation distance: by so much can any intruder, also the server, do better than a "
        "guess.",
        x_title="time steps T",
        y_title="total variation distance",
        panels=one_panel(
            STEPS,
            Line.over(STEPS, "largest possible", Basis.COMPUTED, lambda t: total_variation(t, EPSILON)),
            Line.over(
                STEPS,
                "inequality of Theorem 12",
                Basis.PRINTED,
                lambda t: printed_total_variation_bound(t, EPSILON),
            ),
        ),
    )
    return Demonstration(
        key=KEY,
        title="What it costs not to encrypt",
        sentence="A device that blurs its notes with noise instead of encrypting them must blur every "
        "single step anew, so that the count of devices gets worse with the square root of the time watched.",
        measured=f"Root mean square error of {REPETITIONS} simulated collections of {DEVICES:,} devices "
        f"each, half of them with an event at one step, ε = {EPSILON:g}: every device keeps the sum of "
        "randomized responses to each step and the server debiases it, or keeps the encrypted bit of "
        "count_nonzero and randomizes once.",
        proved="No estimate from devices whose state gives ε between “no event” and “one event”, whatever "
        "they keep and whatever the server computes, has a smaller expected error than the bound on all "
        "inputs (Theorem 9, with an explicit constant from Le Cam’s method). Of all unbiased functions of "
        "the randomized state the measured one is the best. The encrypted state is safe as long as the "
        "encryption is.",
        source="Local Pan-Privacy for Federated Analytics, section 3: Lemmas 3.1 and 3.2, Theorems 8, 9 and "
        "12; Algorithm 3 and Theorem 10 for the encrypted state",
        seed=seed,
        charts=(errors, distances),
        facts=(
            Statement("exponent of T in the error, randomized state", growth(randomized), Basis.MEASURED),
            Statement("exponent of T in the error, encrypted state", growth(encrypted), Basis.MEASURED),
            Statement("exponent of T in the error of Theorem 9", 0.5, Basis.PRINTED),
            Statement(
                f"error with encryption, as a part of that without, T = {STEPS[-1]:,}",
                encrypted[-1] / randomized[-1],
                Basis.MEASURED,
            ),
        ),
    )
