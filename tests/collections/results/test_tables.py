"""All public results as one table, read by what warehouses run."""

import csv
import json
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest
from django.test import Client

from panprivacy.formats.times import format_time
from panprivacy.recipe.result_rows import COLUMNS, main_guarantee
from publishing.publication import recipe_publish_file
from recipes.models import Recipe
from results import tables, tables_api
from results.documents import signed_document
from tests.factories import recipe_members, report_of_values, submitted
from tests.refusals import raising
from tests.scenes import finish, finished_recipe, simulated_recipe

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


def test_table_has_each_value_as_it_was_signed(client: Client) -> None:
    assert table(client).decode().splitlines() == [HEADER]
    recipe = finished_recipe([[1, 0, 0], [0, 1, 0]] * 3, statistic="histogram", k=2, cohort_size=2)
    signed = signed_document(recipe.release)
    found = rows(client)
    assert [row["value"] for row in found] == signed["labels"]
    assert [float(row["estimate"]) for row in found] == signed["estimate"]
    assert [float(row["low"]) for row in found] == signed["interval"]["low"]
    assert [float(row["standard_error"]) for row in found] == signed["standard_error"]
    guarantee = main_guarantee(signed["guarantees"])
    assert guarantee is not None
    assert (guarantee["model"], guarantee["relation"]) == ("aggregator", "replace")
    for row in found:
        assert (row["recipe"], row["segment"], row["round"]) == (recipe.identifier, "", "")
        assert float(row["epsilon"]) == guarantee["epsilon"]
        assert (row["level"], row["reports"], row["released_at"]) == ("0.95", "6", signed["released_at"])


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


@pytest.mark.parametrize("query", ["?since=yesterday", "?since=2026-01-01", "?simulations=1", "?sinse=x"])
def test_table_refuses_what_it_does_not_know_and_names_it(client: Client, query: str) -> None:
    answer = client.get(f"/api/v1/results.csv{query}")
    assert (answer.status_code, answer.json()["field"]) == (400, query[1:].split("=")[0])


def test_unchanged_table_is_not_made_again(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    result()
    answer = client.get("/api/v1/results.csv")
    etag = answer["ETag"]
    assert answer.getvalue()
    assert client.get("/api/v1/results.csv", headers={"If-None-Match": etag}).status_code == 304
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
        queries = re.findall(r"```sql\n(.*?)```", (ROOT / "docs/warehouse.md").read_text(), re.S)
        assert len(queries) == 2
        for _ in range(2):  # A second load of the same file adds nothing.
            database.execute(queries[0])
        assert database.sql("SELECT count(*) FROM results").fetchall() == [(1,)]
        signed = json.loads(Recipe.objects.get().release.signed.document)
        likely = signed["interval"]["low"][0] > 0
        assert len(database.sql(queries[1]).fetchall()) == likely


def test_large_table_is_sent_from_a_file(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    result()
    small = table(client)
    monkeypatch.setattr(tables_api, "IN_MEMORY", 100)
    assert table(client) == small
