"""Starting, running chunk by chunk, ending and cancelling."""

import re
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.db import connection
from django.utils import timezone
from structlog.testing import capture_logs

from devices_sim.devices import simulated_class
from log.audit.actions import ACCESS_DENIED
from log.audit.operations import entry_append
from log.public_log.models import AskedWitness, Cosignature
from log.public_log.selectors import latest_checkpoint, log_verifier_key
from panprivacy.device.transport import Answer, TransportError
from panprivacy.formats.errors import FieldError
from panprivacy.protocols.transparency.checkpoint import Checkpoint
from panprivacy.protocols.transparency.cosignature import cosign
from panprivacy.protocols.transparency.policy import Policy
from panprivacy.protocols.transparency.signed_note import COSIGNATURE, VerifierKey
from panprivacy.recipe.draft import RecipeDraft
from partners.recipe_document import SIMULATION_LIFETIME
from publishing.publication import recipe_close
from recipes.models import Recipe
from results.models import Release, SimulatedTruth
from simulations import chunks, operations, workloads
from simulations.chunks import LOG_PATIENCE, LOG_WAIT, chunk_run, chunks_take
from simulations.errors import SimulationRefusedError
from simulations.models import DeviceChunk, Simulation
from simulations.operations import simulation_cancel, simulation_start
from simulations.selectors import Stage, outcome_of, planned_margin, progress_of
from tests.collections.simulations.scene import BERNOULLI, CSV, Site, released, run, small_chunks, start
from tests.factories import recipe_members
from tests.patience import PATIENCE
from tests.refusals import raising

pytestmark = pytest.mark.django_db


class Dying(Site):
    """A worker that dies once it has sent so many requests."""

    left = 3  # the recipe, its proof, and one request with reports

    def exchange(self, *arguments: Any, **named: Any) -> Answer:
        if not self.left:
            raise KeyboardInterrupt
        self.left -= 1
        return super().exchange(*arguments, **named)


class Silent(Site):
    """A site that cannot be reached."""

    def exchange(self, *arguments: Any, **named: Any) -> Answer:
        raise TransportError("no answer")


def test_simulation_of_random_events_ends_with_the_object_of_collect(
    site: Site, monkeypatch: pytest.MonkeyPatch, django_assert_num_queries: Any
) -> None:
    small_chunks(monkeypatch)
    simulation = start()
    assert DeviceChunk.objects.count() == 3
    with django_assert_num_queries(1):
        assert progress_of(simulation, timezone.now()).stage is Stage.RUNNING
    assert outcome_of(simulation) is None
    run(simulation, site)
    assert (simulation.state, simulation.done) == ("reported", 40)
    assert progress_of(simulation, timezone.now()).stage is Stage.SUMMING
    release = released(simulation)
    assert progress_of(simulation, timezone.now()).stage is Stage.FINISHED
    outcome = outcome_of(simulation)
    assert outcome is not None
    result = outcome.as_dict()
    assert (result["devices"], result["reports"]) == (40, {"accepted": 40, "rejected": {}})
    assert (release.reports, result["truth"]) == (40, SimulatedTruth.objects.get().values[0])
    assert planned_margin(simulation) is not None
    assert not DeviceChunk.objects.exists()


def test_segments_are_as_large_as_their_weights_say(site: Site) -> None:
    workload = {"kind": "bernoulli", "devices": 40, "rate": 0.2, "weights": [0, 1]}
    simulation = run(start(workload, segments=["old", "new"]), site)
    old, new = SimulatedTruth.objects.get(recipe=simulation.recipe).segments
    assert (old["devices"], new["devices"]) == (0, 40)


def test_same_seed_gives_the_same_estimate_in_any_chunks(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    estimates = []
    for devices in (40, 7):
        small_chunks(monkeypatch, devices)
        simulation = run(start(), site)
        estimates.append((released(simulation).values, simulation.totals["answers"]))
    assert estimates[0][0] == estimates[1][0]
    assert sorted(estimates[0][1]) == sorted(estimates[1][1])


def test_without_a_seed_one_is_drawn_that_is_not_guessed(site: Site) -> None:
    first, second = start(seed=None), start(seed=None)
    assert not first.seed_given
    assert first.seed != second.seed
    assert int(first.seed) > 2**128  # fails with a probability of 2**-128


def test_chunk_of_a_worker_that_died_counts_once(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    small_chunks(monkeypatch)
    monkeypatch.setattr("panprivacy.device.upload.Upload.batch_reports", 5)
    simulation = start()
    chunks = chunks_take(simulation=simulation)
    with pytest.raises(KeyboardInterrupt):
        chunk_run(chunk=chunks[0], transport=Dying())
    simulation.refresh_from_db()
    assert simulation.done == 0
    for chunk in chunks:
        chunk_run(chunk=chunk, transport=site)
        chunk_run(chunk=chunk, transport=site)  # delivered twice
    simulation.refresh_from_db()
    assert simulation.done == 40
    assert released(simulation).reports == 40
    outcome = outcome_of(simulation)
    assert outcome is not None
    assert outcome.as_dict()["reports"] == {"accepted": 40, "rejected": {}}


def test_chunk_reported_twice_at_once_counts_once(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    simulation = start()
    (chunk,) = chunks_take(simulation=simulation)

    class Overtaken(Site):
        def exchange(self, *arguments: Any, **named: Any) -> Answer:
            chunk_run(chunk=chunk, transport=site)
            return super().exchange(*arguments, **named)

    chunk_run(chunk=chunk, transport=Overtaken())
    simulation.refresh_from_db()
    # The second to come finds the recipe closed, or its chunk counted.
    assert (simulation.done, simulation.state) == (40, "reported")
    assert released(simulation).reports == 40


def test_lost_chunk_is_sent_again_within_the_limit(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    small_chunks(monkeypatch, 4)
    settings.RECIPE_CHUNKS = 3
    simulation = start()
    taken = chunks_take(simulation=simulation)
    assert len(taken) == 3
    assert chunks_take(simulation=simulation) == []
    DeviceChunk.objects.filter(pk=taken[1]).update(send_after=timezone.now())
    assert chunks_take(simulation=simulation) == [taken[1]]
    assert DeviceChunk.objects.get(pk=taken[1]).attempts == 1


def test_site_that_does_not_answer_is_named_and_asked_again(site: Site) -> None:
    simulation = start()
    (chunk,) = chunks_take(simulation=simulation)
    chunk_run(chunk=chunk, transport=Silent())
    simulation.refresh_from_db()
    assert (simulation.state, simulation.problem) == ("running", "no answer")
    chunk_run(chunk=chunk, transport=site)
    simulation.refresh_from_db()
    assert (simulation.state, simulation.problem) == ("reported", "")


WITNESS_KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
WITNESS = VerifierKey("w.example", COSIGNATURE, WITNESS_KEY.public_key().public_bytes_raw())


@pytest.fixture
def _witnessed(settings: Any) -> None:
    policy = f"log {log_verifier_key().text}\nwitness w {WITNESS.text}\nquorum w\n"
    settings.LOG_POLICY = Policy.parse(policy.encode())


def witness_signs() -> None:
    newest = latest_checkpoint()
    assert newest is not None
    signature = cosign(
        Checkpoint.parse(newest.note.partition("\n\n")[0] + "\n"), WITNESS.name, WITNESS_KEY, time=1
    )
    Cosignature.objects.create(checkpoint=newest, witness=WITNESS.name, line=signature.line)


@pytest.mark.usefixtures("_witnessed")
def test_simulation_waits_for_the_witnesses_and_nothing_is_wrong_then(site: Site) -> None:
    simulation = start()
    with capture_logs() as logs:
        assert chunks_take(simulation=simulation) == []
        witness_signs()
        simulation = run(simulation, site)
    assert (simulation.state, simulation.done, simulation.problem) == ("reported", 40, "")
    assert [entry for entry in logs if entry["log_level"] != "info"] == []


@pytest.mark.usefixtures("_witnessed")
def test_late_witnesses_are_named_and_waited_for(site: Site) -> None:
    AskedWitness.objects.create(
        witness=WITNESS.name, failing_since=timezone.now(), last_error="it answered 503"
    )
    simulation = start()
    simulation.started_at -= LOG_PATIENCE
    simulation.save()
    (chunk,) = chunks_take(simulation=simulation)
    chunk_run(chunk=chunk, transport=site)
    simulation.refresh_from_db()
    assert (simulation.state, simulation.done) == ("running", 0)
    assert "the quorum w is not reached" in simulation.problem
    assert simulation.problem.endswith("; w: it answered 503")
    waits = DeviceChunk.objects.get().send_after
    assert waits is not None
    assert waits - timezone.now() <= LOG_WAIT
    witness_signs()
    chunk_run(chunk=chunk, transport=site)
    simulation.refresh_from_db()
    assert (simulation.state, simulation.done, simulation.problem) == ("reported", 40, "")


def test_devices_that_the_log_contradicts_never_report(site: Site) -> None:
    class Forging(Site):
        def exchange(self, method: str, target: str, **named: Any) -> Answer:
            answer = super().exchange(method, target, **named)
            return replace(answer, body=re.sub(rb"index \d", b"index 0", answer.body))

    entry_append(action=ACCESS_DENIED, subject="s", actor=None, details={})
    simulation = start()
    (chunk,) = chunks_take(simulation=simulation)
    chunk_run(chunk=chunk, transport=Forging())
    simulation.refresh_from_db()
    assert (simulation.state, simulation.done) == ("failed", 0)
    assert simulation.problem.startswith("the public log does not vouch for this recipe: the proof does not")
    assert Recipe.objects.get().status == Recipe.Status.CLOSED
    assert Release.objects.get().outcome == "withheld"
    chunk_run(chunk=chunk, transport=site)


def test_recipe_closed_by_hand_ends_the_simulation(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    small_chunks(monkeypatch)
    simulation = start()
    first, *others = chunks_take(simulation=simulation)
    chunk_run(chunk=first, transport=site)
    recipe_close(recipe=simulation.recipe, actor=None)
    for chunk in others:
        chunk_run(chunk=chunk, transport=site)
    simulation.refresh_from_db()
    assert simulation.state == "failed"
    assert "closed" in simulation.problem
    assert Release.objects.get().outcome == "withheld"
    assert not DeviceChunk.objects.exists()


def test_cancelled_simulation_is_withheld(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    small_chunks(monkeypatch)
    simulation = start()
    first, second, _ = chunks_take(simulation=simulation)
    chunk_run(chunk=first, transport=site)
    simulation_cancel(simulation=simulation, actor=None)
    chunk_run(chunk=second, transport=site)
    simulation = simulation_cancel(simulation=simulation, actor=None)
    assert (simulation.state, simulation.done) == ("cancelled", 15)
    assert (Release.objects.get().outcome, SimulatedTruth.objects.count()) == ("withheld", 0)
    assert chunks_take(simulation=simulation) == []
    assert outcome_of(simulation) is None


def test_devices_of_a_file_come_with_their_events(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    small_chunks(monkeypatch, 7)
    simulation = run(start({"kind": "events", "csv": CSV}), site)
    assert "csv" not in simulation.workload
    assert (simulation.devices, simulation.totals["devices"]) == (30, 30)
    assert SimulatedTruth.objects.get().values == [10]
    assert released(simulation).reports == 30
    assert cut(start({"kind": "flights"}, steps=31), site).devices == 3_148


def cut(simulation: Simulation, site: Site) -> Simulation:
    """As a worker reads its file."""
    (chunk,) = chunks_take(simulation=simulation)
    chunk_run(chunk=chunk, transport=site)
    simulation.refresh_from_db()
    return simulation


def test_file_is_read_by_a_worker_and_in_no_request(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(*_: object) -> None:
        raise AssertionError("a file is read in the request")

    with monkeypatch.context() as patch:
        patch.setattr(simulated_class(RecipeDraft.from_mapping(recipe_members())), "workload", read)
        patch.setattr(workloads, "flights", read)
        start({"kind": "events", "csv": CSV})
        start({"kind": "flights"}, steps=31)
    assert {(chunk.count, chunk.simulation.devices) for chunk in DeviceChunk.objects.all()} == {(0, 0)}


def test_file_that_is_read_twice_counts_once(site: Site) -> None:
    simulation = start({"kind": "events", "csv": CSV})
    assert planned_margin(simulation) is None
    (chunk,) = chunks_take(simulation=simulation)
    row = DeviceChunk.objects.select_related("simulation__recipe").get(pk=chunk)
    for _ in range(2):
        chunks._file_cut(row)
    assert run(simulation, site).totals["devices"] == 30


def test_file_that_is_refused_fails_the_simulation_and_says_where(site: Site) -> None:
    for csv, said in (
        ("", "workload.csv: is empty; line 1"),
        ("device,step,events\nd,9,1\n", "workload.csv: line 2, column 2"),
        ("device,step,events\nd\ud800,1,1\n", "workload.csv: line 2: must be UTF-8 text"),
        ("device,step,events\n", "workload.csv: the file must name at least one device"),
    ):
        simulation = cut(start({"kind": "events", "csv": csv}), site)
        assert (simulation.state, simulation.devices) == ("failed", 0)
        assert simulation.problem.startswith(said)
        assert Recipe.objects.get(pk=simulation.recipe_id).status == Recipe.Status.CLOSED


@pytest.mark.django_db(transaction=True)
def test_of_many_that_begin_at_once_no_more_are_in_line_than_may(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has counted those that run before any of the others is stored."""
    many, most = 8, 2
    monkeypatch.setattr(operations, "MOST_IN_LINE", most)
    counted, publish = threading.Barrier(many), operations.simulation_publish

    def late(**asked: Any) -> Simulation:
        counted.wait(PATIENCE)
        return publish(**asked)

    monkeypatch.setattr(operations, "simulation_publish", late)

    def begin(_: int) -> bool:
        try:
            start()
        except SimulationRefusedError:
            return False
        finally:
            connection.close()
        return True

    connection.close()  # there are no more than that
    with ThreadPoolExecutor(many) as threads:
        begun = list(threads.map(begin, range(many)))
    assert sum(begun) == Simulation.objects.filter(state="running").count() == most
    # What was refused left nothing.
    assert Recipe.objects.count() == most


REFUSED: list[tuple[Any, dict[str, Any], str, str]] = [
    ({"kind": "bernoulli", "devices": 0, "rate": 0.1}, {}, "workload.devices", "at least 1"),
    ({"kind": "bernoulli", "devices": 1_000_001, "rate": 0.1}, {}, "workload.devices", "1,000,000"),
    ({"kind": "bernoulli", "devices": 10, "rate": 1.1}, {}, "workload.rate", "at most 1"),
    ({"kind": "bernoulli", "devices": 10, "rate": True}, {}, "workload.rate", "must be"),
    ({"kind": "poisson", "devices": 10}, {}, "workload.rate", "is missing"),
    ({"kind": "poisson", "devices": 10, "rate": -1}, {}, "workload.rate", "at least 0"),
    ({"kind": "flights", "weights": [1]}, {"steps": 31}, "workload.weights", "no segments"),
    ({**BERNOULLI, "weights": [1]}, {"segments": ["a", "b"]}, "workload.weights", "2 numbers"),
    ({"kind": "flights", "devices": 5}, {"steps": 31}, "workload", "devices"),
    ({"kind": "flights"}, {}, "workload.kind", "31 steps"),
    ({"kind": "values", "csv": ""}, {}, "workload.kind", "must be one of"),
    ({"kind": [1]}, {}, "workload.kind", "must be one of"),
    ([], {}, "workload", "object"),
    ({"kind": "events", "csv": 5}, {}, "workload.csv", "device,step,events"),
    ({"kind": "events", "csv": "x" * (8 * 1024**2 + 1)}, {}, "workload.csv", "8,388,608"),
    ({"kind": "flights"}, {"trust": "two_server"}, "trust", "no helper is set up"),
    (BERNOULLI, {"epsilon": -1}, "epsilon", "must be"),
    *((BERNOULLI, {"seed": seed}, "seed", "") for seed in (-1, 2**53, 0.5, "7", True)),
    (
        {"kind": "bernoulli", "devices": 1_000_000, "rate": 0.1},
        {"statistic": "histogram", "k": 30, "encryption": "paillier-3072"},
        "workload.devices",
        "hours",
    ),
    # Events of devices that hardly ever report are a part of what a simulation takes.
    (
        {"kind": "bernoulli", "devices": 1_000_000, "rate": 1.0},
        {"steps": 100_000, "sampling_rate": 0.001},
        "workload.devices",
        "one worker would take",
    ),
]


def test_what_cannot_be_simulated_is_refused_by_field(settings: Any) -> None:
    for workload, changes, field, said in REFUSED:
        asked = {"seed": 7, **changes}
        seed = asked.pop("seed")
        with pytest.raises(FieldError) as refusal:
            simulation_start(members=recipe_members(**asked), workload=workload, seed=seed, actor=None)
        assert refusal.value.field == field
        assert said in refusal.value.message
    settings.SITE_URL = None
    with pytest.raises(SimulationRefusedError, match="PANAPP_SITE_URL"):
        start()
    assert not Recipe.objects.exists()


def test_crash_while_the_devices_are_stored_publishes_no_recipe(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would stay open for a day, without a device."""
    monkeypatch.setattr(DeviceChunk.objects, "bulk_create", raising(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        start()
    assert not Recipe.objects.exists()
    assert not Simulation.objects.exists()


def test_simulation_whose_workers_never_answer_fails_after_two_days() -> None:
    simulation = start()
    assert chunks_take(simulation=simulation)
    Simulation.objects.update(started_at=timezone.now() - 2 * SIMULATION_LIFETIME)
    simulation.refresh_from_db()
    assert chunks_take(simulation=simulation) == []
    simulation.refresh_from_db()
    assert simulation.state == "failed"
    assert Release.objects.get().outcome == "withheld"
