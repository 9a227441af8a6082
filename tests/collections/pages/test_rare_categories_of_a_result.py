"""A result of `categories` leads analysts to the form of `rare_categories`, with γ as it came out."""

from urllib.parse import parse_qs, urlsplit

import pytest
from django.urls import reverse

from pages.publish.forms import recipe_form_class
from pages.publish.views import _filled_in
from panprivacy.randomizers.rare_categories import RareCategories
from releases.shares import shares_of
from tests.scenes import analyst, finished_recipe

pytestmark = pytest.mark.django_db

NONE, RARE = [1, 0, 0], [0, 1, 0]
ASKED = {"statistic": "categories", "steps": None, "k": 3, "epsilon": 8.0}


def link(client, recipe):
    return client.get(reverse("recipe", args=[recipe.identifier])).context.get("rarely")


def test_the_form_starts_with_the_share_that_the_result_has(client):
    recipe = finished_recipe([NONE] * 90 + [RARE] * 10, **ASKED)
    page = client.get(reverse("recipe", args=[recipe.identifier])).content.decode()
    assert "Ask for its rare categories" not in page, "only analysts publish"
    client.force_login(analyst())
    address = link(client, recipe)
    shares = shares_of(recipe, recipe.release)
    rare = 1 - shares.share(recipe.release.values[0])
    query = parse_qs(urlsplit(address).query)
    assert float(query["rare_share"][0]) == pytest.approx(rare, rel=5e-3)
    form = client.get(address).context["form"]
    assert form["rare_share"].value() == query["rare_share"][0]
    assert (form["devices"].value(), form["k"].value()) == (100, 3)
    assert form["population_size"].value() == 100
    others = int(query["counted_devices"][0]) / 2 / 100 / float(query["rare_share"][0])
    assert 0.75 <= others < 1, "the others count for certain, or seldom: categories would do better"
    assert form["population"].value() == recipe.published.population


@pytest.mark.parametrize("values", [[RARE] * 90 + [NONE] * 10, [NONE] * 100], ids=["most", "none"])
def test_no_form_where_the_share_is_none_of_rare_categories(client, values):
    client.force_login(analyst())
    assert link(client, finished_recipe(values, **ASKED)) == ""


def test_no_form_for_other_statistics(client):
    client.force_login(analyst())
    assert (
        link(
            client,
            finished_recipe([[1, 0, 0]] * 90 + [[0, 1, 0]] * 10, statistic="histogram", k=2, epsilon=8.0),
        )
        == ""
    )


def test_form_starts_where_plain_categories_would_do_no_better():
    form = _filled_in(recipe_form_class(RareCategories), {})
    form.is_valid()
    assert "would do better" not in form.statistic().expected_remark(form.cleaned_data["population_size"])
