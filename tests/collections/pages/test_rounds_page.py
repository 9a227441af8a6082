"""The page of a recipe in rounds says where it stands, and what all rounds guarantee together."""

import pytest
from django.urls import reverse

from pages.rounds_together import guarantees_together, main_guarantee
from recipes.models import Recipe
from series.in_order import input_publish
from series.operations import rounds_advance, series_publish
from tests.factories import published_recipe, recipe_members
from tests.page_text import page_text

pytestmark = pytest.mark.django_db


def test_page_of_rounds_says_what_they_wait_for_and_what_all_guarantee(client):
    in_rounds = {"steps": 1, "step_seconds": 1, "rounds": 3, "round_seconds": 60, "public_input": True}
    members = recipe_members(cohort_size=20, sampling_rate=0.2, **in_rounds)
    series = series_publish(members=members, actor=None)
    address = reverse("series", args=[series.identifier])
    page = client.get(address).content.decode()
    assert "3 rounds, one after the\n  other" in page
    assert "waits\n  for its public input" in page
    assert "What all 3 rounds guarantee together" in page
    assert "hx-get" not in page, "it may wait for days"
    assert "All rounds together: Someone who sees only the combined result" in page_text(client.get(address))
    main = client.get(address).context["main"]
    assert main.numbers.startswith("privacy loss ε = ")
    assert main in client.get(address).context["guarantees"]
    input_publish(series=series, number=1, content={}, actor=None)
    waiting = client.get(address).content.decode()
    assert "opens within seconds" in waiting
    assert f'<div id="series" hx-get="{address}" hx-trigger="every 3s" hx-select="#series"' in waiting
    rounds_advance()
    assert "hx-get" not in client.get(address).content.decode()
    assert "opens when this one has ended" in client.get(address).content.decode()


@pytest.mark.parametrize("given", [{"rounds": 3, "sampling_rate": 0.2}, {"donation_rounds": 3}])
def test_page_of_one_round_says_what_all_of_them_guarantee_together(client, given):
    members = recipe_members(steps=1, step_seconds=1, round_seconds=60, cohort_size=20, **given)
    series = series_publish(members=members, actor=None)
    rounds_advance()
    answer = client.get(reverse("recipe", args=[Recipe.objects.get().identifier]))
    text, stated = page_text(answer), guarantees_together(series.rounds_document)
    local = "privacy loss ε = 2" if "donation_rounds" in given else "privacy loss ε = 6"
    together = text.split("The numbers below are of this round alone. ")[1].split(
        "What all rounds guarantee"
    )[0]
    assert main_guarantee(stated).numbers in together
    assert f"report: {local}, " in together
    assert f'href="{reverse("series", args=[series.identifier])}"' in answer.content.decode()


def test_page_of_a_recipe_without_rounds_says_nothing_of_them(client):
    page = client.get(reverse("recipe", args=[published_recipe().identifier]))
    assert "of this round alone" not in page_text(page)
