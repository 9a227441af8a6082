import multiprocessing
from collections import Counter

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from scipy.stats import binom

from devices_sim import fleet
from devices_sim.fleet import FleetError, FleetResult, run_fleet
from devices_sim.workloads import synthetic
from devices_sim.workloads.bucket import EventWorkload
from devices_sim.workloads.synthetic import bernoulli
from panprivacy.device.client import RecipeRefusedError
from panprivacy.statistics.events import MECHANISMS
from panprivacy.statistics.trust_models.members import RecipeVerificationError
from tests.devices_sim.buckets import DyingBucket, FailingBucket, SlowBucket
from tests.panprivacy.device.server import VERIFICATION_KEY, MemoryServer, listening
from tests.statistic_members import small_members, without_implied


def run(server: MemoryServer, workload: EventWorkload, **options: object) -> FleetResult:
    members = {
        "served": server.served,
        "verification_key": VERIFICATION_KEY,
        "workload": workload,
        "transport": server.transport,
    }
    return run_fleet(**(members | options))


def stored(server: MemoryServer) -> frozenset[tuple[bytes, tuple[bytes, ...]]]:
    return frozenset(server.reports.items())


@pytest.fixture
def workload():
    return bernoulli(devices=2_300, steps=4, probability=0.15, seed=3)


@pytest.fixture
def few(monkeypatch):
    """In three buckets, where that of `workload` are ten times as large."""
    monkeypatch.setattr(synthetic, "BUCKET_DEVICES", 100)
    return bernoulli(devices=230, steps=4, probability=0.15, seed=3)


def test_run_fleet_every_device_reports_once_in_full_batches(server, workload):
    result = run(server, workload)
    assert (result.devices, result.sampled, result.accepted) == (2_300, 2_300, 2_300)
    assert result.rejected == Counter()
    assert result.devices_by_answer == Counter(len(happened) for _, happened in workload)
    assert server.batches == [1_000, 1_000, 300]
    assert len(server.reports) == 2_300
    spent = result.device_seconds, result.submit_seconds
    assert 0 < min(spent) < sum(spent) <= result.elapsed_seconds


@pytest.mark.parametrize("statistic", MECHANISMS)
@pytest.mark.parametrize("eager", [False, True])
def test_run_fleet_every_statistic_sends_values_that_the_server_allows(make_server, statistic, eager):
    members = small_members(
        MECHANISMS[statistic], steps=4, epsilon=2.0, delta=1e-6, period_steps=2, periods=2
    )
    server = make_server(statistic=statistic, **without_implied(MECHANISMS[statistic], members))
    result = run(server, bernoulli(devices=30, steps=4, probability=0.5, seed=1), eager=eager)
    assert result.accepted == 30
    assert len(server.decrypted()) == 30


def test_run_fleet_same_seed_gives_the_same_reports_and_other_seeds_do_not(make_server, few):
    servers = [make_server(sampling_rate=0.5) for _ in range(4)]
    for server, seed in zip(servers, (7, 7, 8, None), strict=True):
        assert run(server, few, seed=seed).sampled == len(server.reports)
    assert stored(servers[0]) == stored(servers[1])
    for one, other in ((0, 2), (0, 3), (2, 3)):
        assert stored(servers[one]).isdisjoint(stored(servers[other]))


def test_run_fleet_rejected_reports_are_counted_by_reason(server, few):
    run(server, few, seed=1)
    again = run(server, few, seed=1)
    assert (again.accepted, again.rejected) == (0, Counter(duplicate_nonce=230))


@pytest.mark.processes
def test_run_fleet_same_seed_gives_the_same_reports_whatever_the_processes(make_server, few):
    alone, together = make_server(sampling_rate=0.5), make_server(sampling_rate=0.5)
    first = run(alone, few, seed=7)
    with listening(together) as url:
        second = run(together, few, seed=7, transport=url, processes=2)
    assert stored(alone) == stored(together)
    assert (first.devices, first.sampled, first.accepted, first.devices_by_answer) == (
        second.devices,
        second.sampled,
        second.accepted,
        second.devices_by_answer,
    )


def test_run_fleet_large_reports_are_sent_in_batches_below_the_limit(server, monkeypatch):
    monkeypatch.setattr(fleet, "BATCH_BYTES", 1_000)
    run(server, bernoulli(devices=25, steps=4, probability=0.5, seed=1))
    # 24 + 88 characters of base64 and 72 of framing allowed for: five reports of 184 bytes.
    assert server.batches == [5, 5, 5, 5, 5]


def test_run_fleet_real_or_forged_recipe_is_refused(make_server, workload):
    with pytest.raises(RecipeRefusedError, match="real devices"):
        run(make_server(simulation=False), workload)
    other = Ed25519PrivateKey.generate().public_key().public_bytes_raw()
    with pytest.raises(RecipeVerificationError):
        run(make_server(), workload, verification_key=other)


@pytest.mark.processes
@pytest.mark.parametrize("processes", [1, pytest.param(2, marks=pytest.mark.long)])
def test_run_fleet_closed_recipe_is_one_error_with_the_problem(server, workload, processes):
    server.closed = True
    with listening(server) as url, pytest.raises(FleetError, match="closed") as caught:
        run(server, workload, transport=url, processes=processes)
    assert caught.value.problem["type"] == "/problems/recipe-not-open"
    assert multiprocessing.active_children() == []


@pytest.mark.processes
@pytest.mark.parametrize(
    ("bucket", "message"),
    [
        (DyingBucket(), r"exit code 3"),
        pytest.param(FailingBucket(), "UnpicklableError: in words", marks=pytest.mark.long),
    ],
)
def test_run_fleet_process_that_fails_is_one_error_and_stops_the_others(server, bucket, message):
    with listening(server) as url, pytest.raises(FleetError, match=message):
        run(server, EventWorkload(4, (SlowBucket(), bucket)), transport=url, processes=2)
    assert multiprocessing.active_children() == []


@pytest.mark.statistical
@pytest.mark.parametrize("seed", [None, 5])
@pytest.mark.parametrize("eager", [False, True])
def test_run_fleet_sampling_rate_is_respected(make_server, seed, eager):
    """A two-sided binomial test of level 2.5e-7, four times: at most 1e-6 in all."""
    server = make_server(sampling_rate=0.3, steps=1)
    devices = 1_000
    result = run(server, bernoulli(devices=devices, steps=1, probability=0.5, seed=2), seed=seed, eager=eager)
    tail = 2.5e-7 / 2
    assert binom.ppf(tail, devices, 0.3) <= result.sampled <= binom.isf(tail, devices, 0.3)
    assert result.accepted == result.sampled == len(server.reports)
    assert sum(result.devices_by_answer.values()) == devices
