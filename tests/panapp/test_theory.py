import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from research import stored_document
from research.theory import DEMONSTRATIONS, results


def theory(*arguments: str, **options: Any) -> tuple[str, str]:
    stdout, stderr = StringIO(), StringIO()
    call_command("theory", *arguments, stdout=stdout, stderr=stderr, **options)
    return stdout.getvalue(), stderr.getvalue()


@pytest.fixture
def stored_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Demonstrations as they are stored, instead of half a minute of computing."""
    by_name = {entry["key"]: entry for entry in results.committed()["demonstrations"]}

    class Stored:
        def __init__(self, name: str, seed: int) -> None:
            self.entry = {**by_name[name], "seed": seed}

        def as_dict(self) -> dict[str, Any]:
            return self.entry

    for name in DEMONSTRATIONS:
        monkeypatch.setitem(DEMONSTRATIONS, name, lambda seed, name=name: Stored(name, seed))


@pytest.mark.long
def test_theory_computes_what_is_stored_and_prints_the_bits_it_encrypted_and_decrypted() -> None:
    # The real computation of one demonstration, with the seed of the stored document.
    text, progress = theory("encryption-from-counter", "--json")
    (computed,) = json.loads(text)["demonstrations"]
    (stored,) = (
        entry for entry in results.committed()["demonstrations"] if entry["key"] == "encryption-from-counter"
    )
    assert stored_document.differences(stored, computed) == [], "run `manage.py theory --write`"
    assert progress == ""


@pytest.mark.usefixtures("stored_only")
def test_theory_prints_a_table_for_every_demonstration() -> None:
    text, progress = theory()
    for entry in results.committed()["demonstrations"]:
        assert entry["title"] in text
        assert entry["key"] in progress
        for chart in entry["charts"]:
            assert f"{chart['title']} ({chart['y_title']})" in text
    assert text.count("01001000 01101001 00100001") == 2
    assert f"Simulation, seed {results.SEED}." in text


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
    before = results.FILE.read_text(encoding="utf-8")
    monkeypatch.setattr(results, "FILE", tmp_path / "results.json")
    theory("--write")
    assert (tmp_path / "results.json").read_text(encoding="utf-8") == before
    with pytest.raises(CommandError, match="leave the names out"):
        theory(next(iter(DEMONSTRATIONS)), "--write")
