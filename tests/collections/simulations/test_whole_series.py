"""The simulation of a whole series: round by round, private by default, and no budget is spent."""

import itertools
import json
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from devices_sim.workloads.segments import SegmentedDevice
from devices_sim.workloads.synthetic import ShareBucket
from ledger.models import Spending
from log.audit.models import Entry
from notifications.rules import subject_of
from panprivacy.formats.errors import FieldError
from recipes.errors import PartnerUnavailableError
from results.models import SimulatedTruth
from series.models import Round, Series
from series.operations import rounds_advance, series_mark
from simulations import series_simulations
from simulations.deletion import series_simulation_delete, simulation_delete
from simulations.errors import SimulationRefusedError
from simulations.models import SeriesSimulation, Simulation
from simulations.operations import simulation_cancel
from simulations.selectors import MOST_AT_ONCE, Stage, series_progress_of
from simulations.series_simulations import (
    MOST_ROUNDS,
    series_simulation_advance,
    series_simulation_cancel,
    series_simulation_start,
)
from simulations.tasks import advance_simulated_series
from tests.collections.simulations.scene import Site, released, run, start
from tests.collections.simulations.test_private import rows
from tests.factories import recipe_members
from tests.page_text import page_text
from tests.scenes import account, analyst

pytestmark = pytest.mark.django_db

VERSIONS = ["2.0", "2.1"]
MEMBERS = recipe_members(segments=VERSIONS, every="week", rounds=3, epsilon=8.0)
WORKLOAD = {"devices": 60, "shares": [0.1], "rises": {"segment": "2.1", "points": 80}}


def simulated(public: bool = False, **changes: Any) -> SeriesSimulation:
    return series_simulation_start(
        members={**MEMBERS, **changes}, workload=WORKLOAD, seed=7, actor=None, public=public
    )


def round_ended(simulation: SeriesSimulation) -> Simulation:
    """Its last round so far, brought to its result; then what workers do next."""
    last = Simulation.objects.filter(recipe__round__series=simulation.series)[0]
    released(run(last, Site()))
    advance_simulated_series()
    simulation.refresh_from_db()
    return last


def finished(**changes: Any) -> SeriesSimulation:
    simulation = simulated(**changes)
    while simulation.state == SeriesSimulation.State.RUNNING:
        round_ended(simulation)
    return simulation


def test_rounds_follow_each_other_to_the_last_which_opens_now() -> None:
    simulation = simulated()
    assert simulation.series.rounds.count() == 1
    advance_simulated_series()  # the first has no result yet
    assert simulation.series.rounds.count() == 1
    round_ended(simulation)
    assert series_progress_of(simulation, timezone.now()).done == 1
    round_ended(simulation)
    round_ended(simulation)
    progress = series_progress_of(simulation, timezone.now())
    assert (progress.stage, progress.done, progress.rounds) == (Stage.FINISHED, 3, 3)
    rounds = list(simulation.series.rounds.all())
    assert [(b.opens_at - a.opens_at).days for a, b in itertools.pairwise(rounds)] == [7, 7]
    assert abs((timezone.now() - rounds[-1].opens_at).total_seconds()) < 60
    assert not Spending.objects.exists()
    rounds_advance()
    assert simulation.series.rounds.count() == 3


def test_one_segment_changes_in_the_last_round_alone() -> None:
    simulation = finished()
    truths = [SimulatedTruth.objects.get(recipe=one.recipe).values for one in simulation.series.rounds.all()]
    assert [round(values[0]) for values in truths] == [6, 6, 30]
    page = page_text(_analyst().get(reverse("series", args=[simulation.series.identifier])))
    assert "2.1</bdi> is up by" in page


def test_share_of_devices_with_the_event_is_exact_in_each_segment() -> None:
    bucket = ShareBucket("7", 0, 2_000, 7, ("a", "b"), (0.05, 0.333))
    devices: list[SegmentedDevice] = [given for _, given in bucket]
    counted = [sum(bool(one.steps) for one in devices if one.segment == label) for label in ("a", "b")]
    assert counted == [50, 333]
    # However it is cut.
    parts = [
        given for first in (0, 700) for _, given in ShareBucket("7", first, 700, 7, ("a", "b"), (0.05, 0.333))
    ]
    assert parts == devices[:1400]


def test_a_private_one_is_nothing_to_others() -> None:
    simulation = finished(name="Kestrel", question="Did the Kestrel crash?")
    series = simulation.series.identifier
    stranger = Client()
    for address in (
        reverse("series", args=[series]),
        f"/api/v1/series/{series}/",
        f"/api/v1/recipes/{simulation.series.rounds.get(number=1).recipe.identifier}/series/",
        f"/feed/?series={series}",
    ):
        assert stranger.get(address).status_code == 404, address
    for address in ("/", "/series/", "/api/v1/series/", "/log/"):
        content = stranger.get(address).content.decode()
        assert "Kestrel" not in content
        assert series not in content
    assert "Kestrel" not in json.dumps(list(Entry.objects.values("subject", "details")))
    assert "Kestrel" in page_text(_analyst().get("/series/"))
    with pytest.raises(Exception, match="private"):
        series_mark(series=simulation.series, at=timezone.now(), note="a mark is public", actor=None)


def test_a_public_one_is_listed_as_a_simulation_with_one_entry() -> None:
    simulation = simulated(public=True)
    (entry,) = Entry.objects.filter(action="series_published")
    assert (entry.subject, entry.details["simulation"]) == (simulation.series.subject, True)
    (listed,) = Client().get("/api/v1/series/").json()["results"]
    assert (listed["id"], listed["simulation"]) == (simulation.series.identifier, True)
    assert Client().get(reverse("series", args=[simulation.series.identifier])).status_code == 200
    with pytest.raises(SimulationRefusedError, match="public"):
        series_simulation_delete(simulation=simulation, actor=None)


def test_cancelled_ends_its_round_and_begins_no_other() -> None:
    simulation = simulated()
    series_simulation_cancel(simulation=simulation, actor=None)
    assert Simulation.objects.get().state == Simulation.State.CANCELLED
    advance_simulated_series()
    assert Round.objects.count() == 1
    assert series_simulation_cancel(simulation=simulation, actor=None).state == "cancelled"
    other = simulated()
    simulation_cancel(simulation=Simulation.objects.get(recipe__round__series=other.series), actor=None)
    advance_simulated_series()
    other.refresh_from_db()
    assert other.state == SeriesSimulation.State.CANCELLED
    with pytest.raises(SimulationRefusedError, match="ended"):
        series_simulation_cancel(simulation=finished(), actor=None)


@pytest.mark.parametrize("how", ["cancelled", "failed"])
def test_series_whose_simulation_ended_takes_no_rule(how: str) -> None:
    simulation, client = simulated(public=True), _analyst()
    page = reverse("series", args=[simulation.series.identifier])
    assert "Alert me" in page_text(client.get(page))
    round_ended(simulation)
    if how == "cancelled":
        series_simulation_cancel(simulation=simulation, actor=None)
    else:
        last = Simulation.objects.filter(recipe__round__series=simulation.series)[0]
        simulation_cancel(simulation=last, actor=None)
        Simulation.objects.filter(pk=last.pk).update(state=Simulation.State.FAILED)
        advance_simulated_series()
    simulation.refresh_from_db()
    assert (simulation.state, simulation.series.stopped_at) == (how, simulation.ended_at)
    assert "Alert me" not in page_text(client.get(page))
    with pytest.raises(FieldError, match="has all of its results"):
        subject_of(series=simulation.series.identifier)


def test_round_that_another_worker_or_a_cancel_overtakes_is_not_begun(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    simulation = simulated()
    released(run(Simulation.objects.get(), Site()))
    stale = SeriesSimulation.objects.get()
    SeriesSimulation.objects.update(state=SeriesSimulation.State.CANCELLED)
    series_simulations._begin(stale, 2, timezone.now())
    assert Round.objects.count() == 1
    SeriesSimulation.objects.update(state=SeriesSimulation.State.RUNNING)
    series_simulation_advance(simulation=stale)
    series_simulations._begin(stale, 2, timezone.now())
    assert (Round.objects.count(), Simulation.objects.count()) == (2, 2)
    assert simulation.series.rounds.count() == 2


def test_what_fails_for_now_is_tried_again_later(monkeypatch: pytest.MonkeyPatch) -> None:
    simulation = simulated()

    def silent(**_: Any) -> None:
        raise PartnerUnavailableError("the helper does not answer")

    with monkeypatch.context() as patched:
        patched.setattr(series_simulations, "simulation_publish", silent)
        round_ended(simulation)
    progress = series_progress_of(simulation, timezone.now())
    assert (progress.stage, progress.problem) == (Stage.RUNNING, "the helper does not answer")
    advance_simulated_series()
    assert Round.objects.count() == 1
    SeriesSimulation.objects.update(retry_at=timezone.now())
    advance_simulated_series()
    simulation.refresh_from_db()
    assert (Round.objects.count(), simulation.problem, simulation.failures) == (2, "", 0)


def test_time_left_never_rises_while_a_round_runs() -> None:
    simulation, begun = simulated(), timezone.now() - timedelta(hours=1)
    SeriesSimulation.objects.update(started_at=begun)
    assert series_progress_of(SeriesSimulation.objects.get(), timezone.now()).seconds_left is None
    round_ended(simulation)
    Simulation.objects.update(started_at=begun)
    second = Simulation.objects.filter(recipe__round__series=simulation.series, state="running")
    second.update(started_at=begun + timedelta(seconds=100), begun_at=begun + timedelta(seconds=101))
    left = []
    for devices, seconds in ((0, 110), (15, 150), (30, 300), (60, 320), (60, 400)):
        second.update(done=devices)
        progress = series_progress_of(simulation, begun + timedelta(seconds=seconds))
        left.append(progress.seconds_left)
    assert left == [200, 175, 150, 100, 100]


def test_series_that_began_meanwhile_count_towards_the_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(series_simulations, "MOST_IN_LINE", 2)
    publish, burst = series_simulations.simulation_publish, iter(range(2))

    def others_first(**members: Any) -> Simulation:
        for _ in burst:
            simulated()
        return publish(**members)

    monkeypatch.setattr(series_simulations, "simulation_publish", others_first)
    with pytest.raises(SimulationRefusedError, match="2 series are simulated already"):
        simulated()
    assert (Series.objects.count(), Simulation.objects.count()) == (2, 2)


def test_each_round_waits_in_line_as_one_simulation() -> None:
    for _ in range(MOST_AT_ONCE):
        start()
    progress = series_progress_of(simulated(), timezone.now())
    assert (progress.stage, progress.ahead) == (Stage.WAITING, MOST_AT_ONCE)


def test_delete_leaves_no_row_of_the_series(django_capture_on_commit_callbacks: Any) -> None:
    for make in (finished, simulated):
        # What a worker computed of the guarantees stays, and has no names.
        before = rows()
        with django_capture_on_commit_callbacks(execute=True):
            simulation = make()
            own = Simulation.objects.filter(recipe__round__series=simulation.series)[0]
            with pytest.raises(SimulationRefusedError, match="as a whole"):
                simulation_delete(simulation=own, actor=None)
            series_simulation_delete(simulation=simulation, actor=None)
            with pytest.raises(SimulationRefusedError, match="deleted already"):
                series_simulation_delete(simulation=simulation, actor=None)
        assert rows() | {"answers.Question": set()} == before | {"answers.Question": set()}


@pytest.mark.parametrize(
    ("changes", "workload", "refusal"),
    [
        ({"rounds": MOST_ROUNDS + 1}, {}, "rounds: must give at most 20"),
        ({"every": None}, {}, "every: is missing"),
        ({}, {"devices": 0}, "workload.devices: "),
        ({}, {"devices": 1_000_000, "shares": [0.5], "x": 1}, 'workload: cannot have "x"'),
        ({}, {"shares": [1.5]}, "workload.shares: .* 1"),
        ({}, {"shares": [0.1, 0.1, 0.1]}, "workload.shares: must be a list of one number, or 2"),
        ({}, {"rises": {"segment": "3", "points": 1}}, "workload.rises.segment: must be one of 2.0, 2.1"),
        ({}, {"rises": {"segment": "2.1", "points": 95}}, "workload.rises.points: must be -10 to 90"),
        ({}, {"rises": {"points": 1}}, "workload.rises.segment: is missing"),
        ({"segments": None}, {}, 'workload.rises: cannot have "segment"'),
        (
            {"rounds": 20, "encryption": "paillier-3072"},
            {"devices": 10**6},
            "workload.devices: must be at most [0-9,]+ in each of 20 rounds",
        ),
    ],
)
def test_what_cannot_be_is_refused_by_its_field(
    changes: dict[str, Any], workload: dict[str, Any], refusal: str
) -> None:
    members = {name: value for name, value in (MEMBERS | changes).items() if value is not None}
    with pytest.raises(FieldError, match=f"^{refusal}"):
        series_simulation_start(members=members, workload={**WORKLOAD, **workload}, seed=None, actor=None)
    assert not Series.objects.exists()


def _analyst() -> Client:
    client = Client()
    client.force_login(analyst())
    return client


def test_api_starts_follows_cancels_and_deletes_one() -> None:
    client, other = _analyst(), Client()
    other.force_login(account("otto", "Analysts"))
    body = {"series": MEMBERS, "workload": WORKLOAD, "seed": 7}
    answer = client.post("/api/v1/simulations/series/", body, content_type="application/json")
    assert answer.status_code == 202
    address = answer.headers["Location"]
    told = client.get(address).json()
    assert told == answer.json()
    assert told == {
        "series": Series.objects.get().identifier,
        "public": False,
        "state": "running",
        "rounds": 3,
        "done": 0,
        "seconds_left": None,
        "problem": None,
    }
    assert client.delete(address).json()["state"] == "cancelled"
    assert (other.post(f"{address}delete/").status_code, client.post(f"{address}delete/").status_code) == (
        403,
        204,
    )
    assert client.get(address).status_code == 404
    body["series"] = {**MEMBERS, "rounds": 0}
    refused = client.post("/api/v1/simulations/series/", body, content_type="application/json")
    assert refused.status_code == 400
    assert "rounds" in refused.content.decode()
