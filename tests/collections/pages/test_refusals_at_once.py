"""A form says everything that is wrong with it the first time."""

import re
from typing import Any

import pytest
from django.test import Client

from tests.collections.pages.test_recipe_pages import form_data, new_url
from tests.factories import published_recipe
from tests.page_text import page_text
from tests.scenes import analyst

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("changes", "fields"),
    [
        ({"event": "Not One", "segments": "a\na", "closes_at": "2001-01-01T00:00"}, {"event", "segments"}),
        ({"name": "", "event": "Not One", "segments": "a\na"}, {"name", "event", "segments"}),
        ({"epsilon": "0", "name": "", "event": "Not One"}, {"epsilon", "name", "event"}),
    ],
)
def test_form_names_every_wrong_field_the_first_time(
    client: Client, changes: dict[str, str], fields: set[str]
) -> None:
    client.force_login(analyst())
    form = client.post(new_url(), form_data(action="save", **changes)).context["form"]
    assert set(form.errors) >= fields
    assert "__all__" not in form.errors


def test_form_names_every_limit_of_the_site_beside_other_refusals(client: Client, settings: Any) -> None:
    settings.SMALLEST_COHORT, settings.LARGEST_EPSILON, settings.LARGEST_DELTA = 1_000, 0.5, 1e-8
    client.force_login(analyst())
    data = form_data(action="save", event="Not One", cohort_size="500", epsilon="1", delta="1e-6")
    form = client.post(new_url(), data).context["form"]
    assert set(form.errors) == {"event", "cohort_size", "epsilon", "delta"}


def test_recipes_with_one_question_are_told_apart_by_their_times(client: Client) -> None:
    for name in ("First", "Second"):
        published_recipe(name=name)
    page = page_text(client.get("/"))
    assert page.count('<span class="muted small">asked ') == 2


def test_a_page_without_figures_leaves_their_place_empty_so_that_nothing_is_said_of_earlier_ones(
    client: Client,
) -> None:
    """The style sheet hides the sentence where the place is `:empty`, which white space is not."""
    client.force_login(analyst())
    page = client.post(new_url(), form_data(action="preview", epsilon="0")).content.decode()
    assert "from the previous preview" in page
    assert re.search(r'<div id="preview-figures"[^>]*></div>', page)
