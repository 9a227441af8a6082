"""The house stands as docs and imports say."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

from django.conf import settings
from django.db import connection

from panapp.roles import ROLES
from releases.operations import SOFTWARE

ROOT = Path(__file__).resolve().parent.parent


def test_collections_folder_holds_no_init_file_so_that_the_standard_library_wins() -> None:
    assert not (ROOT / "collections" / "__init__.py").exists()
    script = "import collections; print(collections.__file__); collections.OrderedDict"
    found = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()
    assert Path(found).parent != ROOT / "collections"


def test_whoever_reports_a_fault_is_told_every_role() -> None:
    asked = (ROOT / "SECURITY.md").read_text().split("the role (", 1)[1].split(")", 1)[0]
    assert set(re.findall(r"`([^`]+)`", asked)) == set(ROLES)


def test_tests_run_in_an_installation_of_their_own() -> None:
    data = settings.DATA_DIR
    assert ROOT not in data.parents
    assert (data / "local-secrets.json").exists()
    assert {name for name in os.environ if name.startswith("PANAPP_")} - {"PANAPP_TEST_SERVICES"} == {
        "PANAPP_DATA_DIR"
    }
    if connection.vendor == "sqlite":
        assert Path(connection.settings_dict["NAME"]).parent == data


def test_releases_name_the_version_that_the_project_has() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert f"{project['name']} {project['version']}" == SOFTWARE
