"""What a proposal can be expected to give and to cost: error, reports, bytes."""

from dataclasses import dataclass

from panprivacy.accounting import binomial
from panprivacy.base64_text import encoded_length
from panprivacy.dap.token_extension import ENCODED_BYTES as TOKEN_EXTENSION_BYTES
from panprivacy.encryption import SCHEMES
from panprivacy.estimate import normal_factor
from panprivacy.mechanisms.cohort import CohortStatistic
from panprivacy.oblivious_http.padding import TooLongError, class_of
from panprivacy.parameters import CohortParameters
from panprivacy.planning.proposal import Proposal
from panprivacy.privacy_pass.tokens import TOKEN_BYTES
from panprivacy.request_bytes import ENVELOPE_BYTES
from panprivacy.segment_estimates import ExpectedSegments
from panprivacy.trust_models import Servers

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
        cohort_probability: that so many report that there is a result: a cohort, and with two servers the
            margin that they draw.
    """

    mean: float
    low: int
    high: int
    cohort_probability: float


@dataclass(frozen=True)
class DeviceBytes:
    """What one device stores and sends, in bytes.

    Attributes:
        state: the ciphertexts it keeps between steps; 0 where it keeps nothing.
        report: the body of its one request (docs/protocol.md): JSON, or a message of DAP.
        token: what a token adds to that, where the recipe asks for one.
        relayed: the one request through a relay, with a token, as it is padded; None where it is too long
            for one.
    """

    state: int
    report: int
    token: int
    relayed: int | None


@dataclass(frozen=True)
class Expectation:
    """What to expect of a proposal.

    Attributes:
        standard_error: the largest to expect, in the statistic's unit, sampling included.
        margin: how far the 95% interval will reach from the estimate, about
            (`CohortStatistic.expected_margin`); of several values for all together.
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
        reports=expected_reports(proposal.population_size, proposal.parameters, proposal.servers),
        bytes=device_bytes(mechanism, proposal.encryption, proposal.servers),
        segments=mechanism.expected_segments(proposal.population_size, MISSED),
    )


def expected_margin(mechanism: CohortStatistic[CohortParameters], population_size: int) -> float:
    """The 95% margin to expect, in the statistic's unit; of several values for all together."""
    return mechanism.expected_margin(population_size, MISSED)


def margin_points(
    mechanism: CohortStatistic[CohortParameters], margin: float, population_size: float
) -> float | None:
    """A margin in percentage points of the population; None where devices are not counted."""
    return 100 * margin / population_size if mechanism.counts_devices else None


def shown_margin(mechanism: CohortStatistic[CohortParameters], population_size: int) -> float:
    """The 95% margin in percentage points where devices are counted, else in the statistic's unit."""
    margin = expected_margin(mechanism, population_size)
    points = margin_points(mechanism, margin, population_size)
    return margin if points is None else points


def expected_reports(
    population_size: int, parameters: CohortParameters, servers: type[Servers]
) -> ExpectedReports:
    """The distribution of the number of reports, from the exact binomial, under a trust model."""
    rate = parameters.sampling_rate
    return ExpectedReports(
        mean=population_size * rate,
        low=_least_reached(population_size, rate, 0.975),
        high=_least_reached(population_size, rate, 0.025, strictly=True),
        cohort_probability=servers.release_probability(parameters.cohort_size, population_size, rate),
    )


def _least_reached(
    population_size: int, sampling_rate: float, probability: float, *, strictly: bool = False
) -> int:
    """The largest r with Pr[Bin ≥ r] ≥ probability (or > probability)."""
    low, high = 0, population_size + 1
    while high - low > 1:
        middle = (low + high) // 2
        reached = float(binomial.upper_tail(middle, population_size, sampling_rate, 1 - sampling_rate))
        if reached > probability or (reached == probability and not strictly):
            low = middle
        else:
            high = middle
    return low


def device_bytes(
    mechanism: CohortStatistic[CohortParameters], encryption: str, servers: type[Servers]
) -> DeviceBytes:
    """What one device stores and sends under a trust model.

    Args:
        encryption: registered name of a scheme; not looked at where reports are plain shares.
    """
    scheme = encryption if servers.encrypts(type(mechanism)) else None
    if servers.proves_reports:
        kept = 0 if scheme is None else mechanism.state_ciphertexts * servers.kept_bytes(scheme)
        return _uploaded_bytes(kept, servers.body_bytes(mechanism, scheme))
    size = SCHEMES[encryption].public_key_class.ciphertext_bytes
    sent = mechanism.report_ciphertexts
    # {"nonce": "…", "ciphertexts": ["…", "…"]}
    framing = len('{"nonce": "", "ciphertexts": []}') + sent * len('""') + (sent - 1) * len(", ")
    report = framing + encoded_length(NONCE_BYTES) + sent * encoded_length(size)
    token = len(', "token": ""') + encoded_length(TOKEN_BYTES)
    state = mechanism.state_ciphertexts * servers.kept_bytes(encryption)
    return DeviceBytes(state, report, token, _relayed(ENVELOPE_BYTES + report + token))


def _uploaded_bytes(state: int, report: int) -> DeviceBytes:
    """Of a device that uploads shares, as a message of DAP with so many bytes at most."""
    # As `request_bytes` reckons: what an extension adds to the token is less than encoding adds.
    padded = _relayed(ENVELOPE_BYTES + report + encoded_length(TOKEN_BYTES))
    return DeviceBytes(state, report, TOKEN_EXTENSION_BYTES, padded)


def _relayed(length: int) -> int | None:
    try:
        return class_of(length)
    except TooLongError:
        return None
