"""All public results as one table, read by what warehouses run."""

import csv
import json
import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet
import pytest
from django.test import Client

from panprivacy.formats.times import format_time
from panprivacy.recipe.result_rows import COLUMNS
from publishing.publication import recipe_publish_file
from recipes.models import Recipe
from results import tables, tables_api
from results.documents import signed_document
from tests.collections.shuffle.analyzer.conftest import _analyzer  # noqa: F401  # for every test
from tests.collections.shuffle.analyzer.scene import fill, settle, shuffle_recipe
from tests.factories import recipe_members, report_of_values, submitted
from tests.refusals import raising
from tests.scenes import (
    announced,
    closed_stream,
    finish,
    finished_recipe,
    finished_round,
    open_stream,
    simulated_recipe,
)

pytestmark = pytest.mark.django_db

ROOT = Path(__file__).parents[3]
HEADER = "recipe,round,segment,value,estimate,low,high,level,standard_error,reports,epsilon,delta,released_at"


def table(client: Client, query: str = "", file: str = "csv") -> bytes:
    answer = client.get(f"/api/v1/results.{file}{query}")
    assert answer.status_code == 200, answer.content
    return bytes(answer.getvalue())


def rows(client: Client, query: str = "") -> list[dict[str, str]]:
    return list(csv.DictReader(table(client, query).decode().splitlines()))


def result(**changes: Any) -> Recipe:
    return finished_recipe([[1], [1], [0], [1], [0]], **changes)


def finished_shuffle() -> Recipe:
    recipe = shuffle_recipe(simulation=False)
    fill(recipe, [0, 1, 1])
    settle()
    return recipe


def test_table_has_each_value_as_it_was_signed(client: Client) -> None:
    assert table(client).decode().splitlines() == [HEADER]
    recipe = finished_recipe([[1, 0, 0], [0, 1, 0]] * 3, statistic="histogram", k=2, cohort_size=2)
    signed = signed_document(recipe.release)
    found = rows(client)
    assert [row["value"] for row in found] == signed["labels"]
    assert [float(row["estimate"]) for row in found] == signed["estimate"]
    assert [float(row["low"]) for row in found] == signed["interval"]["low"]
    assert [float(row["standard_error"]) for row in found] == signed["standard_error"]
    for row in found:
        assert (row["recipe"], row["segment"], row["round"]) == (recipe.identifier, "", "")
        assert (row["level"], row["reports"], row["released_at"]) == ("0.95", "6", signed["released_at"])


def test_table_has_rounds_and_shown_segments_as_they_were_signed(client: Client) -> None:
    signed = signed_document(finished_round().release)
    shown = [segment for segment in signed["segments"] if segment["shown"]]
    assert [segment["label"] for segment in shown] == ["old", "new"]
    whole, *found = rows(client)
    assert (whole["round"], whole["segment"], whole["value"]) == ("1", "", signed["labels"][0])
    assert whole["standard_error"] == str(signed["standard_error"][0])
    assert [(row["segment"], float(row["estimate"])) for row in found] == [
        (segment["label"], segment["answers"][0]) for segment in shown
    ]
    ends = [segment["intervals"][0]["answers"][0] for segment in shown]
    assert [[float(row["low"]), float(row["high"])] for row in found] == ends
    assert {(row["round"], row["value"], row["standard_error"]) for row in found} == {
        ("1", whole["value"], "")
    }


@pytest.mark.parametrize(
    ("made", "model", "relation"),
    [
        (lambda: finished_recipe([[1], [0], [1]] * 3), "aggregator", "replace"),
        (lambda: finished_recipe([[1], [0], [1]] * 3, sampling_rate=0.5), "aggregator", "replace"),
        (finished_round, "aggregator", "replace"),
        (finished_shuffle, "shuffle", "replace"),
        (lambda: closed_stream(open_stream([1, 2, 3])), "pan", "user"),
    ],
)
def test_epsilon_is_of_one_guarantee_in_the_signed_result(
    made: Callable[[], Recipe], model: str, relation: str, client: Client
) -> None:
    signed = signed_document(made().release)
    (first, *_) = [
        one
        for one in signed["guarantees"]
        if (one["model"], one["relation"], one["dishonest_fraction"]) == (model, relation, 0)
    ]
    assert first["epsilon"] > 0
    found = {(row["epsilon"], row["delta"]) for row in rows(client)}
    assert {(float(epsilon), float(delta)) for epsilon, delta in found} == {
        (first["epsilon"], first["delta"])
    }


def test_unknown_epsilon_of_a_whole_person_is_empty_in_both_files(client: Client) -> None:
    """What is stated of one element of a stream is no person's."""
    stream = closed_stream(
        open_stream([1, 1, 2], statistic="pan_histogram", delta=1e-6, universe_size=3, table_size=3)
    )
    signed = signed_document(stream.release)
    stated = {one["relation"]: one["epsilon"] for one in signed["guarantees"]}
    assert stated == {"record": 1.0, "user": None}
    found = rows(client)
    assert [row["value"] for row in found] == signed["labels"]
    assert {(row["epsilon"], row["delta"]) for row in found} == {("", "")}
    ends = [[float(row["low"]), float(row["high"])] for row in found]
    assert ends == [
        list(one) for one in zip(signed["interval"]["low"], signed["interval"]["high"], strict=True)
    ]
    read = pyarrow.parquet.read_table(pyarrow.BufferReader(table(client, file="parquet")))
    assert read.column("epsilon").null_count == read.column("delta").null_count == len(found)


def test_table_has_what_is_public_and_asked_for(client: Client) -> None:
    first, second = result(name="first"), result(name="second")
    simulated = simulated_recipe({0: 3, 1: 3}, name="simulated", cohort_size=2)
    private = recipe_publish_file(members=recipe_members(), actor=None, simulation=True, private=True)
    submitted(private, *(report_of_values(private, [1]) for _ in range(6)))
    withheld = finished_recipe([[1]], cohort_size=5)
    outcomes = [one.release.outcome for one in (finish(private), withheld)]
    assert outcomes == ["released", "withheld"]
    every = [first.identifier, second.identifier, simulated.identifier]
    assert [row["recipe"] for row in rows(client)] == every
    assert [row["recipe"] for row in rows(client, "?simulations=false")] == every[:2]
    earliest, latest = (
        format_time(one.release.released_at + timedelta(seconds=after))
        for one, after in ((first, 0), (simulated, 1))
    )
    assert [row["recipe"] for row in rows(client, f"?since={earliest}")] == every
    assert rows(client, f"?since={latest}") == []


def test_error_bounds_become_intervals_at_their_confidence(client: Client) -> None:
    stream = closed_stream(announced(open_stream([1, 1, 2], statistic="cropped_mean", t=5)))
    signed = signed_document(stream.release)
    (row,), (estimate,), (bound,) = rows(client), signed["estimate"], signed["error_bound"]
    assert (float(row["low"]), float(row["high"])) == (estimate - bound, estimate + bound)
    assert float(row["level"]) == signed["confidence"]


@pytest.mark.parametrize("query", ["?since=yesterday", "?since=2026-01-01", "?simulations=1", "?sinse=x"])
def test_table_refuses_what_it_does_not_know_and_names_it(client: Client, query: str) -> None:
    answer = client.get(f"/api/v1/results.csv{query}")
    assert (answer.status_code, answer.json()["field"]) == (400, query[1:].split("=")[0])


def test_unchanged_table_is_not_made_again(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    result()
    answer = client.get("/api/v1/results.csv")
    etag = answer["ETag"]
    # RFC 9110, 8.8.3: no space.
    assert re.fullmatch(r'"[!#-~]+"', etag)
    assert answer.getvalue()
    with monkeypatch.context() as patched:
        patched.setattr(tables_api, "_made", raising(AssertionError))
        unchanged = client.get("/api/v1/results.csv", headers={"If-None-Match": etag})
    assert (unchanged.status_code, unchanged["ETag"]) == (304, etag)
    result(name="another")
    changed = client.get("/api/v1/results.csv", headers={"If-None-Match": etag})
    assert (changed.status_code, changed.getvalue() != b"") == (200, True)


def test_tables_under_way_are_bounded_and_none_is_lost(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    result()
    with tables_api._places, tables_api._places:
        answer = client.get("/api/v1/results.csv")
        assert (answer.status_code, answer["Retry-After"]) == (503, "5")
    monkeypatch.setattr(tables, "_pyarrow", raising(tables.NoParquetError))
    for _ in range(3):  # A file that cannot be made takes no place.
        assert client.get("/api/v1/results.parquet").status_code == 501
    assert len(rows(client)) == 1


def test_duckdb_loads_both_files_and_runs_what_the_docs_say(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its reader of Parquet is not the library that wrote the file."""
    result(name="first")
    monkeypatch.chdir(tmp_path)
    for name in ("csv", "parquet"):
        Path(f"results.{name}").write_bytes(table(client, file=name))
    with duckdb.connect() as database:
        database.sql("SET timezone = 'UTC'")
        read = [database.sql(f"FROM 'results.{name}'") for name in ("csv", "parquet")]
        assert read[0].columns == read[1].columns == list(COLUMNS) == HEADER.split(",")
        assert [str(kind) for kind in read[1].types] == [
            *("VARCHAR", "INTEGER", "VARCHAR", "VARCHAR", *["DOUBLE"] * 5),
            *("BIGINT", "DOUBLE", "DOUBLE", "TIMESTAMP WITH TIME ZONE"),
        ]
        one, other = (relation.fetchall() for relation in read)
        assert [row[:-1] for row in one] == [row[:-1] for row in other]
        page = (ROOT / "docs/warehouse.md").read_text()
        (address,) = re.findall(r"curl -fo results\.parquet 'https://telemetry\.example(.+)'", page)
        assert client.get(address).getvalue().startswith(b"PAR1")
        queries = re.findall(r"```sql\n(.*?)```", page, re.S)
        assert len(queries) == 2
        for _ in range(2):  # A second load of the same file adds nothing.
            database.execute(queries[0])
        assert database.sql("SELECT count(*) FROM results").fetchall() == [(1,)]
        signed = json.loads(Recipe.objects.get().release.signed.document)
        likely = signed["interval"]["low"][0] > 0
        assert len(database.sql(queries[1]).fetchall()) == likely


def test_large_table_is_sent_from_a_file(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    result()
    small = client.get("/api/v1/results.csv")
    monkeypatch.setattr(tables_api, "IN_MEMORY", 100)
    large = client.get("/api/v1/results.csv")
    assert (small.streaming, large.streaming) == (False, True)
    assert large.getvalue() == small.getvalue()
