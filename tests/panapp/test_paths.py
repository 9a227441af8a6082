"""A report runs through the files that docs/architecture.md names, and through no others."""

import re
import sys
from inspect import CO_OPTIMIZED
from pathlib import Path
from typing import Any

import pytest
from celery import current_app

from results.aggregation.models import Chunk
from results.aggregation.tasks import process_chunk
from results.tasks import advance_collection, advance_collections
from tests.factories import published_recipe
from tests.panapp.test_ingest import address, asked, body_of
from tests.panapp.test_ingest import ingest as ingest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.django_db
def test_report_runs_through_the_files_that_the_page_names(ingest: Any, monkeypatch: Any) -> None:
    sent, ran = list[tuple[str, str]](), set[Any]()
    monkeypatch.setattr(current_app, "send_task", lambda _, args: sent.append(args))
    monkeypatch.setattr("results.tasks.closing_time", lambda recipe: recipe.published_at)
    recipe = published_recipe(cohort_size=2)
    asked(ingest, address(recipe).replace(str(recipe.identifier), "0" * 64), b"")  # imports the views
    sys.setprofile(lambda frame, *_: ran.add(frame.f_code))
    try:
        assert [asked(ingest, address(recipe), body_of(recipe))[0] for _ in range(2)] == [201, 201]
        advance_collections()
        advance_collection(*sent.pop())
        process_chunk(str(Chunk.objects.get().pk))
        advance_collection(*sent.pop())
    finally:
        sys.setprofile(None)
    section = (ROOT / "docs/architecture.md").read_text().split("## The path of a report")[1].split("## ")[0]
    # Functions alone: modules and classes run when they are imported.
    functions = [code.co_filename for code in ran if code.co_flags & CO_OPTIMIZED]
    files = {file.removeprefix(f"{ROOT}/collections/") for file in functions}
    here = {file for file in files if not file.startswith(("/", "<", "web/", "storage/"))}
    assert here == set(re.findall(r"`([^` ]+\.py)`", section))
