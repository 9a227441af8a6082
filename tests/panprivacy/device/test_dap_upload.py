"""A report reaches both servers of a recipe or task, each its own share, however often it has to be sent."""

import base64
import random
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from devices_sim.fleet import FleetResult, run_fleet
from devices_sim.workloads.synthetic import bernoulli
from panprivacy.device.__main__ import main
from panprivacy.device.algorithm import ClientAlgorithm, Phase, wire_report
from panprivacy.device.client import Device
from panprivacy.device.dap_upload import CLOSED_OR_EARLY, DapUpload, TaskClient
from panprivacy.device.transport import (
    BatchAnswer,
    Delivery,
    HttpTransport,
    RecipeClosedError,
    RecipeNotOpenError,
    Rejection,
    ReportRejectedError,
    TransportError,
    WireReport,
)
from panprivacy.formats.errors import FieldError
from panprivacy.planning.limits import RecipeLimits
from panprivacy.protocols.dap.basics import BatchMode, HpkeConfig, ReportError
from panprivacy.protocols.dap.hpke import generate_keypair
from panprivacy.protocols.dap.media import media_type
from panprivacy.protocols.dap.upload import HpkeConfigList, ReportUploadStatus, UploadErrors
from panprivacy.protocols.dap.vdafs import Prio3HistogramConfig
from panprivacy.protocols.hpke import KEMS, KemName
from panprivacy.statistics.events import MECHANISMS
from panprivacy.statistics.trust_models.two_server import TwoServers
from tests.panprivacy.device.server import AT_ONCE, VERIFICATION_KEY, Stumbling, listening
from tests.panprivacy.device.two_servers import (
    HELPER_KEY,
    HELPER_URL,
    LEADER_URL,
    MemoryAggregators,
    MemoryPair,
)
from tests.panprivacy.protocols.dap.test_vdafs import configuration_of
from tests.statistic_members import small_members

SURE = 20.0
"""At this ε a coin lies with probability 2·10⁻⁹."""


@pytest.fixture
def pair():
    return MemoryPair(epsilon=SURE)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "state"


def join(path: Path, pair: MemoryPair, **options: object) -> Device:
    members = {"verification_key": VERIFICATION_KEY, "helper_key": HELPER_KEY, "simulation": True} | options
    return Device.join(path, pair.served, **members)


def reports_of(pair: MemoryPair, bits: list[int]) -> list[WireReport]:
    """One report for each bit, with a nonce of its own."""
    algorithm = ClientAlgorithm(pair.recipe, pair.recipe.public_key.with_tables())
    source = random.Random(4)
    states = [algorithm.report_of_count(bit, source) for bit in bits]
    return [wire_report(state) for state in states if state is not None]


# One device.


def test_send_whose_answer_was_lost_counts_once(path, pair):
    with join(path, pair) as device:
        device.catch_up(4)
        pair.answer = ("text/plain", b"no answer that one could read")
        with pytest.raises(TransportError):
            device.send(pair.transport())
        assert device.phase is Phase.REPORTED
    pair.answer = None
    with Device.open(path) as device:
        assert device.send(pair.transport()) is Delivery.DUPLICATE
    assert len(pair.reports) == 1
    assert pair.counts() == (0,)


def test_send_report_says_nothing_but_its_nonce_to_both(path, pair):
    with join(path, pair) as device:
        device.catch_up(4)
        device.send(pair.transport())
    [report] = pair.reports.values()
    assert report.report_metadata.time == 0
    assert report.report_metadata.public_extensions == ()
    assert report.public_share == b""


@pytest.mark.parametrize("error", sorted(CLOSED_OR_EARLY))
def test_send_report_not_taken_yet_waits_until_the_recipe_is_closed(path, error):
    """Whether it is early or late the device finds out itself: the recipe's times, and its status."""
    pair = MemoryPair(simulation=False, opens_at="2026-01-01T00:00:00Z", closes_at="2026-02-01T00:00:00Z")
    pair.errors = [error] * 3
    with join(path, pair, simulation=False, limits=RecipeLimits(smallest_cohort=2)) as device:
        device.catch_up(4)
        with pytest.raises(RecipeNotOpenError, match="no reports yet: it opens 2026-01-01"):
            device.send(pair.transport(), now=datetime(2025, 12, 31, tzinfo=UTC))
        with pytest.raises(RecipeClosedError):
            device.send(pair.transport(), now=datetime(2026, 2, 1, tzinfo=UTC))
        pair.status = "closed"
        with pytest.raises(RecipeClosedError, match="stays undelivered") as caught:
            device.send(pair.transport(), now=datetime(2026, 1, 2, tzinfo=UTC))
    assert caught.value.problem == {"reason": error.reason}


@pytest.mark.parametrize(
    "error",
    sorted(set(ReportError) - CLOSED_OR_EARLY - {ReportError.REPORT_REPLAYED, ReportError.OUTDATED_CONFIG}),
)
def test_send_report_rejected_for_good_raises_with_the_drafts_reason(path, pair, error):
    pair.errors = [error]
    with join(path, pair) as device:
        device.catch_up(4)
        with pytest.raises(ReportRejectedError) as caught:
            device.send(pair.transport())
    assert caught.value.problem["reason"] == error.name.lower()


# Pinned keys.


def test_join_two_server_recipe_without_the_right_helper_key_is_refused(path, pair):
    for helper_key, message in ((None, "needs the helper's key"), (bytes(31), "32 bytes")):
        with pytest.raises(ValueError, match=message):
            join(path, pair, helper_key=helper_key)
    assert not path.exists()


def test_main_join_asks_for_the_helper_key_and_send_delivers(tmp_path, capsys):
    pair = MemoryPair()
    key, helper_key = (base64.b64encode(one).decode() for one in (VERIFICATION_KEY, HELPER_KEY))
    state = str(tmp_path / "state")
    with listening(pair.site) as url, listening(pair.helper) as helper_url:
        pair.publish(leader_url=f"{url}/leader", helper_url=f"{helper_url}/helper", steps=1, epsilon=SURE)
        arguments = ["join", url, pair.recipe.identifier, "--state", state, "--verification-key", key]
        assert main([*arguments, "--simulation"]) == 2
        assert "needs the helper's key" in capsys.readouterr().err
        assert main([*arguments, "--simulation", "--helper-key", helper_key]) == 0
        assert main(["step", "--state", state, "--event"]) == 0
        assert main(["send", "--state", state]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "report delivered (accepted)"
    assert pair.counts() == (1,)


# Uploads.


def test_submit_under_an_outdated_key_seals_the_same_report_anew(pair):
    first, second = reports_of(pair, [1, 1])
    with DapUpload(pair.recipe, pair.transport()) as upload:
        upload.submit(first)
        pair.rotate()
        assert upload.submit(second) is Delivery.ACCEPTED
    assert pair.fetches == 4
    assert set(pair.reports) == {first.nonce, second.nonce}
    assert pair.reports[second.nonce].leader_encrypted_input_share.config_id == 2
    assert pair.counts() == (2,)


@pytest.mark.parametrize("kem", KemName)
def test_submit_seals_both_shares_with_the_recipes_kem(kem):
    pair = MemoryPair()
    pair.publish(hpke=kem.value, epsilon=SURE)
    [report] = reports_of(pair, [1])
    with DapUpload(pair.recipe, pair.transport()) as upload:
        assert upload.submit(report) is Delivery.ACCEPTED
    [sent] = pair.reports.values()
    shares = sent.leader_encrypted_input_share, sent.helper_encrypted_input_share
    assert {len(share.enc) for share in shares} == {KEMS[kem].enc_bytes}
    assert pair.counts() == (1,)


def test_submit_to_a_helper_without_the_recipes_kem_sends_nothing(pair):
    """A server cannot lead devices back to X25519."""
    config, _ = generate_keypair(1, random.Random(5), KemName.X25519)
    pair.config_answer = media_type(HpkeConfigList), HpkeConfigList((config,)).encode()
    [report] = reports_of(pair, [1])
    with DapUpload(pair.recipe, pair.transport()) as upload:
        with pytest.raises(TransportError, match="supported algorithms with x-wing"):
            upload.submit(report)
    assert pair.reports == {}


def test_submit_under_keys_that_are_outdated_at_once_gives_up_for_now(pair):
    [report] = reports_of(pair, [1])
    pair.errors = [ReportError.OUTDATED_CONFIG] * 2
    with DapUpload(pair.recipe, pair.transport()) as upload:
        with pytest.raises(TransportError, match="outdated_config") as caught:
            upload.submit(report)
        assert type(caught.value) is TransportError
        assert pair.batches == [1, 1]
        assert upload.submit(report) is Delivery.ACCEPTED


def test_submit_batch_tells_accepted_from_rejected_in_their_order(pair):
    reports = reports_of(pair, [1, 1, 1, 1, 1])
    pair.errors = [None, ReportError.INVALID_MESSAGE, None, ReportError.REPORT_TOO_EARLY, None]
    with DapUpload(pair.recipe, pair.transport()) as upload:
        answer = upload.submit_batch(reports)
        again = upload.submit_batch(reports[:2])
    assert answer == BatchAnswer(
        3, (Rejection(1, "invalid_message", ""), Rejection(3, "report_too_early", ""))
    )
    assert again == BatchAnswer(1, (Rejection(0, "report_replayed", ""),))
    assert pair.counts() == (4,)


def test_submit_batch_partly_outdated_sends_only_those_again(pair):
    reports = reports_of(pair, [1, 1, 1])
    outdated = ReportError.OUTDATED_CONFIG
    pair.errors = [outdated, None, outdated, ReportError.INVALID_MESSAGE]
    with DapUpload(pair.recipe, pair.transport()) as upload:
        answer = upload.submit_batch(reports)
    assert answer == BatchAnswer(2, (Rejection(0, "invalid_message", ""),))
    assert pair.batches == [3, 2]
    assert set(pair.reports) == {reports[1].nonce, reports[2].nonce}


def test_submit_batch_repeated_counts_its_own_replays_as_accepted():
    pair = MemoryPair()
    with listening(Stumbling(pair.site, "POST", [503, 503])) as url, listening(pair.helper) as helper_url:
        pair.publish(leader_url=f"{url}/leader", helper_url=f"{helper_url}/helper", epsilon=SURE)
        reports = reports_of(pair, [1, 0, 1])
        with (
            HttpTransport(url, retries=AT_ONCE) as transport,
            DapUpload(pair.recipe, transport) as upload,
        ):
            assert upload.submit_batch(reports) == BatchAnswer(3, ())
    assert pair.counts() == (2,)


STATUSES = [ReportUploadStatus(bytes([number]) * 16, ReportError.INVALID_MESSAGE) for number in range(3)]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (("text/html", b"<html>"), "leader's answer"),
        ((media_type(UploadErrors), b"not a whole number of statuses"), "leader's answer"),
        ((media_type(UploadErrors), UploadErrors((STATUSES[0],)).encode()), "leader's answer"),
        (("application/ppm-dap;message=upload-req", bytes(17)), "leader's answer"),
        ((media_type(UploadErrors), UploadErrors((STATUSES[2], STATUSES[1])).encode()), "order"),
    ],
    ids=["not DAP", "does not decode", "a report that was not sent", "another message", "another order"],
)
def test_submit_answer_that_is_not_the_documented_one_is_an_error(pair, answer, reason):
    pair.answer = answer
    first, second = reports_of(pair, [1, 1])
    reports = [replace(first, nonce=STATUSES[1].id), replace(second, nonce=STATUSES[2].id)]
    with DapUpload(pair.recipe, pair.transport()) as upload, pytest.raises(TransportError, match=reason):
        upload.submit_batch(reports)


@pytest.mark.parametrize(
    "answer",
    [
        ("text/html", b"<html>"),
        (media_type(HpkeConfigList), b""),
        (media_type(HpkeConfigList), bytes(2)),
        (media_type(HpkeConfigList), HpkeConfigList((HpkeConfig(0, 0x99, 1, 1, b"?"),)).encode()),
        (media_type(HpkeConfigList), HpkeConfigList((HpkeConfig(0, 0x20, 1, 1, b"?"),)).encode()),
    ],
    ids=["not DAP", "empty", "no configuration", "unknown algorithms", "no key"],
)
def test_submit_with_configurations_that_nobody_can_use_sends_nothing(pair, answer):
    pair.config_answer = answer
    with DapUpload(pair.recipe, pair.transport()) as upload, pytest.raises(TransportError, match="HPKE"):
        upload.submit(reports_of(pair, [1])[0])
    assert pair.batches == []


def test_submit_of_an_unknown_task_raises_with_the_problem_document(pair):
    [report] = reports_of(pair, [1])
    with DapUpload(pair.recipe, pair.transport()) as upload:
        pair.task_id = bytes(32)
        with pytest.raises(TransportError, match="No such task") as caught:
            upload.submit(report)
    assert caught.value.problem["type"] == "urn:ietf:params:ppm:dap:error:unrecognizedTask"


# Fleets.


def fleet_of(pair: MemoryPair, **options: object) -> FleetResult:
    members = {
        "served": pair.served,
        "verification_key": VERIFICATION_KEY,
        "partner_key": HELPER_KEY,
        "workload": bernoulli(devices=5, steps=4, probability=0.3, seed=3),
        "transport": pair.transport,
    }
    return run_fleet(**(members | options))


@pytest.mark.parametrize(
    ("statistic", "eager"),
    [
        pytest.param(name, eager, marks=[pytest.mark.long] * (eager and name != "count_nonzero"))
        for name in MECHANISMS
        if TwoServers.admits(MECHANISMS[name])
        for eager in (False, True)
    ],
)
def test_run_fleet_every_device_of_two_servers_reports_once(statistic, eager):
    members = small_members(MECHANISMS[statistic], epsilon=SURE, steps=4, delta=1e-6, k=2)
    pair = MemoryPair(statistic=statistic, **members)
    workload = bernoulli(devices=40, steps=4, probability=0.3, seed=3)
    result = fleet_of(pair, workload=workload, seed=1, eager=eager)
    assert (result.devices, result.sampled, result.accepted, result.rejected) == (40, 40, 40, Counter())
    assert pair.counts() == pair.recipe.calibrated_statistic.truth(result.devices_by_answer)


# Plain Prio3 tasks.


@pytest.fixture
def task():
    servers = {"leader_aggregator_endpoint": LEADER_URL, "helper_aggregator_endpoint": HELPER_URL}
    configuration = configuration_of(4, Prio3HistogramConfig(length=5, chunk_length=2).encode())
    return MemoryAggregators(
        bytes(range(32)), replace(configuration, batch_mode=BatchMode.LEADER_SELECTED, **servers)
    )


def test_measure_reports_to_any_prio3_task(task):
    client = TaskClient(task.task_id, task.configuration, task.transport(), random_source=random.Random(1))
    with pytest.raises(FieldError, match="measurement"):
        client.measure([0, 5], time=1)
    assert task.batches == []
    uploaded = client.measure([0, 3, 3, 4], time=29_000_000)
    assert (uploaded.errors, uploaded.repeated) == ((None,) * 4, False)
    assert {report.report_metadata.time for report in task.reports.values()} == {29_000_000}
    assert len(task.reports) == 4
    assert task.result() == (1, 0, 0, 2, 1)
