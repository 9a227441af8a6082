"""From the form to the published recipe, as an analyst goes; and all that is shown of a result."""

import csv
import html
import io
import json
from typing import Any

from django.http.response import HttpResponseBase
from django.test import Client
from django.urls import reverse

from recipes.models import Recipe


def text_of(response: HttpResponseBase) -> str:
    """A page, without entities and without differences in white space."""
    assert response.status_code == 200
    return " ".join(html.unescape(response.content.decode()).split())


def tab_of(client: Client, recipe: Recipe, name: str = "recipe") -> str:
    """One part of a recipe's page."""
    return text_of(client.get(reverse(name, args=[recipe.identifier])))


def filled_in(client: Client, statistic: str, **changes: Any) -> dict[str, Any]:
    """What the untouched form of a statistic would send, with changes."""
    form = client.get(f"{reverse('recipe-new')}?statistic={statistic}").context["form"]
    values = {field.name: field.value() for field in form}
    data = {**values, "name": "Toys", "question": "How many toys?", **changes}
    return {name: value for name, value in data.items() if value is not None}


def publish_by_form(client: Client, statistic: str, **changes: Any) -> Recipe:
    """Draft a recipe by its form, open the review, publish it, and open its page."""
    data = filled_in(client, statistic, **changes)
    address = f"{reverse('recipe-new')}?statistic={statistic}"
    review = client.post(address, {**data, "action": "save"}, follow=True)
    recipe = Recipe.objects.get()
    assert review.redirect_chain == [(reverse("recipe-draft", args=[recipe.pk]), 302)]
    assert "It cannot be published like this" not in text_of(review)
    published = client.post(
        reverse("recipe-publish", args=[recipe.pk]), {"reviewed": recipe.draft_hash}, follow=True
    )
    assert "Published." in text_of(published)
    return Recipe.objects.get()


def result_of(client: Client, recipe: Recipe) -> dict[str, Any]:
    """The result as JSON; its CSV, its page and the overview show the same."""
    address = reverse("result-json", args=[recipe.identifier])
    result: dict[str, Any] = json.loads(b"".join(client.get(address).streaming_content))
    content = b"".join(client.get(reverse("result-csv", args=[recipe.identifier])).streaming_content)
    rows = csv.DictReader(io.StringIO(content.decode()))
    assert [float(row["estimate"]) for row in rows] == result["estimate"]
    title = recipe.published.calibrated_statistic.title
    page = tab_of(client, recipe)
    assert recipe.name in page
    assert result["unit"] in page
    assert title in tab_of(client, recipe, "recipe-privacy")
    assert title in text_of(client.get(reverse("overview")))
    assert reverse("recipe", args=[recipe.identifier]) in text_of(client.get(reverse("overview")))
    return result
