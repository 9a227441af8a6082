"""One running installation with a helper and a shuffler, and all that is cheap to ask of one that runs.

Starting its seven programs takes most of the time, so all of these share it. What starts the installation in
another way is beside; what takes long is marked `long`.
"""

import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db.models import Sum
from django.test import Client

from dap.models import BatchBucket, Side, Task
from devices_sim.forecast import FleetForecast
from devices_sim.workloads.bucket import ValueWorkload, Workload, listed
from devices_sim.workloads.events_file import events_csv
from devices_sim.workloads.values_file import values_csv
from panprivacy.device.rest_upload import RestUpload
from panprivacy.device.rounds_check import Turn
from panprivacy.device.transport import HttpTransport, WireReport
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.recipe.rounds.draft import RoundsDraft
from publishing.publication import recipe_close
from recipes.api import ServedRecipeSerializer
from recipes.models import Recipe
from recipes.planner.api import EXAMPLE
from results.models import Release, SimulatedTruth
from results.trust_models import collection_model_of
from series.models import RoundsDocument
from simulations.collect import series_simulation, steps
from simulations.collect.collection import CollectionResult, collection_run
from simulations.collect.rounds_collection import rounds_run
from simulations.installation.ports import HOST
from simulations.installation.services import Services, wait_until
from simulations.models import Simulation
from simulations.operations import simulation_start
from storage.columns import stored
from tests.factories import draft_recipe, fresh_nonce, published_recipe, recipe_members, report_of_values
from tests.panapp import crashes
from tests.panapp.scene import MEMBERS, SHUFFLE_HISTOGRAM, shuffled_members, values_file
from tests.patience import PATIENCE
from tests.processes import (
    collect,
    database_url,
    helper_rows,
    kill_helper,
    services_of_a_module,
    without_witnesses,
)

DEVICES = 40
STEPS = 4
SINGLE_SERVER = {"steps": STEPS, "cohort_size": DEVICES}
TWO_SERVERS = {"trust": "two_server", "cohort_size": 20}
"""The margin is at most 16: with 36 reports, and so with 40, there surely is a result."""

COUNTED = "SELECT sum(report_count) FROM dap_batchbucket WHERE task_id = dap_task.id"
OF_TASK = f"SELECT ({COUNTED}) FROM dap_task WHERE hex(task_id) = ?"

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.processes]


@dataclass(frozen=True)
class Installation:
    """Attributes:
    services: of the site, which is leader and analyzer.
    helper, shuffler: data directories of the partners.
    """

    services: Services
    helper: Path
    shuffler: Path


@pytest.fixture(scope="module")
def installation(
    django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Installation]:
    helper, shuffler = (tmp_path_factory.mktemp(name) for name in ("helper", "shuffler"))
    partners, environment = {"helper": helper, "shuffler": shuffler}, without_witnesses(helper)
    with (
        django_db_blocker.unblock(),
        services_of_a_module(partners=partners, environment=environment) as services,
    ):
        yield Installation(services, helper, shuffler)


@pytest.fixture
def command(
    installation: Installation,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Callable[..., Any]:
    """Runs a command with a file of these members on the running services; gives what it says."""
    for module in (steps, series_simulation):
        monkeypatch.setattr(module, "shared_installation", lambda **_: nullcontext(installation.services))

    def run(*arguments: str, members: dict[str, Any], **options: Any) -> Any:
        file = tmp_path / "file.json"
        file.write_text(json.dumps(members))
        call_command(*arguments, str(file), **options)
        return capsys.readouterr()

    return run


@pytest.fixture
def events(tmp_path: Path) -> Path:
    """40 devices; device d has d modulo 5 events."""
    rows = ["device,step,events"]
    for device in range(DEVICES):
        rows.append(f"d{device},1,{1 if device % 5 else 0}")
        rows += [f"d{device},{step},1" for step in range(2, device % 5 + 1)]
    path = tmp_path / "events.csv"
    path.write_text("\n".join(rows) + "\n")
    return path


def collect_events(installation: Installation, events: Path, **changes: Any) -> Any:
    """What `collect` prints of a collection of events."""
    with events_csv(events, STEPS) as workload:
        members = recipe_members(**{**SINGLE_SERVER, **changes})
        return collect(installation.services, members, workload).as_dict()


def test_collect_of_a_count_prints_one_object_with_every_member(
    command: Callable[..., Any], events: Path
) -> None:
    """The command, but for the services that it starts: test_collect.py."""
    members = recipe_members(**SINGLE_SERVER, epsilon=8.0)
    said = command("collect", members=members, events=events, seed=3, processes=1, json=True)
    (line,) = said.out.splitlines()
    result = json.loads(line)
    assert set(result) == MEMBERS
    assert (result["devices"], result["sampled"]) == (DEVICES, DEVICES)
    assert result["reports"] == {"accepted": DEVICES, "rejected": {}}
    assert (result["released"], result["reason"], result["truth"]) == (True, None, 32)
    assert set(result["interval"]) == {"level", "low", "high", "together"}
    assert result["interval"]["low"] <= round(result["estimate"]) <= result["interval"]["high"]
    assert set(result["seconds"]) == {"devices", "submit", "process", "total"}
    of_guarantees = {"model", "relation", "epsilon", "found_epsilon", "delta", "source", "assumption"}
    for guarantee in result["privacy"]:
        assert set(guarantee) == of_guarantees | {"dishonest_fraction"}
    recipe = Recipe.objects.get(identifier=result["recipe"])
    assert (recipe.status, recipe.simulation) == ("closed", True)


@pytest.mark.long
def test_collect_with_eager_devices_says_what_it_does_on_stderr(
    command: Callable[..., Any], events: Path
) -> None:
    members = recipe_members(**SINGLE_SERVER)
    said = command("collect", members=members, events=events, processes=1, eager=True)
    assert json.loads(said.out)["truth"] == 32
    assert "40 devices, 40 reports accepted" in said.err


@pytest.mark.long
def test_simulated_series_has_a_result_for_each_round_with_its_change(
    command: Callable[..., Any], tmp_path: Path
) -> None:
    """All 60 devices have the event in the first round, none in the second. At ε = 8 each interval fails to
    hold with 5% at most, but the seed makes this the same every time."""
    events = tmp_path / "events.csv"
    rows = (f"d{device},1,{int(number == 1)},{number}\n" for number in (1, 2) for device in range(60))
    events.write_text("device,step,events,round\n" + "".join(rows))
    members = recipe_members(epsilon=8.0, every="week", rounds=3)
    options = {"events": events, "rounds": 2, "seed": 1, "json": True}
    first, second = json.loads(command("series", "simulate", members=members, **options).out)
    assert (first["truth"], first["reports"]["accepted"], first["change"]) == (60, 60, None)
    change = second["change"]
    assert change["difference"] == pytest.approx(second["estimate"] - first["estimate"])
    assert second["truth"] == 0
    assert change["low"] <= -60 <= change["high"] < 0
    assert (change["level"], change["more_than_noise"]) == (0.95, True)


@pytest.mark.long
def test_simulated_series_says_what_changed_in_each_segment(
    command: Callable[..., Any], tmp_path: Path
) -> None:
    """Of two versions with 300 devices each, all of the second have the event from the second round on. At
    ε = 8 each interval fails to hold with 5% at most, but the seed makes this the same every time."""
    events = tmp_path / "events.csv"
    rows = (
        f"{version}{device},1,{int(version == 'b' and number > 1)},{version},{number}\n"
        for number in (1, 2, 3)
        for version in "ab"
        for device in range(300)
    )
    events.write_text("device,step,events,segment,round\n" + "".join(rows))
    members = recipe_members(epsilon=8.0, every="week", rounds=3, segments=["a", "b"], cohort_size=100)
    options = {"events": events, "rounds": 3, "seed": 1, "baseline": 1, "json": True}
    first, second, third = json.loads(command("series", "simulate", members=members, **options).out)
    assert (first["change"], first["change_since_baseline"]) == ([], [])
    for found in (second["change"], second["change_since_baseline"], third["change_since_baseline"]):
        assert [one["segment"] for one in found] == ["a", "b"]
        assert [one["more_than_noise"] for one in found] == [False, True]
        (low, high), (least, most) = (one["interval"] for one in found)
        assert low <= 0 <= high
        assert 0.5 < least <= 1 <= most
    assert [one["more_than_noise"] for one in third["change"]] == [False, False]


@pytest.mark.parametrize("trust", ["single_server", pytest.param("two_server", marks=pytest.mark.long)])
def test_collect_below_the_cohort_size_releases_nothing_and_says_why(
    installation: Installation, events: Path, trust: str
) -> None:
    result = collect_events(installation, events, cohort_size=DEVICES + 1, trust=trust)
    assert result["released"] is False
    assert f"cohort size of {DEVICES + 1}" in result["reason"]
    assert (result["estimate"], result["standard_error"], result["interval"]) == (None, None, None)
    assert result["reports"]["accepted"] == DEVICES


def test_collect_with_two_servers_gives_the_same_members_as_with_one(
    installation: Installation, events: Path
) -> None:
    result = collect_events(installation, events, **TWO_SERVERS, epsilon=8.0)
    assert set(result) == MEMBERS
    assert (result["devices"], result["sampled"]) == (DEVICES, DEVICES)
    assert result["reports"] == {"accepted": DEVICES, "rejected": {}}
    assert (result["released"], result["reason"], result["truth"]) == (True, None, 32)
    assert result["interval"]["low"] <= round(result["estimate"]) <= result["interval"]["high"]
    # The helper verified each of them in its own database. Its keys do not outlive the collection.
    asked = f"SELECT state, verify_key, share_key, ({COUNTED}) FROM dap_task WHERE hex(task_id) = ?"
    rows = helper_rows(installation.helper, asked, result["recipe"].upper())
    assert rows == [("ended", None, None, DEVICES)]


def test_collect_of_rounds_has_one_budget_and_says_what_came_of_each(
    command: Callable[..., Any], events: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is open for an hour, and none is waited for."""
    rounds = {"rounds": 2, "round_seconds": 3600, "public_input": True, "step_seconds": 1}
    members = recipe_members(**SINGLE_SERVER, epsilon=8.0, **rounds)
    clock = SimpleNamespace(monotonic=iter([0.0, 1234.5]).__next__)
    monkeypatch.setattr("simulations.management.commands.collect.time", clock)
    said = command("collect", members=members, events=events, seed=3, processes=1, json=True)
    result = json.loads(said.out)
    assert set(result) == MEMBERS | {"document", "rounds"}
    assert result["seconds"]["total"] == 1234.5, "of the whole command, as of one collection"
    signed = RoundsDocument.objects.get(identifier=result["document"])
    assert result["privacy"][0]["epsilon"] == signed.stated["privacy"][0]["epsilon"] > 8.0
    first, second = result["rounds"]
    assert set(first) == MEMBERS | {"number", "input"}
    assert (first["number"], second["number"], result["recipe"]) == (1, 2, second["recipe"])
    assert first["input"] != second["input"]
    for one in result["rounds"]:
        assert (one["released"], one["truth"], one["reports"]["accepted"]) == (True, 32, DEVICES)


@pytest.mark.long
def test_rounds_of_vectors_begin_from_the_input_that_devices_fetched(installation: Installation) -> None:
    """The sums are exact, the number of reports has noise: below 21 with a probability below 2e-8 at this
    cohort size. From 21 on, nine of the stated standard errors, times that number, are more than six of those
    of all reports, which are exceeded with a probability below 1e-8, by each of four numbers."""
    asked = {"statistic": "vector_mean", "dimension": 2, "bits": 4, "epsilon": 20.0, "delta": 1e-6}
    members = recipe_members(**asked, trust="two_server", cohort_size=5, steps=None, step_seconds=None)
    draft = RoundsDraft.from_mapping(members | {"rounds": 2, "round_seconds": 3600, "public_input": True})
    wanted = [0.0, 0.0]

    def workload(turn: Turn) -> ValueWorkload:
        fetched = stored(turn.input).content["wanted"]
        return ValueWorkload(listed((f"d{n}", ",".join(map(str, fetched))) for n in range(DEVICES)))

    results = rounds_run(
        draft=draft,
        workload=workload,
        input_of=lambda _: {"wanted": wanted},
        services=installation.services,
        seed=7,
        processes=1,
        say=lambda _: None,
    )
    for number, one in enumerate(results, start=1):
        told = one.collection.as_dict()
        assert (one.place.number, told["released"], told["reports"]["accepted"]) == (number, True, DEVICES)
        assert told["truth"] == pytest.approx(wanted)
        published = stored(one.collection.release.reports)
        for value, truth, error in zip(told["estimate"], wanted, told["standard_error"], strict=True):
            assert abs(value * published - truth * DEVICES) <= 9 * error * published
        wanted = [0.6, -0.6]
    # The helper heard what all rounds are, took part in each, and heard that each has ended.
    rounds = "SELECT number FROM helper_roundtask WHERE hex(rounds) = ? ORDER BY number"
    assert helper_rows(installation.helper, rounds, one.place.of.upper()) == [(1,), (2,)]
    ended = "SELECT count(*) FROM dap_task WHERE hex(task_id) = ? AND state = 'ended'"
    recipes = Recipe.objects.values_list("identifier", flat=True)
    asked_of = [helper_rows(installation.helper, ended, recipe.upper()) for recipe in recipes]
    assert asked_of == [[(1,)], [(1,)]]


def test_collect_of_values_goes_through_the_shuffler_to_a_release(
    installation: Installation, tmp_path: Path
) -> None:
    said: list[str] = []
    members = shuffled_members(SHUFFLE_HISTOGRAM)
    with values_workload(members, values_file(tmp_path, *[0, 0, 2] * 40)) as workload:
        each = collect(installation.services, members, workload, say=said.append).as_dict()

    # Those of 120 users, who send six each: what waits for the workers are not reports of anyone.
    waiting = [line for line in said if line.endswith(" waiting")]
    assert waiting
    assert all(line.endswith(" messages waiting") for line in waiting)

    assert set(each) == MEMBERS | {"error_bound", "confidence", "details"}
    assert each["details"] == {"stray_messages": 0}
    assert each["reports"] == {"accepted": 120, "rejected": {}}
    assert each["truth"] == [80, 0, 40]
    for value, truth, bound in zip(each["estimate"], each["truth"], each["error_bound"], strict=True):
        assert abs(value - truth) <= bound  # the same each time: the seed decides
    # Nothing is left of what was sent, once the result is out.
    assert {recipe.status for recipe in Recipe.objects.all()} == {"closed"}
    for table in ("shuffler_submission", "shuffler_submissionnonce", "shuffler_part"):
        assert helper_rows(installation.shuffler, f"SELECT count(*) FROM {table}") == [(0,)]


def values_workload(members: dict[str, Any], path: Path) -> AbstractContextManager[Workload[Any]]:
    value_of = RecipeDraft.from_mapping(members).calibrated_statistic().value_of
    return values_csv(path, lambda cells: value_of(*cells))


def interrupted(
    installation: Installation, members: dict[str, Any], workload: Workload[Any]
) -> list[FleetForecast]:
    """What a collection forewarned of that is interrupted when its devices have reported."""
    forewarned: list[FleetForecast] = []

    def interrupt(line: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        collection_run(
            members=members,
            workload=workload,
            services=installation.services,
            seed=7,
            eager=False,
            processes=1,
            say=interrupt,
            forewarn=forewarned.append,
        )
    recipe = Recipe.objects.get()
    assert (recipe.status, recipe.release.outcome) == ("closed", "withheld")
    assert recipe.release.reason == "the command that simulated it was interrupted"
    return forewarned


def test_interrupted_collect_is_withheld(installation: Installation, events: Path) -> None:
    with events_csv(events, STEPS) as workload:
        assert interrupted(installation, recipe_members(**SINGLE_SERVER), workload) == []


def test_collect_whose_interrupt_was_lost_is_withheld_before_a_release(
    installation: Installation, events: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python prints what is raised in a finalizer, and goes on."""

    def interrupted_before() -> None:
        if not Recipe.objects.filter(status="closed").exists():
            raise KeyboardInterrupt

    monkeypatch.setattr(installation.services, "_interrupted", interrupted_before)
    with events_csv(events, STEPS) as workload, pytest.raises(KeyboardInterrupt):
        collect(installation.services, recipe_members(**SINGLE_SERVER), workload)
    assert Recipe.objects.get().release.outcome == "withheld"


@pytest.mark.long
def test_interrupted_collect_is_withheld_and_the_shuffler_hears_of_it(
    installation: Installation, tmp_path: Path
) -> None:
    members = shuffled_members(SHUFFLE_HISTOGRAM)
    with values_workload(members, values_file(tmp_path, *[0, 1, 2] * 20)) as workload:
        forewarned = interrupted(installation, members, workload)
    assert [(forecast.users, forecast.messages) for forecast in forewarned] == [(60, 6)]
    recipe = Recipe.objects.get()
    assert collection_model_of(recipe).partner_must_hear(recipe) is False
    assert helper_rows(installation.shuffler, "SELECT count(*) FROM shuffler_submission") == [(0,)]


def test_the_form_registers_a_draft_of_two_servers_with_the_helper(installation: Installation) -> None:
    draft, services = draft_recipe(trust="two_server"), installation.services
    address, headers = f"{services.base_url}/recipes/drafts/{draft.pk}/publish/", signed_in()
    form = {"csrfmiddlewaretoken": TOKEN, "reviewed": draft.draft_hash}
    answer_to(address, {**headers, "Referer": address}, urllib.parse.urlencode(form).encode())
    recipe = Recipe.objects.get(pk=draft.pk)
    assert recipe.status == Recipe.Status.PUBLISHED
    assert recipe.published.servers.leader_url == f"{services.base_url}/leader"
    assert recipe.published.servers.helper_url == services.pairings["helper"].url
    assert ServedRecipeSerializer(recipe).data["helper_signature"] is not None
    asked = "SELECT state FROM dap_task WHERE hex(task_id) = ?"
    assert helper_rows(installation.helper, asked, str(recipe.identifier).upper()) == [("open",)]


TOKEN = "t" * 32


def signed_in() -> dict[str, str]:
    """Fields of requests of an account that may do all."""
    client = Client()
    client.force_login(User.objects.create_superuser("somebody"))
    session = client.cookies[settings.SESSION_COOKIE_NAME].value
    cookies = f"{settings.SESSION_COOKIE_NAME}={session}; {settings.CSRF_COOKIE_NAME}={TOKEN}"
    return {"Cookie": cookies, "X-CSRFToken": TOKEN}


def answer_to(
    address: str, headers: dict[str, str], content: bytes | None = None, patience: float = 0.0
) -> bytes:
    """Asked again so long if the answer is 503: what it needs is being computed."""
    request = urllib.request.Request(address, data=content, headers=headers)  # noqa: S310  # ourselves
    ends = time.monotonic() + patience
    while True:
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:  # noqa: S310  # ourselves
                read: bytes = answer.read()
            return read
        except urllib.error.HTTPError as error:
            if error.code != 503 or time.monotonic() > ends:
                raise
        time.sleep(0.5)


@pytest.mark.long
def test_plan_begun_by_the_web_server_is_finished_by_a_worker(installation: Installation) -> None:
    # The whole run shares the results: a question that no other test asks.
    question = json.dumps({**EXAMPLE, "population_size": 11_000}).encode()
    address = f"{installation.services.base_url}/api/v1/plan"

    def solved() -> bool:
        answer = json.loads(answer_to(address, {"Content-Type": "application/json"}, question))
        return answer["guarantees"] is not None and answer["solution"]["found"]

    # Guarantees are always a task's, which a free worker may end while the request waits.
    assert wait_until(solved, PATIENCE, interval=1)


def test_the_same_batch_posted_many_times_at_once_counts_once(installation: Installation) -> None:
    recipe = published_recipe()
    encrypted = [tuple(report_of_values(recipe, [1])["ciphertexts"]) for _ in range(100)]
    reports = [WireReport(fresh_nonce(), ciphertexts) for ciphertexts in encrypted]
    orders = [reports, reports[::-1], reports[50:] + reports[:50], reports]

    def post(batch: list[WireReport]) -> int:
        with HttpTransport(installation.services.base_url) as transport:
            return RestUpload(str(recipe.identifier), transport).submit_batch(batch).accepted

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(post, orders * 2)) == len(reports)
    recipe_close(recipe=recipe, actor=None)
    assert wait_until(lambda: Release.objects.exists(), PATIENCE)
    assert Release.objects.get().reports == len(reports)


@pytest.mark.parametrize("whole_worker", [False, pytest.param(True, marks=pytest.mark.long)])
def test_worker_killed_in_mid_chunk_changes_nothing_in_the_result(
    installation: Installation, whole_worker: bool
) -> None:
    """Its child, or all of it: the services start it again."""
    crashes.kill_in_mid_chunk(installation.services, whole_worker=whole_worker)


@pytest.mark.parametrize(
    ("members", "workload"),
    [
        (recipe_members(cohort_size=DEVICES), {"kind": "poisson", "devices": 60, "rate": 0.2}),
        pytest.param(
            recipe_members(**TWO_SERVERS),
            {"kind": "bernoulli", "devices": 60, "rate": 0.2},
            marks=pytest.mark.long,
        ),
        pytest.param(
            shuffled_members(SHUFFLE_HISTOGRAM),
            {"kind": "values", "csv": "device,value\n" + "".join(f"d{n},{n % 3}\n" for n in range(125))},
            marks=pytest.mark.long,
        ),
    ],
    ids=["single_server", "two_server", "shuffler"],
)
def test_workers_simulate_the_devices_of_every_trust_model_that_has_any(
    installation: Installation, members: dict[str, Any], workload: dict[str, Any]
) -> None:
    headers = {**signed_in(), "Content-Type": "application/json"}
    simulations = f"{installation.services.base_url}/api/v1/simulations/"
    public = "trust" in members or workload["kind"] == "values"  # other servers keep logs of their own
    asked = json.dumps({"recipe": members, "workload": workload, "seed": 7, "public": public}).encode()
    started = json.loads(answer_to(simulations, headers, asked, PATIENCE))

    def simulated() -> Any:
        return json.loads(answer_to(f"{simulations}{started['id']}/", headers))

    assert wait_until(lambda: simulated()["state"] not in {"waiting", "running", "summing"}, PATIENCE)
    ended = simulated()
    assert (ended["state"], ended["done"]) == ("finished", ended["devices"])
    result = ended["result"]
    # A shuffler takes as many users as it mixes; the five who came later are rejected.
    late = 5 if workload["kind"] == "values" else 0
    assert result["reports"]["accepted"] == ended["devices"] - late
    assert result["reports"]["rejected"] == ({"batch_full": late} if late else {})
    assert result["released"]
    assert set(result) >= MEMBERS


def answers(services: Services) -> bool:
    with closing(socket.socket()) as own:
        return own.connect_ex((HOST, urllib.parse.urlsplit(services.pairings["helper"].url).port)) == 0


def sums_of(result: CollectionResult) -> list[float]:
    """The exact sums behind a result, up to a factor: without what its number of reports, and so the noise in
    it, takes away."""
    statistic: Any = result.recipe.published.calibrated_statistic
    nothing = [0] * len(result.release.values)
    of_none = statistic.estimate(nothing, stored(result.release.reports)).values
    return [value - less for value, less in zip(result.release.values, of_none, strict=True)]


@pytest.mark.long
def test_helper_killed_in_the_middle_changes_nothing_in_the_result(
    installation: Installation, events: Path
) -> None:
    services = installation.services
    members = recipe_members(**TWO_SERVERS, statistic="histogram", k=3, epsilon=4.0, steps=STEPS)

    def collected(say: Any = lambda _: None) -> CollectionResult:
        with events_csv(events, STEPS) as workload:
            return collect(services, members, workload, say=say)

    undisturbed = collected()
    killed = []

    def kill(line: str) -> None:
        """At every step forward: when devices have reported, and while both sides verify and collect."""
        before = services.pid("helper")
        kill_helper(services)
        killed.append(line)
        # Not the same process again, which is dead already. The simulation gives up within seconds where a
        # device waits, and a busy machine takes longer to start another.
        assert wait_until(lambda: services.pid("helper") != before and answers(services), PATIENCE)

    disturbed = collected(say=kill)
    assert len(killed) >= 2
    # The same seed, so the same coins: a report lost or counted twice would show.
    assert sums_of(disturbed) == pytest.approx(sums_of(undisturbed))
    assert disturbed.rejected == undisturbed.rejected == {}
    ours = [
        BatchBucket.objects.filter(task=task).aggregate(n=Sum("report_count"))["n"]
        for task in Task.objects.filter(side=Side.LEADER)
    ]
    assert ours == [DEVICES, DEVICES]
    # The process that came back has the address and the database of the one that was killed.
    for result in (undisturbed, disturbed):
        task = str(result.recipe.identifier).upper()
        assert helper_rows(installation.helper, OF_TASK, task) == [(DEVICES,)]


@pytest.mark.long
def test_workers_killed_while_they_simulate_lose_and_repeat_no_device(
    installation: Installation, settings: Any
) -> None:
    settings.SITE_URL = installation.services.base_url
    devices = 6_000
    simulation = simulation_start(
        members=recipe_members(statistic="histogram", k=9, cohort_size=1_000),
        workload={"kind": "bernoulli", "devices": devices, "rate": 0.3},
        seed=7,
        actor=None,
    )
    for kill in range(3):
        simulation.refresh_from_db()
        done = simulation.done
        # Of the second or more that a chunk takes: the worker has it in hand, and is not done.
        victim = crashes.busy_child(installation.services, 0.3)
        for process in (victim, victim.parent()):
            process.kill()
        assert done < devices, f"kill {kill} came too late to say anything"
        # The services start the worker again.
        assert wait_until(lambda: Simulation.objects.get().done > done, PATIENCE)  # noqa: B023  # called before the next round
    assert wait_until(lambda: Release.objects.exists(), PATIENCE)
    simulation.refresh_from_db()
    release, truth = Release.objects.get(), SimulatedTruth.objects.get()
    assert (simulation.done, truth.devices, truth.sampled) == (devices, devices, devices)
    assert (simulation.totals["accepted"], simulation.totals["rejected"]) == (devices, {})
    assert release.reports == devices
    assert sum(truth.values) == devices


@pytest.mark.long
def test_worked_example_of_the_docs_prints_what_it_promises(
    installation: Installation, tmp_path: Path
) -> None:
    """Of docs/tasks.md, given as it stands there. The interval is closed once it is collected."""
    text = (settings.BASE_DIR / "docs" / "tasks.md").read_text()
    (example,) = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    create, report, gather = (
        line.replace(".venv/bin/python", sys.executable).replace("task.json", str(tmp_path / "task.json"))
        for line in example.splitlines()
    )
    environment = {**os.environ, **installation.services.pairings["helper"].site_variables()}
    environment |= {"DATABASE_URL": database_url(), "PANAPP_DATA_DIR": str(settings.DATA_DIR)}

    def run(command: str) -> str:
        shell, options = ["bash", "-c", command], {"cwd": settings.BASE_DIR, "env": environment}
        done = subprocess.run(shell, **options, capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    if time.time() % 3_600 > 3_540:
        time.sleep(61)  # all of it within one hour
    run(create)
    assert json.loads(run(report)) == ["taken"] * 4
    printed = json.loads(run(gather))
    assert (printed["report_count"], printed["values"]) == (4, [1, 2, 0, 1])
    assert printed["interval"]["duration"] == 3_600
    promised = re.findall(r'"(\w+)":', text.split("prints it:")[1].split("Exit code")[0])
    assert set(promised) <= {*printed, *printed["interval"], *printed["rejections"]}
    assert json.loads(run(report)) == ["report_replayed"] * 4
    (listed,) = json.loads(run(f"{sys.executable} manage.py task list"))
    assert listed["rejections"]["leader"] == {"batch_collected": 4}
