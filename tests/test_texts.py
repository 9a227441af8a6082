"""What people read in an editor, on a page or in the docs keeps to a few rules."""

import io
import re
import subprocess
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

WIDTH = 110

PYTHON = ("collections", "panapp", "devices_sim", "panprivacy", "research", "tests")

PRAGMA = re.compile(r"  # (?:noqa|type: ignore)\b.*")
"""Addressed to a tool: as ruff counts, it is not part of the line."""

SILENCED = re.compile(
    r"#\s*(?:noqa|type:\s*ignore|pragma:\s*no|nosec)\b(?!(?:: [A-Z0-9, ]+|\[[a-z, -]+\])  # \w)"
)
"""A check that is silenced without its name and a reason."""

DATABASE = re.compile(r"postgres://.*")
"""An address that cannot be wrapped."""

LINK = re.compile(r"\]\(\S+|https?://\S+")


PERCENT = re.compile(r"[0-9] %(?!})")
"""English text has no space there."""


def tracked(*patterns: str) -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", *patterns], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [path for name in listed.stdout.splitlines() if (path := ROOT / name).exists()]


def too_long(path: Path, lines: Iterator[tuple[int, str]]) -> list[str]:
    return [f"{path.relative_to(ROOT)}:{number}" for number, line in lines if len(line) > WIDTH]


def numbered(path: Path) -> Iterator[tuple[int, str]]:
    return enumerate(path.read_text().splitlines(), start=1)


def prose(path: Path) -> Iterator[tuple[int, str]]:
    """Lines outside of fenced code and tables, without the addresses of links."""
    fenced = False
    for number, line in numbered(path):
        fence = line.lstrip().startswith("```")
        if not fence and not fenced and not line.startswith("|"):
            yield number, LINK.sub("", line)
        fenced ^= fence


def test_lines_of_templates_fit_an_editor() -> None:
    templates = tracked("templates/*.html")
    assert templates
    assert [line for path in templates for line in too_long(path, numbered(path))] == []


def test_lines_of_typescript_fit_an_editor() -> None:
    modules = tracked("devices_web/*.ts", "devices_web/*.mjs")
    assert modules
    assert [line for path in modules for line in too_long(path, numbered(path))] == []


@pytest.mark.parametrize("folder", PYTHON)
def test_lines_of_code_fit_an_editor(folder: str) -> None:
    modules = [path for path in tracked(f"{folder}/*.py") if "migrations" not in path.parts]
    assert modules
    code = {path: ((number, PRAGMA.sub("", line)) for number, line in numbered(path)) for path in modules}
    assert [line for path, lines in code.items() for line in too_long(path, lines)] == []


def test_lines_of_prose_fit_an_editor() -> None:
    documents = tracked("*.md")
    assert documents
    assert [line for path in documents for line in too_long(path, prose(path))] == []


@pytest.mark.parametrize(
    "patterns",
    [("collections/*.css", "collections/*.js"), ("Makefile",), ("*.yaml", "*.yml", ".importlinter")],
)
def test_lines_of_what_else_is_written_by_hand_fit_an_editor(patterns: tuple[str, ...]) -> None:
    files = [path for path in tracked(*patterns) if path.name != "openapi.yaml"]
    assert files
    assert [
        line
        for path in files
        for line in too_long(path, ((number, DATABASE.sub("", text)) for number, text in numbered(path)))
    ] == []


def test_sections_of_operations_that_the_code_names_are_there() -> None:
    sections = {line.lstrip("#").strip() for line in (ROOT / "docs/operations.md").read_text().splitlines()}
    code = "".join(
        path.read_text() for path in tracked("collections/*.py", "panapp/*.py", "templates/*.html")
    )
    named = re.findall(r"docs/operations\.md, “([^”]+)”", code)
    assert len(named) >= 4
    assert set(named) <= sections


def words(path: Path) -> Iterator[tuple[int, str]]:
    """What a file says to people: strings and comments of Python, the others without templates' tags."""
    if path.suffix == ".py":
        for token in tokenize.generate_tokens(io.StringIO(path.read_text()).readline):
            if token.type in (tokenize.STRING, tokenize.COMMENT):
                yield token.start[0], token.string
    else:
        for number, line in numbered(path):
            yield number, re.sub(r"{%.*?%}|{%.*$|^.*?%}", "", line)


def test_percentages_have_no_space() -> None:
    files = tracked("*.py", "*.md", "templates/*.html", "research/*.json")
    found = [
        f"{path.relative_to(ROOT)}:{at}"
        for path in files
        if path.relative_to(ROOT).as_posix() != "tests/test_texts.py"
        if PERCENT.search(path.read_text())
        for at, text in words(path)
        if PERCENT.search(text)
    ]
    assert found == []
    assert PERCENT.search("by 0.1 % of ε")
    assert not PERCENT.search("% of the 5% {% if 3|add:7 %}")


def test_every_silenced_check_is_named_and_says_why() -> None:
    modules = [path for path in tracked("*.py") if "migrations" not in path.parts and path != Path(__file__)]
    assert modules
    found = [f"{path}:{at}" for path in modules for at, line in numbered(path) if SILENCED.search(line)]
    assert found == []


def test_a_silenced_check_without_its_name_or_a_reason_is_noticed() -> None:
    silenced = ["# noqa", "# noqa: S101", "# noqa  # because", "# type: ignore[misc]", "#type:ignore"]
    assert all(SILENCED.search(f"x = 1  {comment}") for comment in silenced)
    assert not SILENCED.search("x = 1  # noqa: S101, B023  # because")
    assert not SILENCED.search("x = 1  # type: ignore[misc, arg-type]  # because")
