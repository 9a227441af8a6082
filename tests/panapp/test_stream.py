"""`stream`, as other tools call it: without a database, which pytest-django keeps from these tests."""

import json
import os
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from panprivacy.statistics.streams import STREAM_STATISTICS
from recipes.models import Recipe
from simulations.collect import stream_simulation
from streams.models import Stream, StreamSample
from tests.factories import stream_members
from tests.statistic_members import small_members

MEMBERS = {
    *("statistic", "items", "items_outside", "estimate", "standard_error", "standard_error_note"),
    *("error_bound", "confidence", "interval", "truth", "guarantee", "state_bytes", "seconds"),
}
EXAMPLES: Path = settings.BASE_DIR / "examples"


def items_file(folder: Path, items: Sequence[str], name: str = "items.csv", header: str = "item") -> Path:
    path = folder / name
    path.write_text("\n".join([header, *items]) + "\n")
    return path


def recipe_file(folder: Path, **changes: Any) -> Path:
    path = folder / "stream.json"
    members = {"statistic": "density", "epsilon": 0.5, "universe_size": 2_000, "table_size": 1_000, **changes}
    path.write_text(json.dumps({name: value for name, value in members.items() if value is not None}))
    return path


def over_list(folder: Path, *items: str, **changes: Any) -> Path:
    """A recipe over these items, which lie beside it."""
    items_file(folder, items, "universe.csv")
    of_list = {"universe": "universe.csv", "universe_size": None, "table_size": None}
    return recipe_file(folder, **of_list | changes)


def run(recipe: Path, items: Path, *arguments: str, stderr: StringIO | None = None) -> dict[str, Any]:
    out = StringIO()
    call_command("stream", str(recipe), "--items", str(items), *arguments, stdout=out, stderr=stderr)
    return json.loads(out.getvalue())


def refusal(recipe: Path, items: Path, *arguments: str) -> str:
    with pytest.raises(CommandError) as error:
        run(recipe, items, *arguments)
    assert error.value.returncode == 2
    (line,) = str(error.value).splitlines()
    return line


def test_a_stream_is_estimated_beside_its_truth(tmp_path: Path) -> None:
    items = items_file(tmp_path, [f"N{number}" for number in range(500)] * 3)
    result = run(recipe_file(tmp_path), items, "--json")
    assert set(result) == MEMBERS
    assert (result["statistic"], result["items"], result["truth"]) == ("density", 1_500, 0.25)
    assert result["confidence"] == result["interval"]["level"] == 0.95
    assert result["error_bound"] > 0
    # An interval keeps to the range of what is measured; an unbiased estimate may lie outside.
    interval = result["interval"]
    assert interval["low"] <= min(max(result["estimate"], 0), 1) <= interval["high"]
    guarantee = result["guarantee"]
    assert (guarantee["model"], guarantee["relation"], guarantee["intrusions"]) == ("pan", "user", 1)
    assert 1_000 < result["state_bytes"] < 2_000
    assert result["seconds"] >= 0
    # The table has the size of the universe unless the recipe says another.
    for size in (None, 2_000):
        assert (
            run(recipe_file(tmp_path, table_size=size), items)["state_bytes"] == 1_000 + result["state_bytes"]
        )


def test_announced_intrusions_cost_privacy_and_precision(tmp_path: Path) -> None:
    items = items_file(tmp_path, ["a", "b", "c"])
    none, one, two = (
        run(recipe_file(tmp_path), items, *arguments)
        for arguments in ([], ["--intrude", "1"], ["--intrude", "0", "3"])
    )
    for fewer, more, announced in ((none, one, 1), (one, two, 2)):
        assert more["guarantee"]["announced_intrusions"] == announced
        assert more["guarantee"]["epsilon"] > fewer["guarantee"]["epsilon"]
        assert more["error_bound"] > fewer["error_bound"]
    # What the recipe allows is promised apart from what was made.
    recipe = recipe_file(tmp_path, announced_intrusions=0)
    assert "guarantees" not in run(recipe, items)
    looked_at = run(recipe, items, "--intrude", "1")
    assert [guarantee["announced_intrusions"] for guarantee in looked_at["guarantees"]] == [1, 0]
    assert looked_at["guarantee"] == looked_at["guarantees"][0]
    allowed = run(recipe_file(tmp_path, announced_intrusions=3), items, "--intrude", "1")
    assert allowed["guarantee"]["announced_intrusions"] == 3


@pytest.mark.parametrize(("universe_size", "useless"), [(10, True), (100_000, False)])
def test_a_result_that_says_nothing_is_named_so(universe_size: int, useless: bool, tmp_path: Path) -> None:
    err = StringIO()
    recipe = recipe_file(tmp_path, universe_size=universe_size, table_size=None)
    result = run(recipe, items_file(tmp_path, ["a"]), "--json", stderr=err)
    assert (result["error_bound"] >= 0.5) == useless
    assert ("This result says nothing" in err.getvalue()) == useless


@pytest.mark.parametrize(
    ("changes", "items", "truth"),
    [
        ({"items": "hashed"}, ["a", "b"], 2 / 2_000),
        ({"accuracy": "multiplicative"}, ["a", "b"], 2 / 2_000),
        ({"statistic": "cropped_mean", "t": 5}, [], 0),
        # What only a published recipe has is allowed, and ignored.
        ({"name": "x", "question": "y", "trust": "curator", "population": "everyone"}, ["a"], 1 / 2_000),
    ],
)
def test_a_recipe_of_every_kind_of_items_runs(
    tmp_path: Path, changes: dict[str, object], items: list[str], truth: float
) -> None:
    result = run(recipe_file(tmp_path, **changes), items_file(tmp_path, items))
    assert (result["items"], result["truth"]) == (len(items), truth)


@pytest.mark.statistical
def test_the_estimate_lies_within_its_bound(tmp_path: Path) -> None:
    # At confidence 0.95 all of 5 independent runs miss with probability at most 0.05^5 < 1e-6.
    items = items_file(tmp_path, [f"N{number}" for number in range(500)])
    results = [run(recipe_file(tmp_path), items) for _ in range(5)]
    assert any(abs(result["estimate"] - result["truth"]) <= result["error_bound"] for result in results)


def test_heavy_hitters_say_which_truths_their_bound_is_about(tmp_path: Path) -> None:
    # k = 4 and ρ = 1: from 7 appearances on items count in full, up to 1.75 not at all.
    appearances = {"full": 7, "above": 4, "below": 3, "none": 1}
    stream = [item for item, count in appearances.items() for _ in range(count)]
    members = {"statistic": "heavy_hitters", "k": 4, "n_max": 10, "universe_size": 10, "table_size": None}
    result = run(recipe_file(tmp_path, **members), items_file(tmp_path, stream))
    assert result["truth"] == 0.2
    assert result["truth_range"] == {"low": 0.1, "high": 0.3}
    assert (result["details"]["counted_from"], result["details"]["not_counted_up_to"]) == (7, 1.75)
    assert "close stream" in result["standard_error_note"]


def test_a_seed_repeats_all_but_the_time_with_12_digits(tmp_path: Path) -> None:
    recipe, items = recipe_file(tmp_path), items_file(tmp_path, [f"N{number}" for number in range(50)])
    first, second, other = (run(recipe, items, "--seed", seed) for seed in ("5", "5", "6"))
    for result in (first, second, other):
        del result["seconds"]
        # Counts of 1,000 cells, scaled: without rounding some end in the 17th digit.
        for number in (result["estimate"], result["interval"]["low"], result["interval"]["high"]):
            assert number == float(f"{number:.12g}")
    assert first == second
    assert first != other


def test_intrusions_come_where_they_are_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # With batches smaller and larger than the distance between two of them.
    monkeypatch.setattr(stream_simulation, "BATCH_ITEMS", 4)
    seen: list[tuple[str, int]] = []
    statistic = STREAM_STATISTICS["density"]
    process, announce = statistic.process_batch, statistic.announce_intrusion

    def process_batch(self: Any, state: Any, cells: Any, source: Any) -> None:
        seen.append(("items", len(cells)))
        process(self, state, cells, source)

    def announce_intrusion(self: Any, state: Any, source: Any) -> None:
        seen.append(("intrusion", 0))
        announce(self, state, source)

    monkeypatch.setattr(statistic, "process_batch", process_batch)
    monkeypatch.setattr(statistic, "announce_intrusion", announce_intrusion)
    items = items_file(tmp_path, [str(number) for number in range(10)])
    run(recipe_file(tmp_path, universe_size=10, table_size=10), items, "--intrude", "7", "--intrude", "10")
    intrusion = ("intrusion", 0)
    assert seen == [("items", 4), ("items", 3), intrusion, ("items", 3), intrusion]


@pytest.mark.parametrize(("stream", "outside"), [("a b a", 0), ("a NA b x NA", 3)])
def test_items_outside_a_listed_universe_are_counted_and_named(
    tmp_path: Path, stream: str, outside: int
) -> None:
    err = StringIO()
    items = items_file(tmp_path, stream.split())
    result = run(over_list(tmp_path, "a", "b", "c", "d"), items, "--json", stderr=err)
    assert (result["items"], result["items_outside"]) == (len(stream.split()), outside)
    assert result["truth"] == 0.5
    told = 'Not in the universe, and passed over: 3 of 5 items; the first is "NA".'
    assert (told in err.getvalue()) is (outside > 0)


def test_a_file_without_an_item_of_the_universe_is_refused(tmp_path: Path) -> None:
    recipe, items = over_list(tmp_path, "a", "b"), items_file(tmp_path, ["x\u2028y", "b "])
    assert refusal(recipe, items) == (
        f'items: {items}: none of its 2 items is in the universe; the first is "x\\u2028y"'
    )
    assert run(recipe, items_file(tmp_path, []))["items_outside"] == 0


def test_collect_of_a_stream_says_that_no_devices_report_to_a_curator(tmp_path: Path) -> None:
    recipe = over_list(tmp_path, "a", name="x", question="y", table_size=1)
    with pytest.raises(CommandError, match="statistic: cannot be density: no devices report to a curator"):
        call_command("collect", str(recipe), events=tmp_path / "universe.csv")


@pytest.mark.parametrize("statistic", STREAM_STATISTICS)
def test_every_statistic_runs_over_any_items_or_a_list_of_them(statistic: str, tmp_path: Path) -> None:
    items = items_file(tmp_path, ["b", "b", "b", "a"])
    needed = small_members(STREAM_STATISTICS[statistic], epsilon=0.5, delta=1e-6, universe_size=3)
    needed |= {"statistic": statistic, "table_size": None}
    some = run(recipe_file(tmp_path, **needed), items)
    listed = run(over_list(tmp_path, "x", "a", "b", **needed | {"universe_size": None}), items)
    assert some["statistic"] == listed["statistic"] == statistic
    for result in (some, listed):
        assert np.shape(result["estimate"]) == np.shape(result["truth"]) == np.shape(result["error_bound"])
    if STREAM_STATISTICS[statistic].per_item:
        assert (some["truth"], listed["truth"]) == ([3, 1, 0], [0, 1, 3])
        assert (some["labels"], listed["labels"]) == (["b", "a", "item 2"], ["x", "a", "b"])
    else:
        assert some["truth"] == listed["truth"]


def test_numbers_are_numbers_or_the_recipe_is_refused(tmp_path: Path) -> None:
    extreme = {
        "statistic": "mod_incidence",
        "k": 200,
        "epsilon": 1e-6,
        "universe_size": 100,
        "table_size": 100,
    }
    recipe, items = recipe_file(tmp_path, **extreme), items_file(tmp_path, ["a"])
    json.dumps(run(recipe, items, "--intrude", "1"), allow_nan=False)
    said = refusal(recipe, items, "--intrude", *["1"] * 20)
    assert said.startswith("announced_intrusions: must be at most 12 for this")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"statistic": "histogram"}, "statistic: must be one of density"),
        ({"statistic": None}, "statistic: "),
        ({"statistic": []}, "statistic: "),
        ({"epsilon": None}, "epsilon: is missing"),
        ({"epsilon": 2}, "epsilon: must be"),
        ({"universe_size": 1, "table_size": None}, "universe_size: must be at least 2"),
        *(
            ({"universe_size": size, "table_size": None}, "universe_size: must be a whole number")
            for size in ("1", 2.5, [], True, 0)
        ),
        ({"universe": "nothing.csv", "universe_size": None}, "universe: nothing.csv lists no items"),
        ({"items": "listed"}, "universe: is missing"),
        ({"items": "numbered"}, "items: items.csv: item 1 must be a whole number"),
        ({"universe": "none.csv"}, "universe: "),
        ({"universe": "items.csv"}, "universe_size: must be 2 with"),
        ({"announced_intrusions": "1"}, "announced_intrusions: "),
        ({"announced_intrusions": -1}, "announced_intrusions: "),
        (
            {"universe": "long.csv", "universe_size": None, "table_size": 1},
            "universe: item 1: must be a text of 1 to 200 characters",
        ),
        (
            {"universe": "twice.csv", "universe_size": None, "table_size": None},
            'universe: must not list an item twice: "N1" is on line 3 and on line 6',
        ),
        (
            {"colour": 1},
            "colour: is not a field of a density recipe; it has name, question, statistic, population, "
            "trust, opens_at, closes_at, event, event_definition, epsilon, universe_size, items, "
            "table_size, announced_intrusions, accuracy, universe",
        ),
    ],
)
def test_a_bad_recipe_ends_with_one_line_that_names_the_field(
    tmp_path: Path, changes: dict[str, Any], said: str
) -> None:
    items = items_file(tmp_path, ["a", "b"])
    items_file(tmp_path, [], "nothing.csv")
    items_file(tmp_path, ["a", "b" * 201], "long.csv")
    items_file(tmp_path, ["a", "N1", "", "b", "N1"], "twice.csv")
    line = refusal(recipe_file(tmp_path, **changes), items).replace(f"{tmp_path}/", "")
    assert line.startswith(said)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"thing\na\n", "line 1"),
        (b"item\na\nb,c\n", "line 3: must have 1 cell (item), not 2"),
        (b"item\n\xff\n", "line 2: must be UTF-8 text (invalid start byte)"),
        *(
            (f"item\na\n{no_item}\nb\n".encode(), "line 3: an item must be a text of 1 to 200 characters")
            for no_item in ("a" * 201, "é" * 201, '""')
        ),
    ],
)
def test_bad_items_end_with_one_line_that_names_theirs(tmp_path: Path, content: bytes, said: str) -> None:
    items = tmp_path / "items.csv"
    items.write_bytes(content)
    line = refusal(recipe_file(tmp_path), items)
    assert line.startswith("items: ")
    assert said in line


def test_bad_options_end_with_one_line_that_names_the_option(tmp_path: Path) -> None:
    recipe, items = recipe_file(tmp_path), items_file(tmp_path, ["a"])
    assert refusal(recipe, tmp_path / "none.csv").startswith("items: ")
    assert refusal(recipe, items, "--intrude", "2").startswith("intrude: must be a whole number")
    assert refusal(recipe, items, "--seed", "-5").startswith("seed: must be a whole number")
    assert refusal(recipe, items, "--intrude", "0", *["1"] * 20).startswith("announced_intrusions: ")


@pytest.mark.parametrize(
    "member",
    [
        *('"universe": "a\\u0000b"', '"universe": "a\\ud800b"', '"universe": "a\\nb"', '"a\\nb": 1'),
        *(f'"universe": "{"a" * 5_000}"', f'"{"a" * 5_000}": 1'),
    ],
)
def test_names_that_are_none_are_refused_in_one_short_line(member: str, tmp_path: Path) -> None:
    recipe = tmp_path / "recipe.json"
    recipe.write_text(f'{{"statistic": "density", "epsilon": 0.5, {member}}}')
    assert len(refusal(recipe, items_file(tmp_path, ["a"]))) < 200


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path):
        assert refusal(recipe_file(tmp_path), path).endswith("is not a regular file")
    assert "too long" in refusal(recipe_file(tmp_path), tmp_path / ("a" * 300))


@pytest.mark.parametrize("number", ["NaN", "1e400", "-Infinity", "1" + "0" * 5_000])
@pytest.mark.parametrize("field", ["epsilon", "universe_size", "table_size", "announced_intrusions"])
def test_numbers_that_are_none_are_refused_in_one_line(field: str, number: str, tmp_path: Path) -> None:
    members = {"statistic": '"density"', "epsilon": "0.5", "universe_size": "3", field: number}
    recipe = tmp_path / "recipe.json"
    written = ", ".join(f'"{name}": {value}' for name, value in members.items())
    recipe.write_text(f"{{{written}}}")
    refusal(recipe, items_file(tmp_path, ["a"]))


@pytest.mark.django_db
def test_a_recipe_over_a_list_is_published_without_storing_the_list(tmp_path: Path) -> None:
    items_file(tmp_path, [f"tail-{number}" for number in range(50)], "universe.csv")
    members = stream_members(universe="universe.csv", universe_size=None, items=None, table_size=50)
    path = tmp_path / "recipe.json"
    path.write_text(json.dumps(members))
    out = StringIO()
    call_command("recipe", "publish", str(path), stdout=out)
    recipe = Recipe.objects.get()
    assert recipe.identifier in out.getvalue()
    parameters = recipe.published.parameters
    assert (parameters.items, parameters.universe_size) == ("listed", 50)
    stream = Stream.objects.get()
    sealed = [bytes(blob).decode("latin-1") for blob in (StreamSample.objects.get().sealed, stream.state)]
    stored = [recipe.document, json.dumps(recipe.draft), stream.document, *sealed]
    assert not [text for text in stored if "tail-" in text or "universe.csv" in text]
