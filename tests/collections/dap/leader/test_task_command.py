"""`manage.py task`: plain Prio3 tasks from the command line."""

import base64
import io
import json
import random
from typing import Any
from unittest.mock import patch

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.core.management import ManagementUtility, call_command
from django.core.management.base import CommandError
from django.db import connections

from dap.leader.models import Collector
from dap.leader.uploads import reports_upload
from dap.models import Side, Task
from panprivacy.formats import base64_text
from panprivacy.protocols.dap.task import TaskConfiguration
from partners.partner import Partner
from partners.roles import PartnerRole
from tests.collections.dap.leader.scene import (
    HELPER_URL,
    HOUR,
    LEADER_KEY,
    LEADER_URL,
    PRECISION,
    Network,
    Pair,
    helper_verification_key,
    lost_request,
)

pytestmark = pytest.mark.django_db

COUNT, OF_3 = ["--vdaf", "prio3count"], ["--min-batch-size", "3"]
LIKE_AN_OPTION = b"\xf8" + bytes(31)
HISTOGRAM = ["--vdaf", "prio3histogram", "--length", "11", "--chunk-length", "4"]


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> Network:
    network = Network()
    partner = Partner(HELPER_URL, helper_verification_key(), LEADER_URL, LEADER_KEY, network)
    monkeypatch.setattr(PartnerRole, "configured", lambda role: partner)
    monkeypatch.setattr("dap.leader.management.commands.task.peer_of", lambda task: partner.client())
    return network


def task(*arguments: str) -> Any:
    output = io.StringIO()
    call_command("task", *arguments, stdout=output)
    return json.loads(output.getvalue())


def test_create_registers_at_both_sides_and_prints_the_configuration(network: Network) -> None:
    printed = task("create", *HISTOGRAM, "--min-batch-size", "100", "--time-precision", "3600")
    assert {name: printed[name] for name in ("vdaf", "length", "chunk_length", "min_batch_size")} == {
        "vdaf": "prio3histogram",
        "length": 11,
        "chunk_length": 4,
        "min_batch_size": 100,
    }
    encoded = base64.urlsafe_b64decode(printed["task_configuration"] + "==")
    assert TaskConfiguration.decode(encoded).min_batch_size == 100
    assert set(Task.objects.values_list("side", flat=True)) == {Side.LEADER, Side.HELPER}
    assert [listed["task_id"] for listed in task("list")] == [printed["task_id"]]
    ended = task("end", printed["task_id"], "--reason", "it is over")
    assert (ended["state"], ended["outcome"]) == ("ended", "it is over")


SUM = ["--vdaf", "prio3sum", "--max-measurement"]
BUCKETS = ["--vdaf", "prio3histogram", "--length"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--vdaf", "prio4"], "vdaf: must be one of prio3count, "),
        (["--vdaf", "prio3sum"], "max_measurement: must be given for prio3sum"),
        ([*COUNT, "--length", "3"], "length: is no parameter of prio3count"),
        ([*BUCKETS, "0", "--chunk-length", "1"], "length: must be "),
        ([*BUCKETS, "3", "--chunk-length", "0"], "chunk_length: must be "),
        ([*SUM, str(2**70)], "max_measurement: must be "),
        ([*SUM, str(2**63)], "min_batch_size: must be at most 1 if"),
        ([*COUNT, "--min-batch-size", "1"], "min_batch_size: must be 2 to "),
        ([*COUNT, "--time-precision", "0"], "time_precision: must be 1 to "),
        ([*COUNT, "--batch-mode", "random"], "batch_mode: must be one of time-interval, "),
        ([*COUNT, "--start", "7200"], "duration: must be set"),
        ([*COUNT, "--start", "1", "--duration", "3600"], "start: must be a multiple"),
        ([*COUNT, "--start", "0", "--duration", "0"], "duration: must be a multiple"),
        ([*COUNT, "--collector-key", "AAAA"], "collector_key: must be an Ed25519 key of 32"),
        ([*COUNT, "--collector-key", "A" * 43], "collector_key: must be an Ed25519 key"),
        ([*COUNT, "--collector-hpke-config", "AAAA"], "collector_hpke_config: must be an "),
    ],
)
def test_create_with_bad_value_names_its_range(network: Network, arguments: list[str], message: str) -> None:
    given = arguments if "--min-batch-size" in arguments else [*arguments, *OF_3]
    with pytest.raises(CommandError) as refused:
        task("create", *given)
    assert message in str(refused.value)
    assert refused.value.returncode == 2
    assert not Task.objects.exists()


def test_create_without_a_helper_says_what_to_set() -> None:
    with pytest.raises(CommandError, match=r"PANAPP_ROLE=leader, .*PANAPP_HELPER_URL"):
        task("create", *COUNT, *OF_3)


@pytest.mark.parametrize(
    ("smallest", "words"), [(50, "the helper refuses: min_batch_size"), (2, "did not answer")]
)
def test_create_without_the_helper_begins_nothing_here(
    network: Network, settings: Any, smallest: int, words: str
) -> None:
    settings.SMALLEST_COHORT = smallest
    network.faults.extend([lost_request] if smallest == 2 else [])
    with pytest.raises(CommandError, match=words):
        task("create", *COUNT, *OF_3)
    assert not Task.objects.exists()


def test_create_draws_no_identifier_that_reads_like_an_option(network: Network) -> None:
    drawn = iter([LIKE_AN_OPTION, b"\x01" + bytes(31)])

    class Source(random.SystemRandom):
        def randbytes(self, n: int) -> bytes:
            return next(drawn, None) or super().randbytes(n)

    with patch("dap.leader.management.commands.task.secrets.SystemRandom", Source):
        assert task("create", *COUNT, *OF_3)["task_id"].startswith("AQ")


def test_collect_takes_hexadecimal_and_what_reads_like_an_option(
    network: Network, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "close_all", lambda: None)  # the test goes on with them
    # Logs would go to the stream that is captured here, and closed with the test.
    monkeypatch.setattr("django.setup", lambda: None)
    pair = Pair(task_id=LIKE_AN_OPTION)
    pair.upload(0, 1, 1)
    identifier = base64_text.encode_url(pair.task_id)
    assert identifier.startswith("-")
    ManagementUtility(["manage.py", "task", "collect", identifier, "--timeout", "5"]).execute()
    printed = json.loads(capsys.readouterr().out)
    assert (printed["task_id"], printed["identifier"]) == (identifier, pair.task_id.hex())
    times = [text for name, value in printed["interval"].items() for text in (f"--{name}", str(value))]
    assert task("collect", pair.task_id.hex(), *times) == printed
    for unknown in ("", "nonsense", "A" * 43, "ä"):
        with pytest.raises(CommandError, match="task_id: no task has this identifier"):
            task("collect", unknown)


def test_create_for_a_collector_elsewhere_keeps_no_key_of_it(network: Network) -> None:
    config = task("create", *COUNT, *OF_3)["collector_hpke_config"]
    key = Ed25519PrivateKey.from_private_bytes(bytes(32)).public_key().public_bytes_raw()
    encoded = base64.urlsafe_b64encode(key).decode().rstrip("=")
    elsewhere = ["--collector-hpke-config", config, "--collector-key", encoded]
    printed = task("create", *COUNT, *OF_3, *elsewhere)
    assert printed["collected_here"] is False
    assert Collector.objects.order_by("pk").last().hpke_key is None
    with pytest.raises(CommandError, match="elsewhere"):
        task("collect", printed["task_id"])


def test_collect_prints_the_result_without_workers(network: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    pair = Pair()
    pair.upload(0, 1, 1)
    reports_upload(task=pair.task, reports=[pair.garbled()], now=pair.now)
    identifier = task("list")[0]["task_id"]
    printed = task("collect", identifier)
    assert {name: printed[name] for name in ("report_count", "values", "interval", "rejections")} == {
        "report_count": 3,
        "values": [1, 2, 0, 0],
        "interval": {"start": HOUR * PRECISION, "duration": PRECISION},
        "rejections": {"leader": {"invalid_message": 1}, "helper": {}},
    }
    again = task("collect", identifier, "--start", str(HOUR * PRECISION), "--duration", str(PRECISION))
    assert again == printed
    with pytest.raises(CommandError, match="no reports that are in no result yet"):
        task("collect", identifier)


def test_collect_of_too_few_reports_says_how_it_stands(network: Network) -> None:
    pair = Pair(min_batch_size=3)
    pair.upload(0, 1)
    identifier = task("list")[0]["task_id"]
    with pytest.raises(CommandError, match="2 reports counted, 0 to be verified, 3 needed") as refused:
        task("collect", identifier, "--timeout", "0.6")
    assert refused.value.returncode == 3
