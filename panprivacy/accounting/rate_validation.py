"""Whether a number of reports is plausible for a number of tokens (SAA section 4.8).

Of `issued` devices with a token each sends a report with the same probability, on its own, so the number of
reports is binomial. The rate is the recipe's sampling rate, with dummies also what they add.
A verdict is computed from numbers that are published anyway. It shows whether they fit together, and nothing
about any report.
"""

import math
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from panprivacy.accounting import binomial
from panprivacy.accounting.interface import LARGEST_N

FAILURE_PROBABILITY = 1e-6
"""Probability that a verdict is not fine although all devices are honest and follow their coins."""

TOO_MANY_TIMES = 2
"""As many times the expected number hold a result back: then at most half of the reports need be honest."""


class Verdict(StrEnum):
    """The verdict on the numbers of reports and tokens."""

    FINE = "fine"
    FLAGGED = "flagged"
    """Outside of the interval: a sender sent too many, or many devices could not send."""
    HELD = "held"
    """More reports than tokens, or far more than expected: an operator must decide; nothing is released until
    then."""


@dataclass(frozen=True)
class RateCheck:
    """The numbers, and the verdict from them.

    Attributes:
        issued: tokens of the recipe.
        accepted: the published number of reports.
        expected: their expected number.
        low, high: the interval that holds the number of reports, except with `FAILURE_PROBABILITY`, if all
            devices follow the protocol and all their reports arrive.
    """

    issued: int
    accepted: int
    expected: float
    low: int
    high: int
    verdict: Verdict


def rate_check(
    *,
    issued: int,
    accepted: int,
    rate: float,
    rates: tuple[float, float] | None = None,
    count_scale: Fraction | None = None,
    taken: int | None = None,
) -> RateCheck:
    """Compare the number of reports with that of tokens, by exact binomial tails.

    Args:
        issued: tokens, from 0 to `LARGEST_N`.
        accepted: reports; below 0 only by noise.
        rate: probability that a device with a token sends a report, above 0 and at most 1.
        rates: the least and the largest probability, if it depends on the devices' values; `rate` is then the
            expected average over all devices. The interval begins with the one, and ends with the
            other: a sum of bits lies between binomial numbers.
        count_scale: scale of the discrete Laplace noise in `accepted`; None if it is exact. Half of the
            failure probability is then the noise's.
        taken: the most reports that are accepted, e.g. by a shuffler; None without a limit. With a limit,
            only too few reports are detected, or fewer tokens than reports.

    Returns:
        `HELD` if `accepted` is above `issued`, or above the interval and above `TOO_MANY_TIMES` the expected
        number. With noise, only if it would be so without the most noise that is allowed for. Otherwise
        `FLAGGED` outside of the interval.

    Raises:
        ValueError: an argument is out of range.
    """
    if not 0 <= issued <= LARGEST_N or not 0 < rate <= 1:
        raise ValueError(
            f"issued must lie in 0..{LARGEST_N} and rate above 0 and at most 1, not {issued} and {rate}"
        )
    noise, failure = 0, FAILURE_PROBABILITY
    if count_scale is not None:
        failure = FAILURE_PROBABILITY / 2
        noise = _most_noise(count_scale, failure)
    least, most = (rate, rate) if rates is None else rates
    low, high = _interval(issued, least, failure)[0], _interval(issued, most, failure)[1]
    expected = issued * rate
    if taken is not None:
        low, high, expected = min(low, taken), min(high, taken), min(expected, taken)
    surely = accepted - noise
    if surely > issued or (surely > high and surely > TOO_MANY_TIMES * expected):
        verdict = Verdict.HELD
    elif low - noise <= accepted <= high + noise:
        verdict = Verdict.FINE
    else:
        verdict = Verdict.FLAGGED
    return RateCheck(issued, accepted, expected, max(0, low - noise), high + noise, verdict)


def _interval(issued: int, rate: float, failure: float) -> tuple[int, int]:
    """The narrowest two ends: Bin(issued, rate) lies beyond each with at most half of `failure`."""
    if issued == 0 or rate == 1:
        return issued, issued
    return binomial.window(issued, rate, 1 - rate, failure / 2)


def _most_noise(scale: Fraction, failure: float) -> int:
    """The smallest m with Pr[|Z| > m] = 2·a^(m+1)/(1 + a) ≤ failure, a = exp(−1/scale)."""
    decay = math.exp(-1 / float(scale))
    return max(0, math.ceil(float(scale) * math.log(2 / ((1 + decay) * failure)) - 1))
