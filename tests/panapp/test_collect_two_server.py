"""`collect` with two servers: real processes on both sides, and the helper killed in the middle of it."""

import json
import os
import socket
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.db.models import Sum

from dap.models import BatchBucket, Side, Task
from devices_sim.workloads.events_file import events_csv
from panapp.collection import CollectionResult
from panapp.ports import HOST
from panapp.services import Services, wait_until
from tests.factories import recipe_members
from tests.panapp.scene import MEMBERS
from tests.patience import PATIENCE
from tests.processes import collect, database_url, helper_rows, kill_helper, services_on_test_database

ROOT = Path(__file__).resolve().parents[2]
DEVICES = 120
STEPS = 4

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.processes, pytest.mark.long]


@pytest.fixture
def events(tmp_path: Path) -> Path:
    """120 devices; device d has d modulo 5 events."""
    rows = ["device,step,events"]
    for device in range(DEVICES):
        rows.append(f"d{device},1,{1 if device % 5 else 0}")
        rows += [f"d{device},{step},1" for step in range(2, device % 5 + 1)]
    path = tmp_path / "events.csv"
    path.write_text("\n".join(rows) + "\n")
    return path


def members(**changes: Any) -> dict[str, Any]:
    return recipe_members(trust="two_server", steps=STEPS, epsilon=4.0, cohort_size=DEVICES, **changes)


def collect_histogram(services: Services, events: Path, say: Any = lambda _: None) -> CollectionResult:
    with events_csv(events, STEPS) as workload:
        return collect(services, members(statistic="histogram", k=3), workload, say=say)


def command(
    events: Path, recipe: dict[str, Any], data: Path, *options: str
) -> "subprocess.CompletedProcess[str]":
    file = data.parent / "recipe.json"
    file.write_text(json.dumps(recipe))
    return subprocess.run(
        [sys.executable, "manage.py", "collect", str(file), "--events", str(events), "--json", *options],
        cwd=ROOT,
        env={**os.environ, "DATABASE_URL": database_url(), "PANAPP_DATA_DIR": str(data)},
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE,
        check=False,
    )


def test_collect_with_two_servers_prints_the_same_members_as_with_one(tmp_path: Path, events: Path) -> None:
    """With the other scheme than in test_installation.py."""
    done = command(events, members(encryption="paillier-2048"), tmp_path / "data", "--seed", "3")
    assert done.returncode == 0, done.stderr
    (line,) = done.stdout.splitlines()
    result = json.loads(line)
    assert set(result) == MEMBERS
    assert (result["devices"], result["sampled"]) == (DEVICES, DEVICES)
    assert result["reports"] == {"accepted": DEVICES, "rejected": {}}
    assert (result["released"], result["reason"], result["truth"]) == (True, None, 96)
    assert result["interval"]["low"] < result["estimate"] < result["interval"]["high"]
    # The helper verified each of them itself, in a database of its own.
    helper = tmp_path / "data" / "helper"
    assert helper_rows(helper, "SELECT sum(report_count) FROM dap_batchbucket") == [(DEVICES,)]
    # And it has heard of the end: its keys do not outlive the command.
    rows = helper_rows(helper, "SELECT hex(task_id), state, verify_key, share_key FROM dap_task")
    assert rows == [(result["recipe"].upper(), "ended", None, None)]


def answers(services: Services) -> bool:
    with closing(socket.socket()) as own:
        return own.connect_ex((HOST, urlsplit(services.pairings["helper"].url).port)) == 0


def test_helper_killed_in_the_middle_changes_nothing_in_the_result(tmp_path: Path, events: Path) -> None:
    with services_on_test_database(partners={"helper": tmp_path / "helper"}) as services:
        undisturbed = collect_histogram(services, events)
        killed = []

        def kill(line: str) -> None:
            """At every step forward: when devices have reported, and while both sides verify and collect."""
            before = services.pid("helper")
            kill_helper(services)
            killed.append(line)
            # Not the same process again, which is dead already. The simulation gives up within seconds where
            # a device waits, and a busy machine takes longer to start another.
            assert wait_until(lambda: services.pid("helper") != before and answers(services), PATIENCE)

        disturbed = collect_histogram(services, events, say=kill)
    assert len(killed) >= 2
    # The same seed, so the same coins: a report lost or counted twice would show.
    assert disturbed.release.values == undisturbed.release.values
    assert disturbed.release.reports == undisturbed.release.reports == DEVICES
    assert disturbed.rejected == undisturbed.rejected == {}
    ours = [
        BatchBucket.objects.filter(task=task).aggregate(n=Sum("report_count"))["n"]
        for task in Task.objects.filter(side=Side.LEADER).order_by("pk")
    ]
    theirs = helper_rows(
        tmp_path / "helper",
        "SELECT sum(report_count) FROM dap_batchbucket GROUP BY task_id ORDER BY task_id",
    )
    assert ours == [DEVICES, DEVICES]
    # The process that came back has the address and the database of the one before, with tables of its own.
    assert theirs == [(DEVICES,), (DEVICES,)]
    apps = {app for (app,) in helper_rows(tmp_path / "helper", "SELECT DISTINCT app FROM django_migrations")}
    assert {"audit", "dap"} <= apps
    assert "recipes" not in apps
