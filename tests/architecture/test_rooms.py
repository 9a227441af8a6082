"""The contracts of `.importlinter` object to what they are for, and know every room."""

import ast
import sys
from configparser import ConfigParser
from pathlib import Path

import pytest
from grimp import ImportGraph
from importlinter import Contract

from tests.architecture.public_face import PublicFace
from tests.architecture.sources import face_of, file_of, init_of
from tests.architecture.unshown import Unshown

ROOT = Path(__file__).resolve().parent.parent.parent
SETTINGS = ConfigParser()
SETTINGS.read(ROOT / ".importlinter")
ROOMS = SETTINGS["importlinter"]["root_packages"].split()


def test_contracts_know_every_room() -> None:
    beside = {place.parent.name for place in ROOT.glob("*/__init__.py")} - {"tests", "benchmarks"}
    assert sorted(ROOMS) == sorted(
        beside | {place.parent.name for place in ROOT.glob("collections/*/__init__.py")}
    )
    floors = SETTINGS["importlinter:contract:floors"]["layers"].replace("|", " ").split()
    assert sorted(floors) == sorted(ROOMS)


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_says_what_it_is_for_and_must_not_know(room: str) -> None:
    said = ast.get_docstring(init_of(room))
    assert said is not None
    assert "It must not " in said


@pytest.mark.parametrize("room", sorted(set(ROOMS) - {"panapp"}))
def test_every_name_of_a_face_is_a_module_or_an_object(room: str) -> None:
    objects = {
        name
        for node in init_of(room).body
        for name in (
            [alias.asname or alias.name for alias in node.names]
            if isinstance(node, ast.ImportFrom)
            else [node.name]
            if isinstance(node, ast.FunctionDef)
            else [node.target.id]
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
            else []
        )
    }
    assert face_of(room)
    assert [name for name in face_of(room) - objects if not file_of(f"{room}.{name}").exists()] == []


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_says_what_every_name_of_its_face_is_for(room: str) -> None:
    said = ast.get_docstring(init_of(room)) or ""
    assert [name for name in sorted(face_of(room)) if f"`{name}`" not in said] == []


@pytest.fixture
def toys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two rooms on the import path; `toy_below` shows `bell` and keeps `wire`."""
    for room, face in {"toy_above": [], "toy_below": ["bell"]}.items():
        (tmp_path / room).mkdir()
        (tmp_path / room / "__init__.py").write_text(f"__all__ = {face!r}\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    return tmp_path


def broken(contract: Contract, *imports: tuple[str, str]) -> list[tuple[str, str]]:
    """What a contract objects to in a graph of these imports."""
    graph = ImportGraph()
    for importer, imported in imports:
        for module in (importer, imported):
            graph.add_module(module)
        graph.add_import(importer=importer, imported=imported)
    check = contract.check(graph, verbose=False)
    objections = [found for kind in check.metadata.values() for found in kind]
    assert check.kept == (not objections)
    return objections


def test_a_private_import_breaks_the_public_face(toys: Path) -> None:
    contract = PublicFace("faces", {"root_packages": ["toy_above", "toy_below"]}, {})
    private = ("toy_above.door", "toy_below.wire.copper")
    assert broken(
        contract,
        private,
        ("toy_above.door", "toy_below.bell"),
        ("toy_above.door", "toy_below"),
        ("toy_below.bell", "toy_below.wire"),
        ("toy_above.migrations.0001_initial", "toy_below.wire"),
        ("toy_above.door", "django.template"),
    ) == [private]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("from django.shortcuts import render", ["django.shortcuts.render"]),
        ("from django.template import loader", ["django.template.loader"]),
        ("import django.template.loader", ["django.template.loader"]),
        ("def late():\n    from django import template", ["django.template"]),
        ("from django.shortcuts import get_object_or_404", []),
        ("from django.templates import loader", []),
    ],
)
def test_a_domain_room_that_shows_pages_is_found(toys: Path, line: str, found: list[str]) -> None:
    (toys / "toy_above" / "views.py").write_text(line)
    options = {"rooms": ["toy_above"], "forbidden": ["django.template", "django.shortcuts.render"]}
    objections = broken(Unshown("shown", {}, options), ("toy_above.views", "toy_above"))
    assert objections == [("toy_above.views", name) for name in found]
