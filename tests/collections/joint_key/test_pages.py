"""What pages say of a recipe with a joint key, and of no other."""

from collections.abc import Callable

import pytest
from django.test import Client

from recipes.models import Recipe
from tests.collections.joint_key.scene import closed, joint_recipe, settle
from tests.collections.pages.scene import TABS, recipe_page
from tests.collections.publishing.scene import two_server_recipe

pytestmark = pytest.mark.django_db


def released(**changes: str) -> Recipe:
    recipe = closed(**changes)
    settle()
    return recipe


@pytest.mark.parametrize(
    ("make", "experimental"), [(joint_recipe, True), (released, True), (two_server_recipe, False)]
)
def test_every_tab_says_whether_a_recipe_is_experimental(
    client: Client, make: Callable[[], Recipe], experimental: bool
) -> None:
    recipe = make()
    for tab in TABS:
        page = recipe_page(client, recipe, tab)
        tags = page.split('<p class="tags">')[1].split("</p>")[0]
        assert (">Experimental</span>" in tags) is experimental
    for tab in ("recipe-privacy", "recipe-record"):
        said = (
            "its proof of security has had no outside review"
            in recipe_page(client, recipe, tab).split("<h1>")[1]
        )
        assert said is experimental


@pytest.mark.parametrize(
    ("make", "heading"),
    [(joint_recipe, "decrypt one device's report"), (two_server_recipe, "put one device's")],
)
def test_guarantee_says_what_both_servers_could_do(
    client: Client, make: Callable[[], Recipe], heading: str
) -> None:
    page = recipe_page(client, make(), "recipe-privacy").replace("&#x27;", "'")
    assert f"Both servers together, who could {heading}" in page


@pytest.mark.parametrize("access", ["public", "auditors"])
def test_result_is_recomputed_with_lines_for_those_who_may(client: Client, access: str) -> None:
    recipe = released(bundle=access)
    page = recipe_page(client, recipe, "recipe-verify")
    lines = page.split('id="recompute-lines">')[1].split("</pre>")[0]
    file = f"bundle-{recipe.identifier[:12]}.tar"
    assert f"mkdir bundle &amp;&amp; tar -xf {file} -C bundle" in lines
    assert (f"curl -fsSo {file} " in lines) is (access == "public")
    assert ("<code>log:read</code>" in page) is (access == "auditors")
    # What the lines need is explained before them.
    assert page.index("export PYTHONPATH") < page.index("set its path as above") < page.index(lines)


def test_helper_is_said_to_have_signed_the_list(client: Client) -> None:
    page = recipe_page(client, released(), "recipe-verify")
    assert "Signed by the leader. The helper signed the list of these reports." in page
