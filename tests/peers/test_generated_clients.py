"""Clients of the API that generators of others make from `docs/openapi.yaml`: openapi-generator and
openapi-python-client (Python), openapi-typescript with openapi-fetch (TypeScript).

Each is generated without a warning, passes its type checker together with a program that uses it, and takes a
recipe from draft to result.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
import yaml

from accounts.api_tokens.operations import token_create
from recipes.models import Recipe
from results.aggregation.operations import chunk_process, chunks_plan
from results.models import Release
from results.operations import result_release
from simulations.models import Simulation
from tests.collections.simulations.scene import BERNOULLI, devices_report, released
from tests.factories import as_json, recipe_members, report_of_count
from tests.panapp.scene import ROOT
from tests.peers import node_packages, python_packages
from tests.peers.conversations import PeerRefusedError, talking
from tests.scenes import analyst

pytestmark = [pytest.mark.long, pytest.mark.processes]

HERE = Path(__file__).parent
DESCRIPTION = ROOT / "docs" / "openapi.yaml"
TEXT = {"description": "", "content": {"application/json": {"schema": {"type": "string"}}}}
SMALLEST = {
    "openapi": "3.0.3",
    "info": {"title": "Smallest", "version": "1"},
    "paths": {"/": {"get": {"operationId": "get", "responses": {"200": TEXT}}}},
}


@dataclass(frozen=True)
class Generated:
    """A client, and a program that uses it.

    Attributes:
        warnings: of the generator.
        mistakes: which a type checker finds in both.
        command: runs the program in the folder.
    """

    folder: Path
    warnings: list[str]
    mistakes: list[str]
    command: tuple[str | Path, ...]


def said(command: Sequence[str | Path], folder: Path) -> list[str]:
    """The lines that a command writes."""
    done = subprocess.run(
        command, cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    return [*done.stdout.splitlines(), *([f"it ended with {done.returncode}"] if done.returncode else [])]


def mistakes_in_python(programs: Path, folder: Path, program: str) -> list[str]:
    command = [sys.executable, "-m", "mypy", "--config-file=", "--python-executable", programs / "python"]
    return [line for line in said([*command, program, "client"], folder) if "error:" in line]


def by_openapi_generator(folder: Path) -> Generated:
    python_packages.needs("java")
    copytree(HERE / "python_clients", folder, dirs_exist_ok=True)
    programs = python_packages.installed(folder, folder / "environment")
    (folder / "smallest.yaml").write_text(yaml.safe_dump(SMALLEST))
    command = [programs / "openapi-generator-cli", "generate", "--generator-name", "python"]
    command += ["--package-name", "client", "--output", "."]
    smallest, ours = (
        [line for line in said([*command, "--input-spec", described], folder) if " INFO " not in line]
        for described in (folder / "smallest.yaml", DESCRIPTION)
    )
    program = "with_openapi_generator.py"
    return Generated(
        folder,
        # What it also says of the smallest description is not about ours.
        [line for line in ours if line not in smallest],
        mistakes_in_python(programs, folder, program),
        (programs / "python", program),
    )


def by_openapi_python_client(folder: Path) -> Generated:
    copytree(HERE / "python_clients", folder, dirs_exist_ok=True)
    programs = python_packages.installed(folder, folder / "environment")
    # It formats the client with the ruff that it finds.
    command = ["env", f"PATH={programs}{os.pathsep}{os.environ['PATH']}", "openapi-python-client", "generate"]
    command += ["--path", str(DESCRIPTION), "--output-path", "client", "--meta", "none", "--fail-on-warning"]
    lines = said(command, folder)
    program = "with_openapi_python_client.py"
    mistakes = mistakes_in_python(programs, folder, program)
    return Generated(
        folder,
        [line for line in lines if line != "Generating client"],
        # A file that is the same for every description.
        [line for line in mistakes if not line.startswith("client/client.py:")],
        (programs / "python", program),
    )


def by_openapi_typescript(folder: Path) -> Generated:
    node_packages.installed(HERE / "node_client", folder := folder / "node_client")
    programs = folder / "node_modules" / ".bin"
    lines = said([programs / "openapi-typescript", DESCRIPTION, "--output", "api.d.ts"], folder)
    compiling = [programs / "tsc", "--strict", "--module", "nodenext", "--target", "es2022", "peer.ts"]
    return Generated(
        folder,
        [line for line in lines if line and not line.startswith(("✨ openapi-typescript", "🚀"))],
        said(compiling, folder),
        ("node", "peer.js"),
    )


@pytest.fixture(
    scope="module", params=[by_openapi_generator, by_openapi_python_client, by_openapi_typescript]
)
def generated(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Generated:
    client: Generated = request.param(tmp_path_factory.mktemp("client"))
    return client


def test_client_is_generated_without_a_warning(generated: Generated) -> None:
    assert generated.warnings == []


def test_client_and_its_program_have_the_types_they_state(generated: Generated) -> None:
    assert generated.mistakes == []


@pytest.mark.django_db(transaction=True)
def test_client_takes_a_recipe_from_draft_to_result(
    generated: Generated, live_server: Any, settings: Any
) -> None:
    settings.SITE_URL = "http://localhost"
    _, token = token_create(user=analyst(), name="test", scopes=["recipes:write"], days=1, actor=None)
    file = recipe_members()
    with talking([*generated.command, live_server.url, token], generated.folder) as client:
        draft = client("draft", recipe=file)
        assert file.items() <= draft["recipe"].items()
        review = client("review", number=draft["number"])
        assert review["publishable"]
        assert review["epsilons"]["local"] == pytest.approx(2.0)
        with pytest.raises(PeerRefusedError, match="409 /problems/state-conflict"):
            client("publish", number=draft["number"], reviewed="0" * 64)
        published = client("publish", number=draft["number"], reviewed=draft["reviewed"])
        recipe = Recipe.objects.get(identifier=published["id"])
        assert published["document"] == json.loads(recipe.document)

        reports = [as_json(report_of_count(recipe, count)) for count in (0, 1, 2, 0, 3, 1)]
        for report in reports:
            assert client("report", recipe=recipe.identifier, content=report) == {"status": "accepted"}
        with pytest.raises(PeerRefusedError, match="409 /problems/report-rejected duplicate_nonce"):
            client("report", recipe=recipe.identifier, content=reports[0])
        with pytest.raises(PeerRefusedError, match="404 /problems/no-result-yet"):
            client("read_result", recipe=recipe.identifier)
        assert client("close", recipe=recipe.identifier) == {"status": "closed"}
        recipe.refresh_from_db()
        for chunk in chunks_plan(recipe=recipe):
            chunk_process(chunk=chunk)
        assert result_release(recipe=recipe)
        estimate = Release.objects.get().values
        result = client("read_result", recipe=recipe.identifier)
        assert result == {"outcome": "released", "estimate": estimate, "reports": len(reports)}

        number = client("simulate", recipe=file, workload=BERNOULLI)["id"]
        assert client("follow", number=number)["result"] is None
        released(devices_report(Simulation.objects.get()))
        followed = client("follow", number=number)
        assert followed["state"] == "finished"
        assert followed["result"]["reports"]["accepted"] == BERNOULLI["devices"]

        tables = client("tables")
        assert recipe.identifier in tables["csv"]
        assert followed["recipe"] in tables["csv"]
        assert tables["parquet"] == "PAR1"
