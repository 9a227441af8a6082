"""What a proposal can be expected to give and to cost: error, reports, bytes."""

from dataclasses import dataclass

# SciPy loads its parts when they are first used.
import scipy

from panprivacy.base64_text import encoded_length
from panprivacy.encryption import SCHEMES
from panprivacy.estimate import normal_factor
from panprivacy.mechanisms.interface import Mechanism
from panprivacy.mechanisms.segmented import Segmented
from panprivacy.parameters import Parameters
from panprivacy.planning.proposal import Proposal

MISSED = 0.05
"""The probability with which a stated margin is exceeded."""

Z_95 = normal_factor(MISSED)
"""Half the width of a 95% interval of one value in standard errors."""

NONCE_BYTES = 16
"""Length of a report's nonce on the wire (docs/protocol.md)."""


@dataclass(frozen=True)
class ExpectedReports:
    """How many devices report, where each of the population takes part by a coin of its own: Bin(N, q).

    Attributes:
        mean: N·q.
        low, high: at most 2.5% of repeats have fewer reports than `low`, at most 2.5% more than `high`.
        cohort_probability: that at least a cohort reports, so that something is released.
    """

    mean: float
    low: int
    high: int
    cohort_probability: float


@dataclass(frozen=True)
class DeviceBytes:
    """What one device stores and sends, in bytes.

    Attributes:
        state: the ciphertexts it keeps between steps.
        report: the body of its one request, as JSON (docs/protocol.md).
    """

    state: int
    report: int


@dataclass(frozen=True)
class ExpectedSegments:
    """What to expect of each segment, if all have as many devices.

    Attributes:
        devices: of each.
        margin: how far the 95% interval of an answer within one will reach, about; of all together.
        margin_points: the same in percentage points of the segment.
        shown: whether each surely has a cohort of its own.
    """

    devices: float
    margin: float
    margin_points: float
    shown: bool


@dataclass(frozen=True)
class Expectation:
    """What to expect of a proposal.

    Attributes:
        standard_error: the largest to expect, in the statistic's unit, sampling included.
        margin: how far the 95% interval will reach from the estimate, about (`Mechanism.expected_margin`); of
            several values for all together.
        margin_points: `margin` in percentage points of the population; None where the statistic does not
            count devices.
        reports, bytes: see there.
        segments: None where it asks by none.
    """

    standard_error: float
    margin: float
    margin_points: float | None
    reports: ExpectedReports
    bytes: DeviceBytes
    segments: ExpectedSegments | None


def expectation_of(proposal: Proposal) -> Expectation:
    """Everything to expect of a proposal; FieldError where its mechanism cannot be computed."""
    mechanism = proposal.mechanism()
    margin = expected_margin(mechanism, proposal.population_size)
    return Expectation(
        standard_error=mechanism.expected_standard_error(proposal.population_size),
        margin=margin,
        margin_points=margin_points(mechanism, margin, proposal.population_size),
        reports=expected_reports(proposal.population_size, proposal.parameters),
        bytes=device_bytes(mechanism, proposal.encryption),
        segments=expected_segments(mechanism, proposal.population_size),
    )


def expected_segments(mechanism: Mechanism[Parameters], population_size: int) -> ExpectedSegments | None:
    """What to expect of each segment; None where it asks by none."""
    if not isinstance(mechanism, Segmented):
        return None
    devices = population_size / len(mechanism.segments)
    margin = mechanism.expected_segment_margin(population_size, MISSED)
    sure = mechanism.expected_reports_for_sure(population_size, MISSED)
    return ExpectedSegments(devices, margin, 100 * margin / devices, sure >= mechanism.cohort_size)


def expected_margin(mechanism: Mechanism[Parameters], population_size: int) -> float:
    """The 95% margin to expect, in the statistic's unit; of several values for all together."""
    return mechanism.expected_margin(population_size, MISSED)


def margin_points(mechanism: Mechanism[Parameters], margin: float, population_size: float) -> float | None:
    """A margin in percentage points of the population; None where devices are not counted."""
    return 100 * margin / population_size if mechanism.counts_devices else None


def shown_margin(mechanism: Mechanism[Parameters], population_size: int) -> float:
    """The 95% margin in percentage points where devices are counted, else in the statistic's unit."""
    margin = expected_margin(mechanism, population_size)
    points = margin_points(mechanism, margin, population_size)
    return margin if points is None else points


def expected_reports(population_size: int, parameters: Parameters) -> ExpectedReports:
    """The distribution of the number of reports, from the exact binomial."""
    rate = parameters.sampling_rate
    return ExpectedReports(
        mean=population_size * rate,
        low=_least_reached(population_size, rate, 0.975),
        high=_least_reached(population_size, rate, 0.025, strictly=True),
        cohort_probability=probability_of_at_least(parameters.cohort_size, population_size, rate),
    )


def probability_of_at_least(reports: int, population_size: int, sampling_rate: float) -> float:
    """Pr[Bin(N, q) ≥ reports], exact but for rounding: the incomplete beta function I_q(r, N − r + 1)."""
    if reports <= 0:
        return 1.0
    if reports > population_size:
        return 0.0
    return float(scipy.special.betainc(reports, population_size - reports + 1, sampling_rate))


def _least_reached(
    population_size: int, sampling_rate: float, probability: float, *, strictly: bool = False
) -> int:
    """The largest r with Pr[Bin ≥ r] ≥ probability (or > probability)."""
    low, high = 0, population_size + 1
    while high - low > 1:
        middle = (low + high) // 2
        reached = probability_of_at_least(middle, population_size, sampling_rate)
        if reached > probability or (reached == probability and not strictly):
            low = middle
        else:
            high = middle
    return low


def device_bytes(mechanism: Mechanism[Parameters], encryption: str) -> DeviceBytes:
    """What one device stores and sends under an encryption scheme."""
    size = SCHEMES[encryption].public_key_class.ciphertext_bytes
    sent = mechanism.report_ciphertexts
    # {"nonce": "…", "ciphertexts": ["…", "…"]}
    framing = len('{"nonce": "", "ciphertexts": []}') + sent * len('""') + (sent - 1) * len(", ")
    return DeviceBytes(
        state=mechanism.state_ciphertexts * size,
        report=framing + encoded_length(NONCE_BYTES) + sent * encoded_length(size),
    )
