"""Commands that need servers on one data directory: one installation runs there at a time."""

import fcntl
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from django.contrib.staticfiles.storage import ManifestStaticFilesStorage
from django.test import override_settings

from simulations.installation import shared_installation as module
from simulations.installation.services import ServiceError, Services
from simulations.installation.shared_installation import LOCK, Holder, shared_installation
from tests.factories import recipe_members
from tests.patience import PATIENCE
from web import static_files

ROOT = Path(__file__).resolve().parents[2]
OWN_URL = "http://127.0.0.1:1"


class Scene:
    """A data directory, what another process has in its lock's file, and what the command is told."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.warnings: list[str] = []
        self.lock = (data / LOCK).open("w")

    def held(self, **changes: Any) -> Holder:
        """By another process; of another open file, as flock knows no processes."""
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        return self.written(**changes)

    def written(self, **changes: Any) -> Holder:
        holder = Holder(
            **{"command": "manage.py other", "process": 12, "database": module._database(), **changes}
        )
        (self.data / LOCK).write_text(json.dumps(asdict(holder)))
        return holder

    def ended(self) -> None:
        fcntl.flock(self.lock, fcntl.LOCK_UN)

    def share(self, **options: Any) -> Any:
        return shared_installation(partners=[], warn=self.warnings.append, **options)


@pytest.fixture
def scene(tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    """Where servers that are asked for would be at OWN_URL, and those of others answer."""

    @contextmanager
    def running_services(**_: Any) -> Iterator[Services]:
        yield Services(OWN_URL, None)

    settings.DATA_DIR = tmp_path
    monkeypatch.setattr(module, "running_services", running_services)
    monkeypatch.setattr(module, "require_migrated_database", lambda: None)
    monkeypatch.setattr(module, "answers", lambda _: True)
    made = Scene(tmp_path)
    with made.lock:
        yield made


@pytest.mark.parametrize("lasts", [False, True])
def test_command_waits_for_an_installation_that_ends_by_itself_and_says_so(
    scene: Scene, lasts: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.held()
    waits = iter([lambda: None, scene.ended])
    monkeypatch.setattr(module.time, "sleep", lambda _: next(waits)())
    with scene.share(lasts=lasts) as services:
        assert services.base_url == OWN_URL
        ports = json.loads((scene.data / LOCK).read_text())["ports"]
        assert ports == ({"site": 1} if lasts else {})
    assert scene.warnings == [
        f"waiting for `manage.py other` (process 12), which runs on {scene.data}",
        f"starting its own servers, with the data in {scene.data}",
    ]


def test_command_uses_an_installation_until_that_or_another_runs(scene: Scene) -> None:
    ports = {"site": 8000, "helper": 8001}
    scene.held(ports=ports)
    with scene.share() as services:
        assert services.base_url == "http://127.0.0.1:8000"
        assert services.pairings["helper"].url == "http://127.0.0.1:8001/helper"
        assert set(services.log_policy.witnesses) == {"helper"}
        services.check()
        scene.written(ports=ports, process=13)
        with pytest.raises(ServiceError, match="has ended"):
            services.check()
        scene.written(ports=ports)
        services.check()
        scene.ended()
        with pytest.raises(ServiceError, match=r"process 12\) has ended"):
            services.check()
    (said,) = scene.warnings
    assert said == "using the servers of `manage.py other` (process 12) at http://127.0.0.1:8000"


def test_what_a_killed_command_left_holds_no_command_up(scene: Scene) -> None:
    scene.written(ports={"site": 8000})
    with scene.share() as services:
        assert services.base_url == OWN_URL
    assert scene.warnings == [f"starting its own servers, with the data in {scene.data}"]


@pytest.mark.parametrize(("lasts", "database"), [(True, None), (False, "elsewhere:5432/panapp")])
def test_second_dashboard_and_another_database_are_refused_at_once(
    scene: Scene, lasts: bool, database: str | None
) -> None:
    scene.held(ports={"site": 8000}, **({"database": database} if database else {}))
    with pytest.raises(ServiceError, match=r"process 12\) runs on .* data directory with PANAPP_DATA_DIR"):
        scene.share(lasts=lasts).__enter__()


def test_files_that_another_process_collected_meanwhile_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with override_settings(STATIC_ROOT=str(tmp_path)):
        waiting = ManifestStaticFilesStorage()
        # What the other one leaves when it gives back the lock.
        manifest = {"version": "1.1", "paths": {"icon.svg": "icon.0123.svg"}, "hash": ""}
        (tmp_path / waiting.manifest_name).write_text(json.dumps(manifest))
        (tmp_path / static_files.STAMP).write_text(static_files._fingerprint())
        monkeypatch.setattr(static_files, "staticfiles_storage", waiting)
        static_files.static_files_prepare()
    assert waiting.hashed_files == manifest["paths"]


HOLDING = """
import django, time
django.setup()
from simulations.installation.shared_installation import shared_installation
with shared_installation(partners=["helper"], warn=print, lasts=True):
    print("runs", flush=True)
    time.sleep(600)
"""


def begun(data: Path, temporary: Path, *command: str) -> "subprocess.Popen[str]":
    environment = {**os.environ, "PANAPP_DATA_DIR": str(data), "TMPDIR": str(temporary)}
    environment.pop("DATABASE_URL", None)
    return subprocess.Popen(
        [sys.executable, *command],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE if command[0] == "manage.py" else None,
        text=True,
    )


def collect(data: Path, folder: Path, temporary: Path) -> "subprocess.Popen[str]":
    """By two servers: 40 devices with an event each."""
    events, file = folder / "events.csv", folder / "recipe.json"
    events.write_text("device,step,events\n" + "".join(f"d{device},1,1\n" for device in range(40)))
    file.write_text(json.dumps(recipe_members(trust="two_server", epsilon=8.0)))
    command = ("manage.py", "collect", str(file), "--events", str(events), "--json")
    return begun(data, temporary, *command)


def collected(command: "subprocess.Popen[str]") -> str:
    """What it says, once it has printed a result."""
    printed, said = command.communicate(timeout=PATIENCE)
    assert command.returncode == 0, said
    assert json.loads(printed)["truth"] == 40
    return said


@pytest.mark.long
@pytest.mark.processes
def test_two_collections_at_once_on_a_fresh_directory_both_end(tmp_path: Path) -> None:
    """Whatever that and the folder of temporary files are called."""
    data, temporary = tmp_path / "it's 50% ü", tmp_path / ("a 'b" + 100 * "c")
    temporary.mkdir()
    said = [collected(one) for one in [collect(data, tmp_path, temporary) for _ in range(2)]]
    assert sum("waiting for `manage.py collect`" in one for one in said) == 1


@pytest.mark.long
@pytest.mark.processes
def test_collection_uses_running_servers_or_starts_its_own(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with begun(data, tmp_path, "-c", HOLDING) as holding:
        try:
            assert holding.stdout is not None
            assert holding.stdout.readline().startswith("starting its own servers, with the data in ")
            assert holding.stdout.readline() == "runs\n"
            assert "using the servers of " in collected(collect(data, tmp_path, tmp_path))
        finally:
            holding.send_signal(signal.SIGKILL)
    assert "using" not in collected(collect(data, tmp_path, tmp_path))
