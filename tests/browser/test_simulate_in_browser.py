"""Simulating a draft as people do it: a file is chosen, the page follows by itself, and in the end there is a
result beside the truth."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.collections.simulations.test_simulations import CSV
from tests.factories import draft_recipe
from tests.scenes import PASSWORD, analyst

from .accessibility import violations
from .conftest import Visitor

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

Visit = Callable[..., Visitor]


def test_draft_is_simulated_with_a_file_that_a_worker_reads(
    visit: Visit, tmp_path: Path, settings: Any
) -> None:
    settings.SITE_URL = "http://localhost"
    file = tmp_path / "events.csv"
    file.write_text(CSV)
    analyst()
    recipe = draft_recipe()
    visitor = visit()
    visitor.sign_in("ana", PASSWORD)
    page = visitor.open(f"/recipes/drafts/{recipe.pk}/")
    page.get_by_role("link", name="Simulate it").click()
    expect(page.get_by_label("Workload")).to_be_visible()
    assert violations(visitor) == []
    page.get_by_label("Workload").select_option("events")
    latin = tmp_path / "latin.csv"
    latin.write_bytes(CSV.encode() + b"b\xe9,1,1\n")
    box = page.locator("#id_csv")
    page.get_by_label("Or choose the file").set_input_files(latin)
    expect(box).to_have_js_property("validationMessage", "The file must be UTF-8 text.")
    page.get_by_label("Or choose the file").set_input_files(file)
    expect(box).to_have_value(CSV)
    expect(box).to_have_js_property("validationMessage", "")
    page.get_by_role("button", name="Simulate").click()
    expect(page.locator("#simulation")).to_contain_text("Its file is being read.")
    assert violations(visitor) == []
    assert visitor.complaints == []
