"""What analysts type into forms of recipes, and a recipe's page and files as a visitor gets them."""

import csv
import io
import json
from typing import Any

from django.test import Client
from django.urls import reverse

from recipes.models import Recipe
from tests.page_text import page_text


def form_data(**changes: Any) -> dict[str, Any]:
    data = {
        "name": "Crashes",
        "question": "On how many devices did it crash?",
        "steps": "7",
        "step_seconds": "86400",
        "epsilon": "1",
        "delta": "1e-6",
        "population": "everyone",
        "population_size": "10000",
        "sampling_rate": "1",
        "cohort_size": "1000",
        "encryption": "elgamal-secp256k1",
        **changes,
    }
    return {name: value for name, value in data.items() if value is not None}


def new_url(statistic: str = "count_nonzero", *, page: str = "recipe-new") -> str:
    return f"{reverse(page)}?statistic={statistic}"


def suggested(client: Client, statistic: str = "count_nonzero") -> dict[str, Any]:
    """What the form of a statistic proposes, with a name and a question."""
    form = client.get(new_url(statistic)).context["form"]
    given = {name: form[name].value() for name in form.fields if form[name].value() is not None}
    return {**given, "name": "Crashes", "question": "How many?"}


def recipe_page(client: Client, recipe: Recipe, name: str = "recipe", *arguments: object) -> str:
    response = client.get(reverse(name, args=[recipe.identifier, *arguments]))
    assert response.status_code == 200
    return page_text(response)


TABS = ("recipe", "recipe-privacy", "recipe-verify", "recipe-take-part")
"""The addresses of the parts of a recipe's page."""


def every_tab(client: Client, recipe: Recipe) -> str:
    """All parts of a recipe's page, for what none of them may show."""
    return "\n".join(recipe_page(client, recipe, tab) for tab in TABS)


def draft_page(client: Client, draft: Recipe) -> str:
    """The review of a draft."""
    return page_text(client.get(reverse("recipe-draft", args=[draft.pk])))


def publish(client: Client, draft: Recipe, **options: Any) -> Any:
    """Post the review as it was read."""
    return client.post(reverse("recipe-publish", args=[draft.pk]), {"reviewed": draft.draft_hash}, **options)


def result_document(client: Client, recipe: Recipe) -> dict[str, Any]:
    """The result as a file for programs."""
    content = client.get(reverse("result-json", args=[recipe.identifier])).getvalue()
    document: dict[str, Any] = json.loads(content)
    return document


def result_rows(client: Client, recipe: Recipe) -> list[dict[str, str]]:
    """The result as a table."""
    content = client.get(reverse("result-csv", args=[recipe.identifier])).getvalue().decode()
    return list(csv.DictReader(io.StringIO(content)))
