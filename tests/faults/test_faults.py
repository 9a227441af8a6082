"""Nothing is counted twice, nothing is lost, and nothing is stuck, whatever fails at whatever moment."""

import gc
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import hypothesis
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from panprivacy.protocols.dap.basics import BatchMode
from results.aggregation.tasks import process_chunk
from tests.clock import time_is
from tests.faults.joint_key import JointSimulation
from tests.faults.machines import Machine, Template
from tests.faults.simulation import SMALLEST_BATCH, Clock, Simulation, Verdict
from tests.panprivacy.recipe.test_token import with_tokens
from tests.panprivacy.statistics.test_servers import two_servers

STEPS = 120
FIXED_SEEDS = range(5)
FRESH_SEEDS = 8
"""Each time that examples are drawn anew. Otherwise one, which is the same in every run: a sixth seed."""
QUICK_SEED = FIXED_SEEDS[0]
"""The one that `make test` runs too."""

HONEST_REJECTIONS = {
    ("leader", "report_replayed"),
    ("leader", "batch_collected"),
    ("leader", "outdated_config"),
}
"""All that a report of an honest client can be refused for here: what was sent twice or too late, or sealed
to a key of long ago. Anything else is a loss, however well it is counted."""

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    time_is(monkeypatch, clock)
    return clock


@pytest.fixture(scope="session")
def template(
    django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Template]:
    with django_db_blocker.unblock(), Template(tmp_path_factory.mktemp("helper")).made() as template:
        # What was loaded stays: to look through it again and again takes a twentieth of the time.
        gc.collect()
        gc.freeze()
        yield template
        gc.unfreeze()


@pytest.fixture
def helper(template: Template, settings: Any) -> Iterator[Machine]:
    """The second machine. Both have the same signing key: who signs is tested elsewhere."""
    public = Ed25519PrivateKey.from_private_bytes(settings.SIGNING_KEY).public_key().public_bytes_raw()
    settings.ROOT_URLCONF = "tests.faults.urls"
    settings.MIDDLEWARE = []  # nothing here needs any, and every request would list all static files
    settings.LEADER_URL, settings.HELPER_URL = "http://testserver/leader", "http://testserver/helper"
    settings.LEADER_KEY = settings.HELPER_KEY = public
    settings.SMALLEST_COHORT = 2
    with template.second_machine() as machine:
        yield machine


@pytest.fixture
def pair(helper: Machine, clock: Clock) -> Callable[..., Simulation]:
    """Makes a simulation."""
    return lambda seed, mode, recipe=None: Simulation(seed, helper, clock, mode, recipe)


@contextmanager
def explained(simulation: Simulation | JointSimulation, mode: str) -> Iterator[None]:
    """A failure shows its seed, and what was done."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"seed {simulation.seed}, {mode}")
        error.add_note("\n".join(simulation.log[-60:]))
        raise


def run(simulation: Simulation) -> Verdict:
    with explained(simulation, simulation.batch_mode.name.lower()):
        for _ in range(STEPS):
            simulation.step()
        simulation.settle()
        return check(simulation)


def check(simulation: Simulation) -> Verdict:
    verdict = simulation.verdict()
    sums = [sum(column) for column in zip(*(result.values for result in verdict.results), strict=True)]
    sums = sums or [0] * 48
    assert set(sums) <= {0, 1}, f"not 0 or 1 in every bucket: {sums}"
    for result in verdict.results:
        assert sum(result.values) == result.report_count >= SMALLEST_BATCH
    released = {number for number, value in enumerate(sums) if value}
    assert released <= simulation.acknowledged | simulation.doubtful
    assert set(verdict.rejected) <= HONEST_REJECTIONS
    # Every report that is in no result is accounted for: in a batch that stayed too small, on both sides, or
    # rejected for a reason that is counted. Rejections also count what clients were told at once.
    missing = len(simulation.acknowledged - released)
    accounted = verdict.counted + verdict.stored + verdict.rejected.total()
    least = missing + simulation.told
    most = least + simulation.unheard + len(simulation.doubtful - released)
    assert least <= accounted <= most, (least, accounted, most, verdict)
    assert verdict.counted == verdict.counted_by_helper
    return verdict


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Those that `--seeds` names, or a few."""
    if "fixed_seed" in metafunc.fixturenames:
        seeds = metafunc.config.getoption("seeds", None) or [
            seed if seed == QUICK_SEED else pytest.param(seed, marks=pytest.mark.long) for seed in FIXED_SEEDS
        ]
        metafunc.parametrize("fixed_seed", seeds)


@pytest.mark.parametrize("mode", BatchMode, ids=[mode.name.lower() for mode in BatchMode])
def test_faults_of_a_fixed_seed_lose_nothing_and_double_nothing(
    pair: Callable[[int, BatchMode], Simulation],
    fixed_seed: int,
    mode: BatchMode,
    record_property: Callable[[str, object], None],
) -> None:
    simulation = pair(fixed_seed, mode)
    try:
        verdict = run(simulation)
        for name, number in outcomes(simulation, verdict).items():
            record_property(name, number)
    finally:
        record_property("the leader died", simulation.deaths)
        for fault, number in simulation.network.faults.items():
            record_property(f"request: {fault.value}", number)


def test_faults_of_a_fixed_seed_leave_one_list_and_one_count(
    helper: Machine,
    clock: Clock,
    fixed_seed: int,
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, object], None],
) -> None:
    # Several parts; and no task is sent to a broker.
    for module in ("panprivacy.recipe.accepted_list", "reports.proven_rows"):
        monkeypatch.setattr(f"{module}.PART_REPORTS", JointSimulation.PART_REPORTS)
    monkeypatch.setattr(process_chunk, "delay", lambda *_: None)
    simulation = JointSimulation(fixed_seed, helper, clock)
    try:
        with explained(simulation, "joint key"):
            for _ in range(STEPS // 3):
                simulation.step()
            simulation.settle()
            simulation.check()
    finally:
        record_property("the leader died", simulation.deaths)
        for fault, number in simulation.network.faults.items():
            record_property(f"request: {fault.value}", number)


def outcomes(simulation: Simulation, verdict: Verdict) -> dict[str, int]:
    """What became of everything, for a summary of many sequences."""
    return {
        "reports acknowledged": len(simulation.acknowledged),
        "reports released": sum(result.report_count for result in verdict.results),
        "reports in batches too small": verdict.counted + verdict.stored,
        **{f"reports rejected: {reason}": number for (_, reason), number in verdict.rejected.items()},
        "batches released": len(verdict.results),
        "collections refused": len(verdict.refusals),
    }


def test_faults_of_reports_with_tokens_lose_and_double_nothing(pair: Callable[..., Simulation]) -> None:
    """Both servers verify tokens in the middle of every kill; a replayed token never counts again."""
    run(pair(QUICK_SEED, BatchMode.TIME_INTERVAL, with_tokens(two_servers())))


@pytest.mark.long
@pytest.mark.parametrize("mode", [BatchMode.TIME_INTERVAL, BatchMode.LEADER_SELECTED])
def test_a_fresh_seed_loses_nothing(pair: Callable[[int, BatchMode], Simulation], mode: BatchMode) -> None:
    fixed = hypothesis.settings.default.derandomize  # all but the profile `anew`
    for seed in [len(FIXED_SEEDS)] if fixed else [secrets.randbits(48) for _ in range(FRESH_SEEDS)]:
        run(pair(seed, mode))
