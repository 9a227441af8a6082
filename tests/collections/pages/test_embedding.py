"""The picture of a result for pages of others."""

from xml.etree import ElementTree as ET

import pytest
from django.test import Client
from django.urls import reverse

from recipes.models import Recipe
from tests.page_text import page_text
from tests.scenes import finished_recipe, open_recipe, simulated_recipe

pytestmark = pytest.mark.django_db

SVG = "{http://www.w3.org/2000/svg}"


def picture_path(recipe: Recipe) -> str:
    return reverse("result-svg", args=[recipe.identifier])


def test_picture_has_question_answer_and_interval_and_nothing_that_a_policy_forbids(client: Client) -> None:
    recipe = simulated_recipe({0: 40, 1: 20}, question='Is a < b & "c"?')
    response = client.get(picture_path(recipe))
    assert response["Content-Type"] == "image/svg+xml"
    root = ET.fromstring(response.content)  # noqa: S314  # our own document
    assert root.tag == f"{SVG}svg"
    assert root.findtext(f"{SVG}title") == 'Is a < b & "c"?'
    assert "± " in (root.findtext(f"{SVG}desc") or "")
    texts = [element.text for element in root.iter(f"{SVG}text")]
    for said in ("95% interval", "truth (simulation only)", "A simulation, whose truth is known."):
        assert said in texts
    names = {element.tag.removeprefix(SVG) for element in root.iter()}
    assert names <= {"svg", "title", "desc", "g", "rect", "path", "text"}
    attributes = {name for element in root.iter() for name in element.attrib}
    assert not [name for name in attributes if name == "style" or name.startswith("on") or "href" in name]


def test_picture_is_kept_by_everyone_and_asked_for_by_its_hash(client: Client) -> None:
    path = picture_path(finished_recipe([[1]] * 30))
    response = client.get(path)
    assert response["Cache-Control"] == "public, max-age=3600"
    assert "Cookie" not in response.get("Vary", "")
    assert response["Cross-Origin-Resource-Policy"] == "cross-origin"
    again = client.get(path, HTTP_IF_NONE_MATCH=response["ETag"])
    assert again.status_code == 304
    assert again.content == b""


def test_picture_of_what_is_open_or_withheld_does_not_exist(client: Client) -> None:
    for recipe in (open_recipe([1] * 5), finished_recipe([[1]] * 2)):
        assert client.get(picture_path(recipe)).status_code == 404


def test_line_to_paste_names_the_picture_and_says_what_it_shows(client: Client) -> None:
    recipe = finished_recipe([[1]] * 30, question='"Late"?')
    page = page_text(client.get(reverse("recipe", args=[recipe.identifier])))
    assert f'src="http://testserver{picture_path(recipe)}"' in page
    # As the text of a page, the line reads alt="&quot;Late&quot;? …".
    assert 'alt="&amp;quot;Late&amp;quot;? ' in page
