"""The worked example of docs/tasks.md does what it says, given as it stands there."""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from django.conf import settings

from tests.patience import PATIENCE
from tests.processes import database_url, services_on_test_database

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "docs" / "tasks.md").read_text()
(EXAMPLE,) = re.findall(r"```sh\n(.*?)```", TEXT, re.DOTALL)


@pytest.mark.long
@pytest.mark.django_db(transaction=True)
@pytest.mark.processes
def test_worked_example_prints_the_result_it_promises_and_the_interval_is_closed(tmp_path: Path) -> None:
    create, report, collect = (
        line.replace(".venv/bin/python", sys.executable).replace("task.json", str(tmp_path / "task.json"))
        for line in EXAMPLE.splitlines()
    )
    with services_on_test_database(partners={"helper": tmp_path / "helper"}) as services:
        environment = {
            **os.environ,
            **services.pairings["helper"].site_variables(),
            "DATABASE_URL": database_url(),
            "PANAPP_DATA_DIR": str(settings.DATA_DIR),
        }

        def run(command: str) -> str:
            done = subprocess.run(
                ["bash", "-c", command],
                cwd=ROOT,
                env=environment,
                capture_output=True,
                text=True,
                timeout=PATIENCE,
                check=False,
            )
            assert done.returncode == 0, done.stderr
            return done.stdout

        if time.time() % 3_600 > 3_540:
            time.sleep(61)  # all of it within one hour
        run(create)
        assert json.loads(run(report)) == ["taken"] * 4
        printed = json.loads(run(collect))
        assert (printed["report_count"], printed["values"]) == (4, [1, 2, 0, 1])
        assert printed["interval"]["duration"] == 3_600
        assert set(re.findall(r'"(\w+)":', TEXT.split("prints it:")[1].split("Exit code")[0])) <= {
            *printed,
            *printed["interval"],
            *printed["rejections"],
        }
        assert json.loads(run(report)) == ["report_replayed"] * 4
        (listed,) = json.loads(run(f"{sys.executable} manage.py task list"))
        assert listed["rejections"]["leader"] == {"batch_collected": 4}
