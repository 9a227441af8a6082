"""What a log reader is shown of a collection, and what nobody needs an account for."""

import re
from typing import Any

from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from recipes.models import Recipe
from tests.page_text import page_text

# Drawn anew at every look or in every entry, from `secrets`.
_RANDOM = re.compile(r"[0-9a-f]{64}|[0-9a-f]{32}|csrfmiddlewaretoken\" value=\"\w+|nonce=\"[^\"]+\"")


def everything_shown(recipe: Recipe, reader: User) -> dict[str, str]:
    """Every page and file that is about the recipe or about all, for nobody in particular and for `reader`,
    who may read the log. Where they stand the same, no reader can tell the difference."""
    addresses = [
        reverse("overview"),
        reverse("recipe", args=[recipe.identifier]),
        reverse("recipe-progress", args=[recipe.identifier]),
        reverse("api-recipe", args=[recipe.identifier]),
        reverse("result-json", args=[recipe.identifier]),
        reverse("result-csv", args=[recipe.identifier]),
        reverse("populations"),
        reverse("population", args=["everyone"]),
        reverse("audit"),
        reverse("audit-export", args=["json"]),
        reverse("audit-export", args=["csv"]),
    ]
    gauges = [sample.split(" # ")[0] for sample in _text(Client().get("/metrics")).split("panapp_")]
    # Of the collections; how often pages were asked for depends on this function.
    seen = {"/metrics": "\n".join(sample for sample in gauges if not sample.startswith(("request", "clock")))}
    for who in (None, reader):
        client = Client()
        if who is not None:
            client.force_login(who)
        for address in addresses:
            seen[f"{address} as {who or 'nobody'}"] = _RANDOM.sub("…", _text(client.get(address)))
    return seen


def _text(answer: Any) -> str:
    if not answer.streaming:
        return f"{answer.status_code} {page_text(answer)}"
    return f"{answer.status_code} {answer.getvalue().decode()}"
