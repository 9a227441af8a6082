import base64
import itertools
import json
import math
import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from panprivacy.accounting import noisy_count
from panprivacy.accounting.trust import Trust
from panprivacy.device.transport import WireReport
from panprivacy.encryption import DEFAULT_SCHEME, generate_private_key
from panprivacy.planning.expectation import device_bytes, expectation_of, expected_reports
from panprivacy.planning.proposal import Proposal
from panprivacy.protocols.encrypted_shares.shared_key import SharedKey
from panprivacy.recipe.accepted_list import SHOWN_BYTES
from panprivacy.recipe.request_bytes import published_report_bytes
from panprivacy.statistics.trust_models.joint_key import JointKeyServers
from panprivacy.statistics.trust_models.single_server import OneServer
from panprivacy.statistics.trust_models.two_server import TwoServers
from tests.panprivacy.encryption.schemes import ONE_PER_FILE
from tests.panprivacy.recipe.joint_key_scene import joint_recipe

from .proposals import EVERY, proposal


@pytest.mark.parametrize(("population", "rate"), [(1, 0.3), (20, 0.1), (200, 0.5), (1_000, 1.0)])
def test_expected_reports_are_those_of_the_binomial_distribution(population, rate):
    """Against the sum of its probabilities, in integers and floats of Python."""
    probabilities = [
        math.comb(population, r) * rate**r * (1 - rate) ** (population - r) for r in range(population + 1)
    ]
    at_most = list(itertools.accumulate(probabilities))
    considered = proposal(population_size=population, sampling_rate=rate, cohort_size=2).parameters
    expected = expected_reports(population, considered, OneServer)
    assert expected.mean == population * rate
    below = at_most[expected.low - 1] if expected.low else 0.0
    assert below <= 0.025 + 1e-12
    assert at_most[expected.low] > 0.025 - 1e-12
    assert 1 - at_most[expected.high] <= 0.025 + 1e-12
    assert expected.high == 0 or 1 - at_most[expected.high - 1] > 0.025 - 1e-12
    assert expected.cohort_probability == pytest.approx(1 - at_most[1] if population > 1 else 0.0, abs=1e-12)


@given(st.integers(1, 10**10), st.floats(1e-6, 1), st.data())
@settings(max_examples=50)
def test_probability_of_a_cohort_agrees_with_scipys_binomial(n, q, data):
    spread = 8 * math.sqrt(n * q * (1 - q)) + 8
    reports = data.draw(st.integers(max(0, int(n * q - spread)), min(n, int(n * q + spread))))
    expected = float(scipy.stats.binom.sf(reports - 1, n, q))
    found = OneServer.release_probability(reports, n, q)
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-12)


def test_two_servers_reach_a_result_less_often_than_the_cohort_size():
    considered = proposal(population_size=1_100, sampling_rate=0.1, cohort_size=100).parameters
    one, two = (
        expected_reports(1_100, considered, servers).cohort_probability for servers in (OneServer, TwoServers)
    )
    assert two == noisy_count.release_probability(100, 1_100, 0.1) < 0.3 < 0.8 < one


def test_plans_of_statistics_that_need_two_servers_are_of_two_servers():
    parameters = {"dimension": 2, "epsilon": 1.0, "delta": 1e-6, "cohort_size": 1_000}
    considered = Proposal.from_mapping(
        {"statistic": "vector_mean", "parameters": parameters, "population_size": 1_040}
    )
    assert considered.servers is TwoServers
    assert expectation_of(considered).reports.cohort_probability < 0.5


def test_warning_says_when_no_cohort_that_devices_accept_would_do():
    assert expectation_of(proposal(population_size=99)).warning.endswith(
        "Even the smallest cohort that devices accept is too large."
    )
    assert expectation_of(proposal(population_size=100)).warning.endswith("is likely is 100.")
    assert expectation_of(proposal(population_size=1_000)).warning == ""


@pytest.mark.parametrize(
    ("statistic", "own", "scheme"),
    [
        *(pytest.param(*case.values, DEFAULT_SCHEME, id=case.id) for case in EVERY),
        *(pytest.param("count_nonzero", {}, scheme, id=scheme) for scheme in ONE_PER_FILE),
    ],
)
def test_device_bytes_are_those_of_a_real_state_and_a_real_report(statistic, own, scheme):
    source = random.Random(1)
    mechanism = proposal(statistic, **{**own, **({"k": 2} if "k" in own else {})}).mechanism()
    key = generate_private_key(scheme, source).public_key
    state = mechanism.start(key, source)
    expected = device_bytes(mechanism, scheme, OneServer)
    assert expected.state == sum(len(bytes(ciphertext)) for ciphertext in state)
    report = mechanism.report_of_count(key, 0, source)
    body = {
        "nonce": base64.b64encode(bytes(16)).decode(),
        "ciphertexts": [base64.b64encode(bytes(ciphertext)).decode() for ciphertext in report],
    }
    assert expected.report == len(json.dumps(body))


def test_device_bytes_with_two_servers_are_those_of_a_real_state():
    source = random.Random(1)
    mechanism = replace(proposal("histogram", k=2), trust=Trust.TWO_SERVER).mechanism()
    leader, helper = (generate_private_key(DEFAULT_SCHEME, source).public_key for _ in range(2))
    key = SharedKey(leader, helper, b"context", nonce=bytes(16))
    state = mechanism.start(key, source)
    expected = device_bytes(mechanism, DEFAULT_SCHEME, TwoServers)
    assert expected.state == sum(len(bytes(ciphertext)) for ciphertext in state)
    assert expected.report >= 3 * key.ciphertext_bytes


def test_device_bytes_with_a_joint_key_are_those_of_a_real_report():
    joint = joint_recipe(random.Random(1))
    record = joint.report(1, random.Random(1))
    token, bit = record[:SHOWN_BYTES], record[SHOWN_BYTES:]
    expected = device_bytes(joint.recipe.calibrated_statistic, DEFAULT_SCHEME, JointKeyServers)
    assert expected.state == len(bit)
    members = WireReport(bytes(16), (bit,)).members("ciphertexts")
    assert expected.report == len(json.dumps(members))
    with_token = WireReport(bytes(16), (bit,), token).members("ciphertexts")
    assert expected.report + expected.token == len(json.dumps(with_token))
    body = len(json.dumps(with_token))
    assert body <= published_report_bytes(joint.recipe) <= body + 1_000


def by_segment(segments: list[str], **members: Any) -> Proposal:
    stated = proposal(population_size=9_000).as_dict() | members
    return Proposal.from_mapping({**stated, "segments": segments})


@pytest.mark.parametrize(("epsilon", "cohort", "rate"), [(0.1, 1_000, 1.0), (1.0, 10_000, 0.1)])
def test_planned_error_of_segments_with_two_servers_is_that_of_releases(epsilon, cohort, rate):
    """The noise in the number of reports enters once for each of 20 segments, so that errors are up to 3.3
    times those of one server. Of 800 releases the deviation is off by more than a fifth with a probability
    below 1e-9: its own deviation is 4% of it at most."""
    population, segments = cohort * 2 if rate == 1 else round(2 * cohort / rate), 20
    parameters = {"steps": 7, "epsilon": epsilon, "delta": 1e-6, "cohort_size": cohort, "sampling_rate": rate}
    asked = by_segment(
        [str(place) for place in range(segments)],
        parameters=parameters,
        population_size=population,
        trust="two_server",
    )
    statistic = asked.mechanism()
    generator, coins = np.random.default_rng(31), random.Random(31)
    flip, found = 1 / (1 + math.exp(epsilon)), []
    for _ in range(800):
        having = generator.binomial(population // segments, rate, segments)  # every device has the event
        reports = having.sum()
        ones = generator.binomial(having, 1 - flip) + generator.binomial(reports - having, flip)
        total = np.column_stack([generator.binomial(reports, flip, segments), ones]).ravel()
        shown = int(reports) + noisy_count.draw(cohort, coins)
        found.append(statistic.debiased(total.tolist(), shown)[0])
    planned = expectation_of(asked)
    assert planned.standard_error == pytest.approx(float(np.std(found)), rel=0.2)
    one = expectation_of(replace(asked, trust=Trust.SINGLE_SERVER))
    assert planned.standard_error > 1.3 * one.standard_error
    assert planned.segments.margin > one.segments.margin


def test_segments_are_expected_to_have_more_noise_the_more_there_are():
    found = [expectation_of(by_segment([str(number) for number in range(count)])) for count in (2, 4)]
    assert expectation_of(proposal("count_nonzero")).segments is None
    few, many = (expected.segments for expected in found)
    assert (few.devices, many.devices) == (4_500, 2_250)
    # The noise of a count is that of the whole cohort; a share divides it by ever fewer devices.
    assert few.margin_points * 2 < many.margin_points < few.margin_points * 2.3
    assert found[1].margin == pytest.approx(found[0].margin * 2**0.5, rel=0.02)
    assert found[1].bytes.report > found[0].bytes.report
    assert found[0].bytes.state == found[1].bytes.state
