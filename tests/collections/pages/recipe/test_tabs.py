"""The parts of a recipe's page, each at its own address."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from recipes.models import Recipe
from tests.collections.pages.scene import TABS, recipe_page
from tests.scenes import finished_recipe, open_recipe

pytestmark = pytest.mark.django_db


def tabs_shown(page: str) -> dict[str, bool]:
    """Address of each tab → whether it is the current one."""
    links = page.split('aria-label="Parts of this recipe"')[1].split("</nav>")[0]
    found = re.findall(r'<a href="([^"]*)"\s*(aria-current="page")?>', links)
    return {address: bool(current) for address, current in found}


def withheld_recipe() -> Recipe:
    return finished_recipe([[1]] * 3, cohort_size=5)


def released_recipe() -> Recipe:
    return finished_recipe([[1]] * 30)


@pytest.mark.parametrize("make", [open_recipe, released_recipe, withheld_recipe])
def test_every_tab_is_shown_and_links_to_all_four(client: Client, make) -> None:
    recipe = make()
    addresses = [reverse(tab, args=[recipe.identifier]) for tab in TABS]
    for tab, own in zip(TABS, addresses, strict=True):
        shown = tabs_shown(recipe_page(client, recipe, tab))
        assert shown == {address: address == own for address in addresses}


def test_first_tab_is_named_after_what_it_shows(client: Client) -> None:
    for recipe, name in ((open_recipe(), "Progress"), (released_recipe(), "Result")):
        for tab in TABS:
            page = recipe_page(client, recipe, tab)
            links = page.split('aria-label="Parts of this recipe"')[1].split("</nav>")[0]
            assert f">{name}</a>" in links
