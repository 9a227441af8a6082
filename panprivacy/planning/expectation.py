"""The expected results and costs of a proposal: error, reports, bytes."""

from dataclasses import dataclass

from panprivacy.accounting import binomial
from panprivacy.encryption.interface import REPORT_NONCE_BYTES
from panprivacy.formats.base64_text import encoded_length
from panprivacy.formats.parameters import CohortParameters
from panprivacy.planning.likelihood import unlikely_advice
from panprivacy.planning.proposal import Proposal
from panprivacy.planning.value_search import largest_number
from panprivacy.protocols.dap.token_extension import ENCODED_BYTES as TOKEN_EXTENSION_BYTES
from panprivacy.protocols.hpke import KEMS, KemName
from panprivacy.protocols.oblivious_http.padding import TooLongError, class_of
from panprivacy.protocols.privacy_pass.tokens import TOKEN_BYTES
from panprivacy.statistics.events.cohort import CohortStatistic
from panprivacy.statistics.intervals.estimate import normal_factor
from panprivacy.statistics.intervals.segment_estimates import ExpectedSegments
from panprivacy.statistics.trust_models import Servers, report_format

MISSED = 0.05
"""The probability with which a stated margin is exceeded."""

Z_95 = normal_factor(MISSED)
"""Half the width of a 95% interval of one value in standard errors."""

ENVELOPE_BYTES = 320
"""Method, address, headers and the names of the body's fields, at most for usual addresses."""


@dataclass(frozen=True)
class ExpectedReports:
    """How many devices report, if each of the population takes part by a coin of its own: Bin(N, q).

    Attributes:
        mean: N·q.
        low: at most 2.5% of repeats have fewer.
        high: at most 2.5% of repeats have more.
        cohort_probability: that the cohort size is reached, and with two servers the margin that they draw.
    """

    mean: float
    low: int
    high: int
    cohort_probability: float


@dataclass(frozen=True)
class DeviceBytes:
    """What one device stores and sends, in bytes.

    Attributes:
        state: what it stores between steps: ciphertexts. 0 if it keeps nothing.
        report: the body of its one request (docs/protocol.md): JSON, or a message of DAP.
        token: what a token adds to that, if the recipe asks for one.
        relayed: the request with a token through a relay, with its padding; None if it is too long for one.
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
        margin: how far the 95% interval will reach from the estimate, about, in the unit; of several values
            for all together.
        margin_points: the same in percentage points of the population; None if the statistic does not count
            devices.
        reports: how many there will be.
        bytes: what each device stores and sends.
        segments: None if it asks by none.
        note: what to know about the error, as sentences; empty if nothing.
        warning: why a result is unlikely, and the largest cohort with which it is likely, as sentences; empty
            if it is likely. The errors assume that there is a result.
    """

    standard_error: float
    margin: float
    margin_points: float | None
    reports: ExpectedReports
    bytes: DeviceBytes
    segments: ExpectedSegments | None
    note: str
    warning: str


def expectation_of(proposal: Proposal) -> Expectation:
    """Everything to expect of a proposal; FieldError if its mechanism cannot be computed."""
    mechanism = proposal.mechanism()
    margin = expected_margin(mechanism, proposal.population_size)
    return Expectation(
        standard_error=mechanism.expected_standard_error(proposal.population_size),
        margin=margin,
        margin_points=margin_points(mechanism, margin, proposal.population_size),
        reports=expected_reports(proposal.population_size, proposal.parameters, proposal.servers),
        bytes=device_bytes(mechanism, proposal.encryption, proposal.servers),
        segments=None
        if mechanism.segmentation is None
        else mechanism.segmentation.expected(proposal.population_size, MISSED),
        note=mechanism.expected_note,
        warning=unlikely_advice(mechanism, proposal.servers, proposal.population_size),
    )


def expected_margin(mechanism: CohortStatistic[CohortParameters], population_size: int) -> float:
    """The 95% margin to expect, in the statistic's unit; of several values for all together."""
    return mechanism.expected_margin(population_size, MISSED)


def margin_points(
    mechanism: CohortStatistic[CohortParameters], margin: float, population_size: float
) -> float | None:
    """A margin in percentage points of the population; None if devices are not counted."""
    return 100 * margin / population_size if mechanism.counts_devices else None


def shown_margin(mechanism: CohortStatistic[CohortParameters], population_size: int) -> float:
    """The 95% margin in percentage points if devices are counted, otherwise in the statistic's unit."""
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

    def reached(count: int) -> bool:
        found = float(binomial.upper_tail(count, population_size, sampling_rate, 1 - sampling_rate))
        return found > probability or (found == probability and not strictly)

    return largest_number(reached, 1, population_size) or 0


def device_bytes(
    mechanism: CohortStatistic[CohortParameters], encryption: str, servers: type[Servers]
) -> DeviceBytes:
    """What one device stores and sends under a trust model.

    Args:
        encryption: registered name of a scheme; ignored if reports are plain shares, or under a joint key.

    Returns:
        the bytes; shares are sealed with X-Wing, the longer KEM.
    """
    scheme = encryption if servers.encrypts(type(mechanism)) else None
    form = report_format(servers)
    if servers.sealed_shares:
        kept = 0 if scheme is None else mechanism.state_ciphertexts * form.kept_bytes(scheme)
        report = form.body_bytes(mechanism, scheme) + beyond_x25519(servers, KemName.X_WING)
        return _uploaded_bytes(kept, report)
    size = form.kept_bytes(encryption)
    sent = mechanism.report_ciphertexts
    # {"nonce": "…", "ciphertexts": ["…", "…"]}
    framing = len('{"nonce": "", "ciphertexts": []}') + sent * len('""') + (sent - 1) * len(", ")
    report = framing + encoded_length(REPORT_NONCE_BYTES) + sent * encoded_length(size)
    token = len(', "token": ""') + encoded_length(TOKEN_BYTES + servers.report_signature_bytes)
    state = mechanism.state_ciphertexts * size
    return DeviceBytes(state, report, token, _relayed(ENVELOPE_BYTES + report + token))


def beyond_x25519(servers: type[Servers], kem: KemName) -> int:
    """Bytes by which a report's sealed shares are longer than with X25519."""
    return servers.sealed_shares * (KEMS[kem].enc_bytes - KEMS[KemName.X25519].enc_bytes)


def _uploaded_bytes(state: int, report: int) -> DeviceBytes:
    """Of a device that uploads shares, as a message of DAP with this number of bytes at most."""
    # The same rule as in `request_bytes`: an extension adds less to the token than encoding adds.
    padded = _relayed(ENVELOPE_BYTES + report + encoded_length(TOKEN_BYTES))
    return DeviceBytes(state, report, TOKEN_EXTENSION_BYTES, padded)


def _relayed(length: int) -> int | None:
    try:
        return class_of(length)
    except TooLongError:
        return None
