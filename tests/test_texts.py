"""Sections of the docs that the code names are there."""

import json
import re
import tomllib
from pathlib import Path

from panapp.roles import ROLES
from results.operations import SOFTWARE

ROOT = Path(__file__).resolve().parent.parent


def test_template_of_security_reports_names_every_role() -> None:
    asked = (ROOT / "SECURITY.md").read_text().split("the role (", 1)[1].split(")", 1)[0]
    assert set(re.findall(r"`([^`]+)`", asked)) == set(ROLES)


def test_releases_and_packages_name_the_version_that_the_project_has() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert f"panapp {project['version']}" == SOFTWARE
    for name in ("package.json", "package-lock.json"):
        assert json.loads((ROOT / "devices_web" / name).read_text())["version"] == project["version"]
    assert f'image.version="{project["version"]}"' in (ROOT / "Dockerfile").read_text()
    file = f"devices-web-{project['version']}.tgz"
    assert file in (ROOT / "devices_web" / "README.md").read_text()


def test_sections_of_operations_that_the_code_names_are_there() -> None:
    folders = {"collections": "*.py", "panapp": "*.py", "templates": "*.html"}
    code = "".join(
        path.read_text() for folder, kind in folders.items() for path in (ROOT / folder).rglob(kind)
    )
    named = re.findall(r"(docs/operations/[a-z-]+\.md), “([^”]+)”", code)
    assert len(named) >= 4
    for page, section in named:
        assert section in {line.lstrip("#").strip() for line in (ROOT / page).read_text().splitlines()}
