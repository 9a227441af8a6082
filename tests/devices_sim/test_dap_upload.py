"""A report reaches both servers of a recipe or task, each its own share, however often it has to be sent."""

import base64
import random
from collections import Counter
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from devices_sim.__main__ import main
from devices_sim.algorithm import ClientAlgorithm, Phase, wire_report
from devices_sim.client import Device
from devices_sim.dap_upload import CLOSED_OR_EARLY, DapUpload, TaskClient
from devices_sim.fleet import FleetError, run_fleet
from devices_sim.rest_upload import RestUpload
from devices_sim.transport import (
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
from devices_sim.trust_models import reporting_model
from devices_sim.workloads.synthetic import bernoulli
from panprivacy.dap.basics import BatchMode, HpkeConfig, ReportError
from panprivacy.dap.media import media_type
from panprivacy.dap.task import TaskConfiguration
from panprivacy.dap.upload import HpkeConfigList, ReportUploadStatus, UploadErrors
from panprivacy.dap.vdafs import Prio3HistogramConfig
from panprivacy.errors import FieldError
from panprivacy.limits import RecipeLimits
from panprivacy.mechanisms import MECHANISMS
from panprivacy.trust_models.members import RecipeVerificationError
from panprivacy.trust_models.two_server import TwoServers
from tests.devices_sim.in_process import InProcessTransport
from tests.devices_sim.server import AT_ONCE, VERIFICATION_KEY, listening
from tests.devices_sim.two_servers import (
    HELPER_KEY,
    HELPER_URL,
    LEADER_URL,
    MemoryAggregators,
    MemoryPair,
    two_server_recipe,
)
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


def test_device_whole_life_delivers_one_report_that_both_servers_verify(path, pair):
    with join(path, pair) as device:
        for event in (False, True, False, False):
            device.step(event)
        assert device.send(pair.transport()) is Delivery.ACCEPTED
        assert device.phase is Phase.DONE
    assert pair.counts() == (1,)


def test_device_reopened_between_all_operations_delivers_under_the_nonce_of_its_first_state(path):
    pair = MemoryPair(epsilon=SURE, statistic="histogram", k=2)
    join(path, pair).close()
    for number, event in enumerate((True, False, True, False), 1):
        with Device.open(path) as device:
            device.step(event, number=number)
    with Device.open(path) as device:
        device.finish()
    with Device.open(path) as device:
        device.send(pair.transport())
    assert pair.counts() == (0, 0, 1)


def test_device_over_http_delivers_to_the_addresses_of_the_recipe(path):
    pair = MemoryPair()
    with ExitStack() as stack:
        url = stack.enter_context(listening(pair.site))
        helper_url = stack.enter_context(listening(pair.helper))
        pair.publish(leader_url=f"{url}/leader", helper_url=f"{helper_url}/helper", epsilon=SURE)
        with HttpTransport(url) as transport, join(path, pair) as device:
            assert transport.recipe(pair.recipe.identifier) == pair.served
            device.catch_up(4)
            assert device.send(transport) is Delivery.ACCEPTED
    assert pair.counts() == (0,)


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
def test_send_report_that_is_not_taken_now_waits_until_the_recipe_is_closed(path, error):
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
def test_send_report_that_is_rejected_for_good_raises_with_the_drafts_reason(path, pair, error):
    pair.errors = [error]
    with join(path, pair) as device:
        device.catch_up(4)
        with pytest.raises(ReportRejectedError) as caught:
            device.send(pair.transport())
    assert caught.value.problem["reason"] == error.name.lower()


# Pinned keys.


@pytest.mark.parametrize(
    ("helper_key", "message"),
    [
        (None, "needs the helper's key"),
        (VERIFICATION_KEY, "names another helper"),
        (bytes(31), "32 bytes"),
    ],
)
def test_join_two_server_recipe_without_the_right_helper_key_is_refused(path, pair, helper_key, message):
    with pytest.raises(ValueError, match=message):
        join(path, pair, helper_key=helper_key)
    assert not path.exists()


def test_join_two_server_recipe_that_only_the_leader_signed_is_refused(path, pair):
    served = pair.served
    alone = type(served)(served.identifier, served.document, served.signature, "open")
    with pytest.raises(RecipeVerificationError, match="helper's signature is missing"):
        Device.join(path, alone, verification_key=VERIFICATION_KEY, helper_key=HELPER_KEY, simulation=True)


def test_join_recipe_of_one_server_has_no_use_for_a_helper_key(path, server):
    options = {"verification_key": VERIFICATION_KEY, "simulation": True}
    with Device.join(path, server.served, **options):
        pass
    assert b"helper" not in path.read_bytes()


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


def test_upload_of_a_recipe_is_chosen_by_its_trust(pair, server):
    assert isinstance(reporting_model(pair.recipe).upload(pair.recipe, pair.transport()), DapUpload)
    assert isinstance(reporting_model(server.recipe).upload(server.recipe, server.transport()), RestUpload)


def test_submit_fetches_each_configuration_once_for_all_reports(pair):
    with DapUpload(pair.recipe, pair.transport()) as upload:
        for report in reports_of(pair, [0, 1, 1]):
            assert upload.submit(report) is Delivery.ACCEPTED
    assert pair.fetches == 2
    assert pair.counts() == (2,)


def test_submit_under_an_outdated_key_seals_the_same_report_anew(pair):
    first, second = reports_of(pair, [1, 1])
    with DapUpload(pair.recipe, pair.transport()) as upload:
        upload.submit(first)
        pair.rotate()
        assert upload.submit(second) is Delivery.ACCEPTED
    assert pair.fetches == 4
    assert set(pair.reports) == {first.nonce, second.nonce}
    assert pair.reports[second.nonce].leader_encrypted_input_share.config_id == 1
    assert pair.counts() == (2,)


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


class StoresAndFails:
    """Stores the first uploads, but answers them with an error of the server."""

    def __init__(self, pair: MemoryPair, failures: int) -> None:
        self.pair = pair
        self.failures = failures

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Any:
        if not self.failures or environ["REQUEST_METHOD"] == "GET":
            return self.pair.site(environ, start_response)
        self.failures -= 1
        self.pair.site(environ, lambda *_: None)
        start_response("503 Unavailable", [])
        return [b"out of order"]


def test_submit_batch_that_had_to_be_repeated_counts_its_own_replays_as_accepted():
    pair = MemoryPair()
    with listening(StoresAndFails(pair, 2)) as url, listening(pair.helper) as helper_url:
        pair.publish(leader_url=f"{url}/leader", helper_url=f"{helper_url}/helper", epsilon=SURE)
        reports = reports_of(pair, [1, 0, 1])
        with (
            HttpTransport(url, retries=AT_ONCE) as transport,
            DapUpload(pair.recipe, transport) as upload,
        ):
            assert upload.submit_batch(reports) == BatchAnswer(3, ())
    assert pair.counts() == (2,)


STRANGER = UploadErrors((ReportUploadStatus(bytes(16), ReportError.INVALID_MESSAGE),)).encode()


@pytest.mark.parametrize(
    "answer",
    [
        ("text/html", b"<html>"),
        (media_type(UploadErrors), b"not a whole number of statuses"),
        (media_type(UploadErrors), STRANGER),
        ("application/ppm-dap;message=upload-req", bytes(17)),
    ],
    ids=["not DAP", "does not decode", "a report that was not sent", "another message"],
)
def test_submit_answer_that_is_not_the_documented_one_is_an_error(pair, answer):
    pair.answer = answer
    with (
        DapUpload(pair.recipe, pair.transport()) as upload,
        pytest.raises(TransportError, match="leader's answer"),
    ):
        upload.submit(reports_of(pair, [1])[0])


def test_submit_batch_answer_in_another_order_is_an_error(pair):
    reports = reports_of(pair, [1, 1])
    statuses = [ReportUploadStatus(report.nonce, ReportError.INVALID_MESSAGE) for report in reports]
    pair.answer = (media_type(UploadErrors), UploadErrors(tuple(reversed(statuses))).encode())
    with DapUpload(pair.recipe, pair.transport()) as upload, pytest.raises(TransportError, match="order"):
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


def test_submit_to_a_leader_that_does_not_know_the_task_raises_with_the_problem_document(pair):
    [report] = reports_of(pair, [1])
    with DapUpload(pair.recipe, pair.transport()) as upload:
        pair.task_id = bytes(32)
        with pytest.raises(TransportError, match="No such task") as caught:
            upload.submit(report)
    assert caught.value.problem["type"] == "urn:ietf:params:ppm:dap:error:unrecognizedTask"


# Fleets.


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
    result = run_fleet(
        served=pair.served,
        verification_key=VERIFICATION_KEY,
        partner_key=HELPER_KEY,
        workload=workload,
        transport=pair.transport,
        seed=1,
        eager=eager,
    )
    assert (result.devices, result.sampled, result.accepted, result.rejected) == (40, 40, 40, Counter())
    assert pair.counts() == pair.recipe.calibrated_statistic.truth(result.devices_by_answer)


def test_run_fleet_counts_rejections_by_the_drafts_reasons(pair):
    pair.errors = [None, ReportError.REPORT_DROPPED, ReportError.REPORT_DROPPED]
    result = run_fleet(
        served=pair.served,
        verification_key=VERIFICATION_KEY,
        partner_key=HELPER_KEY,
        workload=bernoulli(devices=5, steps=4, probability=0.3, seed=3),
        transport=pair.transport,
    )
    assert (result.accepted, result.rejected) == (3, Counter(report_dropped=2))


def test_run_fleet_without_the_helper_key_is_refused(pair):
    with pytest.raises(RecipeVerificationError, match="needs the helper's key"):
        run_fleet(
            served=pair.served,
            verification_key=VERIFICATION_KEY,
            workload=bernoulli(devices=5, steps=4, probability=0.3, seed=3),
            transport=pair.transport,
        )
    assert pair.batches == []


def test_run_fleet_whose_leader_is_gone_fails_with_one_error(pair):
    def gone(environ: object, start_response: Any) -> list[bytes]:
        start_response("410 Gone", [])
        return []

    servers = {LEADER_URL: gone, HELPER_URL: pair.helper}
    with pytest.raises(FleetError, match="could not be delivered: the server answered 410"):
        run_fleet(
            served=pair.served,
            verification_key=VERIFICATION_KEY,
            partner_key=HELPER_KEY,
            workload=bernoulli(devices=5, steps=4, probability=0.3, seed=3),
            transport=lambda: InProcessTransport(pair.site, others=servers),
        )


# Plain Prio3 tasks.


@pytest.fixture
def task():
    configuration = TaskConfiguration(
        task_info=b"doors",
        leader_aggregator_endpoint=LEADER_URL,
        helper_aggregator_endpoint=HELPER_URL,
        time_precision=60,
        min_batch_size=2,
        batch_mode=BatchMode.LEADER_SELECTED,
        batch_config=b"",
        vdaf_type=4,
        vdaf_configuration=Prio3HistogramConfig(length=5, chunk_length=2).encode(),
    )
    return MemoryAggregators(bytes(range(32)), configuration)


def test_measure_reports_to_any_prio3_task(task):
    client = TaskClient(task.task_id, task.configuration, task.transport(), random_source=random.Random(1))
    uploaded = client.measure([0, 3, 3, 4], time=29_000_000)
    assert (uploaded.errors, uploaded.repeated) == ((None,) * 4, False)
    assert {report.report_metadata.time for report in task.reports.values()} == {29_000_000}
    assert len(task.reports) == 4
    assert task.result() == (1, 0, 0, 2, 1)


def test_measure_impossible_measurement_is_refused_before_anything_is_sent(task):
    client = TaskClient(task.task_id, task.configuration, task.transport())
    with pytest.raises(FieldError, match="measurement"):
        client.measure([0, 5], time=1)
    assert task.batches == []


def test_task_client_of_servers_that_its_transport_does_not_know_is_refused(pair):
    recipe = two_server_recipe(helper_url="https://elsewhere.example/helper")
    with pytest.raises(ValueError, match="no server https://elsewhere"):
        DapUpload(recipe, pair.transport())
