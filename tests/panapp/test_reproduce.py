import json
from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from panapp.management.commands.reproduce import COLOURS
from panprivacy.accounting.guarantees import Relation
from research import stored_document
from research.reproduction import results
from research.statements import Figure, Line, Panel, Paper, Role, Statement

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


def test_reproduce_as_json_is_one_document_and_nothing_else(reproduce: Any) -> None:
    text, progress = reproduce("--json")
    document = json.loads(text)
    assert document["problems"] == []
    assert len(document["claims"]) > 30
    assert progress == ""


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


def test_reproduce_refuses_a_directory_that_cannot_be_made(reproduce: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CommandError) as caught:
        reproduce("--figures", str(tmp_path / "file"))
    assert caught.value.returncode == 2


def test_reproduce_fails_where_a_value_said_to_agree_does_not(reproduce: Any, computed: Computed) -> None:
    claims, figures = computed
    agreeing = next(claim for claim in claims if claim.expected is True)
    broken = tuple(replace(claim, agrees=False) if claim is agreeing else claim for claim in claims)
    with pytest.raises(CommandError, match=f"{agreeing.place}.*said to agree") as caught:
        reproduce(changed=(broken, figures))
    assert caught.value.returncode == 1


def test_reproduce_fails_where_a_number_has_moved(reproduce: Any, computed: Computed) -> None:
    claims, figures = computed
    moved = (replace(claims[0], value=claims[0].value * 1.001), *claims[1:])
    with pytest.raises(CommandError, match=r"moved from the stored value: claims\[0\]\.computed") as caught:
        reproduce(changed=(moved, figures))
    assert caught.value.returncode == 1


def test_reproduce_stores_what_the_page_reads(
    reproduce: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    before = results.FILE.read_text(encoding="utf-8")
    monkeypatch.setattr(results, "FILE", tmp_path / "results.json")
    reproduce("--write")
    written = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert stored_document.differences(json.loads(before), written) == []


def test_every_role_has_a_colour_in_files_too() -> None:
    assert set(COLOURS) == set(Role)
