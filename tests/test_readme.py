"""Every command in the README and in docs/commands.md runs, and links of all pages lead somewhere.

In `make test` every command is at least understood.
"""

import importlib.util
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import get_commands, load_command_class

from tests.patience import PATIENCE

ROOT = Path(__file__).resolve().parent.parent
TEXT = "".join((ROOT / page).read_text() for page in ("README.md", "docs/commands.md"))
BLOCKS = re.findall(r"```sh\n(.*?)```", TEXT, re.DOTALL)
# The two pages share a command: it runs once.
COMMANDS = list(dict.fromkeys(line for block in BLOCKS for line in block.splitlines() if line.strip()))
RUN_ELSEWHERE = {"make demo", "make test"}
"""`make test` runs this very file; `demo` has a test of its own in tests/panapp."""

COLLECTING = [line for line in COMMANDS if re.search(r"\.py (collect|series simulate) |-m examples", line)]
"""Each starts servers: tests/panapp/test_installation_with_tokens.py gives them those that run there. The
first one starts its own here, too, as a reader does."""


RUN_HERE = [command for command in COMMANDS if command not in RUN_ELSEWHERE]


@pytest.mark.parametrize("command", RUN_HERE)
def test_readme_command_is_one_that_exists_with_these_options_and_files(command: str) -> None:
    command, _, read_from = command.partition(" < ")
    program, script, *arguments = shlex.split(command)
    assert program == ".venv/bin/python"
    if script == "-m":
        assert importlib.util.find_spec(arguments[0]) is not None
        return
    assert script == "manage.py"
    name, *options = arguments
    parser = load_command_class(get_commands()[name], name).create_parser("manage.py", name)
    files = [value for value in vars(parser.parse_args(options)).values() if isinstance(value, Path)]
    assert all((ROOT / file).is_file() for file in [*files, *filter(None, [read_from])])


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of one installation, in which a reader tries one command after the other."""
    return tmp_path_factory.mktemp("data")


@pytest.mark.long
@pytest.mark.processes
@pytest.mark.parametrize("command", [command for command in RUN_HERE if command not in COLLECTING[1:]])
def test_readme_command_runs(command: str, data: Path) -> None:
    assert command.startswith(".venv/bin/python ")
    environment = {**os.environ, "PANAPP_DATA_DIR": str(data)}
    environment.pop("DATABASE_URL", None)
    command, _, read_from = command.partition(" < ")
    arguments = command.split()[1:]
    done = subprocess.run(
        [sys.executable, *arguments],
        input=(ROOT / read_from).read_text() if read_from else None,
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "page",
    sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]),
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_links_of_a_page_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!http|#)([^)#]+)[)#]", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []
