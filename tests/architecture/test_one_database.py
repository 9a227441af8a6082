"""What is not run on PostgreSQL again: the rooms that present, and whether they ask a database for little."""

import ast
import re
from pathlib import Path

import pytest

from tests.conftest import PRESENTING, TESTS, WITHOUT_DATABASE

ROOT = TESTS.parent
OWN_SQL = re.compile(
    r"select_for_update|cursor\(|atomic|RawSQL|\.raw\(|\.extra\(|Subquery|annotate\(|aggregate\("
    r"|__i?(contains|startswith|endswith|regex)\b|IntegrityError|\.vendor|isolation"
)
"""Locks, transactions, constraints, searches and SQL: what databases do each in their way."""

ELSEWHERE = {"pages/account/views.py"}
"""A password and its entry in one transaction: tests/attacks/test_stolen_password.py, on both."""

HOSTILE = re.compile(r"'q':|\?q=|%00|x00|'9' \*|\.vendor|before=")
"""In a test, as `ast` writes it: a search, or what one database refuses and the other stores."""


@pytest.mark.parametrize("room", ["pages", "planner"])
def test_a_room_that_presents_has_no_sql_and_no_lock_of_its_own(room: str) -> None:
    apps = ROOT / "collections"
    texts = {str(path.relative_to(apps)): path.read_text() for path in (apps / room).rglob("*.py")}
    found = [(path, hit[0]) for path in texts.keys() - ELSEWHERE for hit in OWN_SQL.finditer(texts[path])]
    assert found == [], "its tests belong on both databases: take it out of PRESENTING in tests/conftest.py"


def test_what_stands_for_sql_is_found_where_there_is_some() -> None:
    rooms = ("ledger", "leader", "aggregation", "recipes", "audit", "reports")
    texts = (
        "".join(path.read_text() for path in (ROOT / "collections" / room).rglob("*.py")) for room in rooms
    )
    assert all(OWN_SQL.search(text) for text in texts)


OF_THE_DATABASE = re.compile(
    OWN_SQL.pattern.replace("|atomic", "")
    + r"|mark\.(searches|processes)|transaction=True|transactional_db|live_server"
    r"|Thread|at_once|kill\(|migrate|partition|[Gg]uard"
)
"""In a test: what it takes to see two databases differ. Savepoints are how a scene is used again."""


def presenting() -> list[Path]:
    rooms = [path for room in PRESENTING for path in (TESTS / room).rglob("test_*.py")]
    return sorted({*rooms, *TESTS.rglob("test_*_page.py"), *TESTS.rglob("test_*pages.py")} - {Path(__file__)})


ONCE = [
    path for path in TESTS.rglob("test_*.py") if "mark.once" in path.read_text() and path != Path(__file__)
]
"""Files whose tests run on one database, as they are about what is computed or who may do what."""


def unmarked(source: str) -> list[str]:
    """Names of the tests that search, or send what is hostile, without saying so."""
    tree = ast.parse(source)
    if "django_db" not in source or re.search(r"^pytestmark = .*searches", source, re.MULTILINE):
        return []
    tests = [
        node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    ]
    texts = {
        node.name: "\n".join(ast.unparse(part) for part in (*node.decorator_list, *node.body))
        for node in tests
    }
    return [name for name, text in texts.items() if HOSTILE.search(text) and "mark.searches" not in text]


@pytest.mark.parametrize("file", [*presenting(), *ONCE], ids=lambda path: str(path.relative_to(TESTS)))
def test_a_test_about_pages_that_searches_says_so(file: Path) -> None:
    if "browser" in file.parts:
        return  # never runs on PostgreSQL
    assert unmarked(file.read_text()) == [], "mark it `searches`: PostgreSQL may answer differently"


@pytest.mark.parametrize("file", ONCE, ids=lambda path: str(path.relative_to(TESTS)))
def test_a_file_that_runs_on_one_database_waits_for_no_lock_and_knows_no_sql(file: Path) -> None:
    text = file.read_text()
    assert re.search(r"^pytestmark = .*mark\.once", text, re.MULTILINE), "whole files, by their pytestmark"
    assert [hit[0] for hit in OF_THE_DATABASE.finditer(text)] == [], "it belongs on both databases"


def test_what_is_about_a_database_is_found_where_a_test_is_about_one() -> None:
    rooms = ("storage", "leader", "ledger", "reports", "recipes")
    for room in rooms:
        texts = [path.read_text() for path in (TESTS / "collections" / room).glob("test_*.py")]
        assert any(OF_THE_DATABASE.search(text) for text in texts)


def test_a_search_without_its_mark_is_noticed() -> None:
    body = '@pytest.mark.django_db\ndef test_it(client):\n    client.get("/", {"q": "a"})\n'
    assert unmarked(body) == ["test_it"]
    assert unmarked("@pytest.mark.searches\n" + body) == []
    assert unmarked("pytestmark = [pytest.mark.django_db, pytest.mark.searches]\n" + body) == []


def test_ci_leaves_out_just_the_rooms_that_touch_no_database() -> None:
    left_out = re.findall(r"--ignore=tests/(\w+)", (ROOT / ".ci" / "run").read_text())
    assert set(left_out) == {*WITHOUT_DATABASE, "browser"}
    assert all((TESTS / room).is_dir() for room in (*WITHOUT_DATABASE, *PRESENTING))
