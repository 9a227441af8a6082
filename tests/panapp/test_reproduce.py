import json
from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from pages.management.commands.reproduce import COLOURS
from panprivacy.accounting.guarantees import Relation
from research import stored_document
from research.reproduction import results
from research.statements import Figure, Line, Panel, Paper, Role, Statement
from research.theory import DEMONSTRATIONS
from research.theory import results as theory_results

Computed = tuple[tuple[Statement, ...], tuple[Figure, ...]]


@pytest.fixture(scope="module")
def computed() -> Computed:
    """What is stored, instead of ten seconds of computing: tests/research compares the two."""
    stored = results.committed()
    return tuple(map(_claim, stored["claims"])), tuple(map(_figure, stored["figures"]))


def _claim(stored: dict[str, Any]) -> Statement:
    named = {
        "paper": Paper(stored["paper"]),
        "relation": stored["relation"] and Relation(stored["relation"]),
        "value": stored["computed"],
    }
    return Statement(**{name: value for name, value in stored.items() if name != "computed"} | named)


def _figure(stored: dict[str, Any]) -> Figure:
    panels = tuple(
        Panel(
            panel["title"],
            tuple(panel["x"]),
            tuple(Line(line["name"], Role(line["role"]), tuple(line["y"])) for line in panel["series"]),
        )
        for panel in stored["panels"]
    )
    return Figure(**{**stored, "paper": Paper(stored["paper"]), "panels": panels})


@pytest.fixture
def reproduce(computed: Computed, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[str, str]]:
    def run(*arguments: str, changed: Computed | None = None, **options: Any) -> tuple[str, str]:
        def compute(progress: Callable[[str], None]) -> Computed:
            progress("Example 1: something")
            return changed or computed

        monkeypatch.setattr(results, "compute", compute)
        stdout, stderr = StringIO(), StringIO()
        call_command("reproduce", *arguments, stdout=stdout, stderr=stderr, **options)
        return stdout.getvalue(), stderr.getvalue()

    return run


def test_reproduce_prints_every_claim_and_reports_progress_beside(reproduce: Any, computed: Computed) -> None:
    table, progress = reproduce()
    assert table.count("agrees\n") == sum(claim.agrees is True for claim in computed[0])
    assert table.count("differs\n") == sum(claim.agrees is False for claim in computed[0])
    assert "Example 5               0.8               1.0204        differs" in table
    assert "Example 1: something" in progress
    assert "Example 1: something" not in table
    text, progress = reproduce("--json")
    document = json.loads(text)
    assert (document["problems"], len(document["claims"]), progress) == ([], len(computed[0]), "")


def test_reproduce_writes_figures_that_need_nothing_else(
    reproduce: Any, computed: Computed, tmp_path: Path
) -> None:
    few = (computed[0], computed[1][-1:])
    with pytest.raises(CommandError):  # the other figures are missing from the stored ones
        reproduce("--figures", str(tmp_path / "new" / "figures"), changed=few)
    (written,) = (tmp_path / "new" / "figures").iterdir()
    page = written.read_text(encoding="utf-8")
    assert written.name == "lpp-theorem-13.html"
    assert "cdn" not in page[: page.index("<script")]
    assert 'src="http' not in page
    assert computed[1][-1].caption in page
    assert COLOURS["sampled"] in page
    with pytest.raises(CommandError) as caught:
        reproduce("--figures", str(written))
    assert caught.value.returncode == 2


def theory(*arguments: str) -> tuple[str, str]:
    stdout, stderr = StringIO(), StringIO()
    call_command("theory", *arguments, stdout=stdout, stderr=stderr)
    return stdout.getvalue(), stderr.getvalue()


def test_reproduce_without_its_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in production, which has no `dp_accounting`."""

    def compute(_: Callable[[str], None]) -> Computed:
        raise ModuleNotFoundError("No module named 'dp_accounting'", name="dp_accounting")

    monkeypatch.setattr(results, "compute", compute)
    with pytest.raises(CommandError, match="dp_accounting: `pip install -r requirements-dev") as caught:
        call_command("reproduce", stdout=StringIO(), stderr=StringIO())
    assert caught.value.returncode == 2


def test_reproduce_fails_where_a_value_has_moved_or_does_not_agree(
    reproduce: Any, computed: Computed
) -> None:
    claims, figures = computed
    agreeing = next(claim for claim in claims if claim.expected is True)
    broken = tuple(replace(claim, agrees=False) if claim is agreeing else claim for claim in claims)
    moved = (replace(claims[0], value=claims[0].value * 1.001), *claims[1:])
    for changed, message in (
        (broken, f"{agreeing.place}.*said to agree"),
        (moved, r"moved from the stored value: claims\[0\]\.computed"),
    ):
        with pytest.raises(CommandError, match=message) as caught:
            reproduce(changed=(changed, figures))
        assert caught.value.returncode == 1


def test_reproduce_stores_what_the_page_reads(
    reproduce: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    before = results.FILE.read_text(encoding="utf-8")
    monkeypatch.setattr(results, "FILE", tmp_path / "results.json")
    reproduce("--write")
    written = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert stored_document.differences(json.loads(before), written) == []


@pytest.fixture
def stored_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Demonstrations as they are stored, instead of half a minute of computing."""
    by_name = {entry["key"]: entry for entry in theory_results.committed()["demonstrations"]}

    class Stored:
        def __init__(self, name: str, seed: int) -> None:
            self.entry = {**by_name[name], "seed": seed}

        def as_dict(self) -> dict[str, Any]:
            return self.entry

    for name in DEMONSTRATIONS:
        monkeypatch.setitem(DEMONSTRATIONS, name, lambda seed, name=name: Stored(name, seed))


@pytest.mark.long
def test_theory_computes_what_is_stored() -> None:
    # The real computation of one demonstration, with the seed of the stored document.
    text, progress = theory("encryption-from-counter", "--json")
    (computed,) = json.loads(text)["demonstrations"]
    (stored,) = (
        entry
        for entry in theory_results.committed()["demonstrations"]
        if entry["key"] == "encryption-from-counter"
    )
    assert stored_document.differences(stored, computed) == [], "run `manage.py theory --write`"
    assert progress == ""


@pytest.mark.usefixtures("stored_only")
def test_theory_prints_a_table_for_every_demonstration() -> None:
    text, progress = theory()
    for entry in theory_results.committed()["demonstrations"]:
        assert entry["title"] in text
        assert entry["key"] in progress
        for chart in entry["charts"]:
            assert f"{chart['title']} ({chart['y_title']})" in text
    assert text.count("01001000 01101001 00100001") == 2
    assert f"Simulation, seed {theory_results.SEED}." in text


@pytest.mark.usefixtures("stored_only")
def test_theory_of_a_name_shows_that_alone_with_the_seed_asked_for() -> None:
    name = next(iter(DEMONSTRATIONS))
    (entry,) = json.loads(theory(name, "--json", "--seed", "7")[0])["demonstrations"]
    assert (entry["key"], entry["seed"]) == (name, 7)


def test_theory_of_an_unknown_name_names_those_there_are() -> None:
    with pytest.raises(
        CommandError, match=r"name: must be one of square-root-of-t, .*not 'gravity'"
    ) as caught:
        theory("gravity")
    assert caught.value.returncode == 2


@pytest.mark.usefixtures("stored_only")
def test_theory_stores_what_the_page_reads(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    before = theory_results.FILE.read_text(encoding="utf-8")
    monkeypatch.setattr(theory_results, "FILE", tmp_path / "theory_results.json")
    theory("--write")
    assert (tmp_path / "theory_results.json").read_text(encoding="utf-8") == before
    with pytest.raises(CommandError, match="leave the names out"):
        theory(next(iter(DEMONSTRATIONS)), "--write")
