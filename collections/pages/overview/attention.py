"""What somebody who publishes should look at first."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from pages.recipe.troubles import troubles_of
from recipes.models import Recipe
from releases.progress import progress_text
from releases.selectors import unfinished_recipes
from trust_models import trust_model_of

SOON = timedelta(days=1)
"""So long before it closes, a recipe that may release nothing is worth a look."""

MOST = 10


@dataclass(frozen=True)
class Attention:
    """A recipe and why it is shown, as a sentence."""

    recipe: Recipe
    why: str


def attention_of(now: datetime) -> list[Attention]:
    """Recipes that wait for a server, and those that close soon below their cohort size; at most `MOST`.

    It says no more than the recipes' own pages say to those who publish: counts are coarse.
    """
    found = []
    for recipe in unfinished_recipes(closing_before=now + SOON)[:MOST]:
        so_far = trust_model_of(recipe).progress(recipe)
        troubles = troubles_of(recipe, so_far, everything=True)
        if troubles:
            names = " and ".join(trouble.name for trouble in troubles)
            found.append(Attention(recipe, f"Waits for the {names}."))
        elif recipe.status == Recipe.Status.PUBLISHED and so_far.received < recipe.cohort_size:
            clause = progress_text(so_far.received, recipe.cohort_size)
            found.append(Attention(recipe, f"Closes within a day, with {clause} reports."))
    return found
