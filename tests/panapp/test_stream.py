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

from panapp import stream_simulation
from panprivacy.streams import STREAM_STATISTICS
from recipes.models import Recipe
from streams.models import Stream, StreamSample
from tests.factories import stream_members
from tests.statistic_members import small_members

MEMBERS = {
    "statistic",
    "items",
    "items_outside",
    "estimate",
    "standard_error",
    "standard_error_note",
    "error_bound",
    "confidence",
    "interval",
    "truth",
    "guarantee",
    "state_bytes",
    "seconds",
}
EXAMPLES: Path = settings.BASE_DIR / "examples"


def items_file(folder: Path, items: Sequence[str], name: str = "items.csv", header: str = "item") -> Path:
    path = folder / name
    path.write_text("\n".join([header, *items]) + "\n")
    return path


def recipe_file(folder: Path, **changes: Any) -> Path:
    path = folder / "stream.json"
    members = {
        "statistic": "density",
        "epsilon": 0.5,
        "universe_size": 2_000,
        "table_size": 1_000,
        **changes,
    }
    path.write_text(json.dumps({name: value for name, value in members.items() if value is not None}))
    return path


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
    assert result["statistic"] == "density"
    assert result["items"] == 1_500
    assert result["truth"] == 0.25
    assert result["confidence"] == 0.95
    assert result["error_bound"] > 0
    interval = result["interval"]
    assert interval["level"] == 0.95
    # An interval keeps to the range of what is measured; an unbiased estimate may lie outside.
    assert interval["low"] <= min(max(result["estimate"], 0), 1) <= interval["high"]
    guarantee = result["guarantee"]
    assert (guarantee["model"], guarantee["relation"]) == ("pan", "user")
    assert (guarantee["intrusions"], guarantee["announced_intrusions"]) == (1, 0)
    assert 1_000 < result["state_bytes"] < 2_000
    assert result["seconds"] >= 0


def test_numbers_are_rounded_to_12_digits_estimate_and_interval_alike(tmp_path: Path) -> None:
    """Seven counts of 1,000 cells, scaled: without rounding some end in the 17th digit."""
    items = items_file(tmp_path, [f"N{number}" for number in range(50)])
    for seed in range(7):
        result = run(recipe_file(tmp_path), items, "--seed", str(seed))
        for number in (result["estimate"], result["interval"]["low"], result["interval"]["high"]):
            assert number == float(f"{number:.12g}")


def test_every_guarantee_is_printed_and_the_one_of_the_recipe_apart(tmp_path: Path) -> None:
    items, one = items_file(tmp_path, ["a"]), recipe_file(tmp_path, announced_intrusions=0)
    assert "guarantees" not in run(one, items)
    looked_at = run(one, items, "--intrude", "1")
    assert [guarantee["announced_intrusions"] for guarantee in looked_at["guarantees"]] == [1, 0]
    assert looked_at["guarantee"] == looked_at["guarantees"][0]


def test_a_statistic_of_several_values_labels_them(tmp_path: Path) -> None:
    recipe = recipe_file(tmp_path, statistic="mod_incidence", k=3, universe_size=3, table_size=None)
    result = run(recipe, items_file(tmp_path, ["a"]))
    assert result["labels"] == ["0 (mod 3)", "1 (mod 3)", "2 (mod 3)"]
    for ends in ("low", "high"):
        assert len(result["interval"][ends]) == len(result["labels"])


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


@pytest.mark.parametrize(("universe_size", "useless"), [(10, True), (100_000, False)])
def test_a_result_that_says_nothing_is_named_so_beside_it(
    universe_size: int, useless: bool, tmp_path: Path
) -> None:
    err = StringIO()
    recipe = recipe_file(tmp_path, universe_size=universe_size, table_size=None)
    result = run(recipe, items_file(tmp_path, ["a"]), "--json", stderr=err)
    assert (result["error_bound"] >= 0.5) == useless
    assert ("This result says nothing" in err.getvalue()) == useless


def test_a_seed_repeats_everything_but_the_time(tmp_path: Path) -> None:
    recipe, items = recipe_file(tmp_path), items_file(tmp_path, ["a", "b", "a"])
    first, second, other = (run(recipe, items, "--seed", seed) for seed in ("5", "5", "6"))
    for result in (first, second, other):
        del result["seconds"]
    assert first == second
    assert first != other


def test_announced_intrusions_cost_privacy_and_precision(tmp_path: Path) -> None:
    recipe, items = recipe_file(tmp_path), items_file(tmp_path, ["a", "b", "c"])
    none, one, two = (
        run(recipe, items, *arguments) for arguments in ([], ["--intrude", "1"], ["--intrude", "0", "3"])
    )
    for fewer, more, announced in ((none, one, 1), (one, two, 2)):
        assert more["guarantee"]["announced_intrusions"] == announced
        assert more["guarantee"]["epsilon"] > fewer["guarantee"]["epsilon"]
        assert more["error_bound"] > fewer["error_bound"]


def test_a_recipe_that_allows_more_intrusions_promises_what_it_promises(tmp_path: Path) -> None:
    items = items_file(tmp_path, ["a"])
    result = run(recipe_file(tmp_path, announced_intrusions=3), items, "--intrude", "1")
    assert result["guarantee"]["announced_intrusions"] == 3


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


def test_a_universe_beside_the_recipe_is_what_the_stream_is_over(tmp_path: Path) -> None:
    items_file(tmp_path, ["a", "b", "c", "d"], "universe.csv")
    err = StringIO()
    recipe = recipe_file(tmp_path, universe="universe.csv", universe_size=None, table_size=None)
    result = run(recipe, items_file(tmp_path, ["a", "b", "a"]), stderr=err)
    assert (result["items"], result["items_outside"], result["truth"]) == (3, 0, 0.5)
    assert "Not in the universe" not in err.getvalue()


def test_items_outside_a_listed_universe_are_counted_and_named_beside_the_result(tmp_path: Path) -> None:
    items_file(tmp_path, ["a", "b", "c", "d"], "universe.csv")
    recipe = recipe_file(tmp_path, universe="universe.csv", universe_size=None, table_size=None)
    err = StringIO()
    result = run(recipe, items_file(tmp_path, ["a", "NA", "b", "x", "NA"]), "--json", stderr=err)
    assert (result["items"], result["items_outside"], result["truth"]) == (5, 3, 0.5)
    assert 'Not in the universe, and passed over: 3 of 5 items; the first is "NA".' in err.getvalue()


def test_a_file_without_an_item_of_the_universe_is_refused_unless_it_has_none(tmp_path: Path) -> None:
    items_file(tmp_path, ["a", "b"], "universe.csv")
    recipe = recipe_file(tmp_path, universe="universe.csv", universe_size=None, table_size=None)
    items = items_file(tmp_path, ["x\u2028y", "b "])
    assert refusal(recipe, items) == (
        f'items: {items}: none of its 2 items is in the universe; the first is "x\\u2028y"'
    )
    assert run(recipe, items_file(tmp_path, []))["items_outside"] == 0


def test_a_universe_that_lists_an_item_twice_is_refused_with_the_item_and_its_lines(tmp_path: Path) -> None:
    items_file(tmp_path, ["a", "N1", "", "b", "N1"], "universe.csv")
    recipe = recipe_file(tmp_path, universe="universe.csv", universe_size=None, table_size=None)
    said = 'universe: must not list an item twice: "N1" is on line 3 and on line 6'
    assert refusal(recipe, items_file(tmp_path, ["a"])) == said
    with pytest.raises(CommandError) as error:
        call_command("recipe", "publish", str(recipe))
    assert str(error.value) == said


def test_a_member_that_no_stream_recipe_has_is_refused_with_all_that_it_may_have(tmp_path: Path) -> None:
    said = refusal(recipe_file(tmp_path, epsilonn=0.5), items_file(tmp_path, ["a"]))
    field, _, fields = said.partition(": is not a field of a density recipe; it has ")
    assert field == "epsilonn"
    assert fields == (
        "name, question, event, event_definition, statistic, population, trust, opens_at, closes_at, "
        "epsilon, universe_size, items, table_size, announced_intrusions, accuracy, universe"
    )


def test_collect_of_a_stream_over_a_list_says_that_no_devices_report_to_a_curator(tmp_path: Path) -> None:
    items = items_file(tmp_path, ["a"], "universe.csv")
    recipe = recipe_file(
        tmp_path, name="x", question="y", universe=items.name, universe_size=None, table_size=1
    )
    with pytest.raises(CommandError, match="statistic: cannot be density: no devices report to a curator"):
        call_command("collect", str(recipe), events=items)


def test_the_table_has_the_size_of_the_universe_unless_the_recipe_says_so(tmp_path: Path) -> None:
    items = items_file(tmp_path, ["a"])
    sizes = [
        run(recipe_file(tmp_path, table_size=size), items)["state_bytes"] for size in (None, 2_000, 1_000)
    ]
    assert sizes[0] == sizes[1] == sizes[2] + 1_000


@pytest.mark.parametrize("statistic", STREAM_STATISTICS)
def test_every_statistic_runs_over_any_items_or_a_list_of_them(statistic: str, tmp_path: Path) -> None:
    stream = ["b", "b", "b", "a"]
    items, universe = items_file(tmp_path, stream), items_file(tmp_path, ["x", "a", "b"], "universe.csv")
    needed = small_members(STREAM_STATISTICS[statistic], epsilon=0.5, delta=1e-6, universe_size=3)
    needed |= {"statistic": statistic, "table_size": None}
    some = run(recipe_file(tmp_path, **needed), items)
    over_list = {"universe": universe.name, "universe_size": None}
    listed = run(recipe_file(tmp_path, **needed | over_list), items)
    assert some["statistic"] == listed["statistic"] == statistic
    for result in (some, listed):
        assert np.shape(result["estimate"]) == np.shape(result["truth"]) == np.shape(result["error_bound"])
    if STREAM_STATISTICS[statistic].per_item:
        assert (some["truth"], listed["truth"]) == ([3, 1, 0], [0, 1, 3])
        assert (some["labels"], listed["labels"]) == (["b", "a", "item 2"], ["x", "a", "b"])
    else:
        assert some["truth"] == listed["truth"]


def test_hashed_items_are_hashed_as_a_real_curator_hashes_them(tmp_path: Path) -> None:
    result = run(recipe_file(tmp_path, items="hashed"), items_file(tmp_path, ["a", "b"]))
    assert result["truth"] == 2 / 2_000


def test_the_multiplicative_density_runs_from_the_same_file(tmp_path: Path) -> None:
    result = run(recipe_file(tmp_path, accuracy="multiplicative"), items_file(tmp_path, ["a", "b"]))
    assert result["truth"] == 2 / 2_000


@pytest.mark.parametrize("intrusions", [1, 20])
def test_numbers_are_numbers_or_the_recipe_is_refused(intrusions: int, tmp_path: Path) -> None:
    extreme = {
        "statistic": "mod_incidence",
        "k": 200,
        "epsilon": 1e-6,
        "universe_size": 100,
        "table_size": 100,
    }
    recipe, items = recipe_file(tmp_path, **extreme), items_file(tmp_path, ["a"])
    looks = ["--intrude", *["1"] * intrusions]
    if intrusions == 20:
        assert refusal(recipe, items, *looks).startswith("announced_intrusions: must be at most 12 for this")
    else:
        json.dumps(run(recipe, items, *looks), allow_nan=False)


def test_a_published_recipes_members_are_allowed_and_ignored(tmp_path: Path) -> None:
    recipe = recipe_file(tmp_path, name="x", question="y", trust="curator", population="everyone")
    assert run(recipe, items_file(tmp_path, ["a"]))["items"] == 1


def test_the_mean_over_a_file_of_no_items_is_estimated(tmp_path: Path) -> None:
    result = run(recipe_file(tmp_path, statistic="cropped_mean", t=5), items_file(tmp_path, []))
    assert (result["items"], result["truth"]) == (0, 0)


def test_bad_input_ends_with_one_line_that_names_the_field(tmp_path: Path) -> None:
    items = items_file(tmp_path, ["a", "b"])
    assert refusal(recipe_file(tmp_path, statistic="histogram"), items).startswith(
        "statistic: must be one of density"
    )
    assert refusal(recipe_file(tmp_path, statistic=None), items).startswith("statistic: ")
    assert refusal(recipe_file(tmp_path, statistic=[]), items).startswith("statistic: ")
    assert refusal(recipe_file(tmp_path, epsilon=None), items).startswith("epsilon: is missing")
    assert refusal(recipe_file(tmp_path, epsilon=2), items).startswith("epsilon: must be")
    assert refusal(recipe_file(tmp_path, universe_size=1, table_size=None), items).startswith(
        "universe_size: must be at least 2"
    )
    for universe_size in ("1", 2.5, [], True, 0):
        refused = refusal(recipe_file(tmp_path, universe_size=universe_size, table_size=None), items)
        assert refused.startswith("universe_size: must be a whole number")
    (tmp_path / "nothing.csv").write_text("item\n")
    over_nothing = recipe_file(tmp_path, universe="nothing.csv", universe_size=None)
    assert refusal(over_nothing, items).endswith("nothing.csv lists no items")
    assert refusal(recipe_file(tmp_path, colour=1), items).startswith("colour: ")
    assert refusal(recipe_file(tmp_path, items="listed"), items).startswith("universe: is missing")
    assert refusal(recipe_file(tmp_path, items="numbered"), items).startswith(
        f"items: {items}: item 1 must be a whole number"
    )
    assert refusal(recipe_file(tmp_path, universe="none.csv"), items).startswith("universe: ")
    assert refusal(recipe_file(tmp_path, universe="items.csv"), items).startswith(
        "universe_size: must be 2 with"
    )
    for intrusions in ("1", -1):
        assert refusal(recipe_file(tmp_path, announced_intrusions=intrusions), items).startswith(
            "announced_intrusions: "
        )
    recipe = recipe_file(tmp_path)
    assert refusal(recipe, tmp_path / "none.csv").startswith("items: ")
    assert refusal(recipe, items_file(tmp_path, ["a"], header="thing")).startswith("items: ")
    assert refusal(recipe, items_file(tmp_path, ["a", "b,c"])).endswith(
        "line 3: must have 1 cell (item), not 2"
    )
    (tmp_path / "latin.csv").write_bytes(b"item\n\xff\n")
    assert refusal(recipe, tmp_path / "latin.csv").endswith("line 2: must be UTF-8 text (invalid start byte)")
    items = items_file(tmp_path, ["a"])
    assert refusal(recipe, items, "--intrude", "2").startswith("intrude: must be a whole number")
    assert refusal(recipe, items, "--seed", "-5").startswith("seed: must be a whole number")
    for no_item in ("a" * 201, "é" * 201, '""'):
        file = items_file(tmp_path, ["a", no_item, "b"], "no_item.csv")
        assert refusal(recipe, file).endswith("line 3: an item must be a text of 1 to 200 characters")
    items_file(tmp_path, ["a", "b" * 201], "listed.csv")
    said = refusal(recipe_file(tmp_path, universe="listed.csv", universe_size=None, table_size=1), items)
    assert said == "universe: item 1: must be a text of 1 to 200 characters"
    assert refusal(recipe, items, "--intrude", "0", *["1"] * 20).startswith("announced_intrusions: ")


@pytest.mark.parametrize(
    "member",
    [
        '"universe": "a\\u0000b"',
        '"universe": "a\\ud800b"',
        '"universe": "a\\nb"',
        f'"universe": "{"a" * 5_000}"',
        '"a\\nb": 1',
        f'"{"a" * 5_000}": 1',
    ],
)
def test_a_recipe_file_with_names_that_are_none_is_refused_in_one_short_line(
    member: str, tmp_path: Path
) -> None:
    recipe = tmp_path / "recipe.json"
    recipe.write_text(f'{{"statistic": "density", "epsilon": 0.5, {member}}}')
    assert len(refusal(recipe, items_file(tmp_path, ["a"]))) < 200


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (bytes(range(256)), "line 1: must be UTF-8 text without NUL characters"),
        (b"item\n" + b"a" * 10_000_000, "line 2: must be shorter than 1,048,576 bytes"),
        (b'item\n"a\n', "line 2, column 1: begins with a quote that is not closed"),
        (b"item,item\na,a\n", "line 1: must name each column once"),
        (b"", "is empty; line 1 must be the header item"),
    ],
)
def test_a_file_that_is_no_list_of_items_is_refused_in_one_line(
    content: bytes, says: str, tmp_path: Path
) -> None:
    (tmp_path / "items.csv").write_bytes(content)
    assert says in refusal(recipe_file(tmp_path), tmp_path / "items.csv")


def test_a_file_of_another_system_holds_the_same_items(tmp_path: Path) -> None:
    (tmp_path / "items.csv").write_bytes(b"\xef\xbb\xbfitem\r\na\r\nb\r\n")
    assert run(recipe_file(tmp_path), tmp_path / "items.csv")["items"] == 2


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert refusal(recipe_file(tmp_path), tmp_path / "pipe").endswith("is not a regular file")
    assert refusal(recipe_file(tmp_path), tmp_path).endswith("is not a regular file")


def test_a_file_that_cannot_be_named_is_refused_in_one_line(tmp_path: Path) -> None:
    assert "too long" in refusal(recipe_file(tmp_path), tmp_path / ("a" * 300))


@pytest.mark.parametrize("number", ["NaN", "1e400", "-Infinity", "1" + "0" * 5_000])
@pytest.mark.parametrize("field", ["epsilon", "universe_size", "table_size", "announced_intrusions"])
def test_numbers_that_are_none_are_refused_in_one_line(field: str, number: str, tmp_path: Path) -> None:
    members = {"statistic": '"density"', "epsilon": "0.5", "universe_size": "3", field: number}
    recipe = tmp_path / "recipe.json"
    written = ", ".join(f'"{name}": {value}' for name, value in members.items())
    recipe.write_text(f"{{{written}}}")
    refusal(recipe, items_file(tmp_path, ["a"]))


def test_the_example_runs() -> None:
    result = run(EXAMPLES / "stream.json", EXAMPLES / "items.csv")
    assert result["truth"] == pytest.approx(1_397 / 5_000, abs=0.2)


@pytest.mark.django_db
def test_a_recipe_over_a_list_is_published_from_its_file_and_the_list_is_not_stored(tmp_path: Path) -> None:
    universe = [f"tail-{number}" for number in range(50)]
    items_file(tmp_path, universe, "universe.csv")
    members = stream_members(universe="universe.csv", universe_size=None, items=None, table_size=50)
    path = tmp_path / "recipe.json"
    path.write_text(json.dumps(members))
    out = StringIO()
    call_command("recipe", "publish", str(path), stdout=out)
    recipe = Recipe.objects.get()
    assert recipe.identifier in out.getvalue()
    parameters = recipe.published.parameters
    assert (parameters.items, parameters.universe_size) == ("listed", 50)
    stored = [recipe.document, json.dumps(recipe.draft), Stream.objects.get().document]
    stored += [
        bytes(blob).decode("latin-1")
        for blob in (StreamSample.objects.get().sealed, Stream.objects.get().state)
    ]
    assert not [text for text in stored if "tail-" in text or "universe.csv" in text]
