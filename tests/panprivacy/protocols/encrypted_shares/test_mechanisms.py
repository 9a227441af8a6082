"""The device's side of the mechanisms, as it is, on the key of two servers (LPP Algorithm 6)."""

import math
import random

import pytest
from scipy.stats import binom

from panprivacy.encryption.interface import ValueOutOfRangeError
from panprivacy.formats.parameters import Parameters
from panprivacy.statistics.events.count_nonzero import CountNonzero
from panprivacy.statistics.events.histogram import Histogram, HistogramParameters
from panprivacy.statistics.events.mean import Mean, MeanParameters
from panprivacy.statistics.events.randomized_response import RandomizedResponse
from tests.panprivacy.statistics.events.contract import STREAMS, CiphertextContract, full, run

SHARED = {"steps": 4, "epsilon": 2.0, "delta": 1e-6, "cohort_size": 50}
SURE = SHARED | {"epsilon": 20.0}
"""A coin that randomizes with probability 4.1e-9."""


class BothServers:
    """Both private keys in one hand, as nobody has them, behind the interface of one."""

    def __init__(self, servers):
        self.public_key = servers.key
        self._servers = servers

    def decrypt(self, sharing, allowed):
        (bit,) = self._servers.bits([sharing])
        if bit not in allowed:
            raise ValueOutOfRangeError(f"{bit} is not in {allowed}")
        return bit


class TestSharedKey(CiphertextContract):
    @pytest.fixture
    def private_key(self, servers_of):
        """The key itself is tried under both schemes in test_shared_key.py."""
        return BothServers(servers_of("elgamal-secp256k1"))

    @pytest.fixture(
        params=[CountNonzero(Parameters(**SHARED)), Histogram(HistogramParameters(**SHARED, k=2))],
        ids=["count_nonzero", "histogram"],
    )
    def mechanism(self, request):
        return request.param


@pytest.mark.parametrize("stream", STREAMS[::2])
def test_report_of_a_histogram_is_one_that_both_servers_accept_as_a_whole(servers, stream):
    mechanism = Histogram(HistogramParameters(**SURE, k=2))
    source = random.Random(str(stream))
    state = run(mechanism, servers.key, full(mechanism, stream), source)
    expected = tuple(int(min(sum(stream), 2) == i) for i in range(3))
    for report in (
        mechanism.report(servers.key, state, source),
        mechanism.report_of_count(servers.key, sum(stream), source),
    ):
        assert servers.bits(report) == expected


def test_mean_is_refused_as_sharings_cannot_be_added(servers):
    mechanism = Mean(MeanParameters(**SHARED, k=2, guarantee="local").calibrated())
    state = mechanism.start(servers.key, random.Random(1))
    with pytest.raises((TypeError, ValueError)):
        mechanism.report(servers.key, state, random.Random(2))


def test_dummy_of_a_device_with_an_event_is_a_valid_report_of_zeros(servers_of):
    servers, source = servers_of("elgamal-secp256k1"), random.Random(21)
    state = servers.key.encrypt(1, source)
    # At ε = 20 the randomizer's coin falls with 4.1e-9.
    response = RandomizedResponse(20.0)
    for blank, bit in ((True, 0), (False, 1)):
        report = response.respond_encrypted(servers.key, state, 5, source, blank=blank)
        assert servers.bits([report]) == (bit,)


# docs/errata.md: Algorithm 6, lines 19 and 20.

REPORTS = 72
"""A fair coin shows 0.8 of them, and one of 0.9925 no more than 0.9, with probability below 1e-6 together."""


def printed_report(key, sharing, epsilon, source):
    """Lines 19–36 as printed: r = Ber(2/(e^ε + 1)), and r = 0 replaces the sharing by one of a fair bit."""
    r = source.random() < 2 / (math.exp(epsilon) + 1)
    fair_bit = source.getrandbits(1)
    return key.replace_or_rerandomize(not r, fair_bit, sharing, source, rerandomizations=5)


def ones_of(servers, report, epsilon):
    """How many of REPORTS reports of a device with an event the servers count."""
    source = random.Random(20261120)
    state = servers.key.encrypt(1, source)
    return sum(servers.bits([report(servers.key, state, epsilon, source)])[0] for _ in range(REPORTS))


def our_report(key, sharing, epsilon, source):
    return RandomizedResponse(epsilon).respond_encrypted(key, sharing, 5, source)


def test_coin_inverted_as_in_algorithm_6_loses_the_events(servers_of):
    servers = servers_of("elgamal-secp256k1")
    assert binom.sf(math.ceil(0.8 * REPORTS) - 1, REPORTS, 0.5025) < 2e-7
    assert binom.cdf(math.floor(0.9 * REPORTS), REPORTS, 0.9925) < 2e-7
    # At ε = 20 a report is the bit but for 4.1e-9; as printed it is a fair coin but for 4.1e-9.
    assert ones_of(servers, our_report, 20.0) == REPORTS
    assert ones_of(servers, printed_report, 20.0) < 0.8 * REPORTS


@pytest.mark.long
def test_coin_inverted_as_in_algorithm_6_shows_the_events(servers_of):
    servers = servers_of("elgamal-secp256k1")
    # At ε = 0.01 a report must be nearly a fair coin; as printed the bit is kept but for 1%.
    assert ones_of(servers, our_report, 0.01) < 0.8 * REPORTS
    assert ones_of(servers, printed_report, 0.01) > 0.9 * REPORTS
