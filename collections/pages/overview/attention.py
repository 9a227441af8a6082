"""What an analyst who publishes should check first."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.urls import reverse

from pages.recipe.troubles import troubles_of
from publishing.approvals import approvals_answered, approvals_waiting
from recipes.models import Approval, Recipe
from results.progress import progress_text
from results.selectors import unfinished_recipes
from results.trust_models import collection_model_of

SOON = timedelta(days=1)
"""Time before its end at which a recipe that may release nothing is listed."""

MOST = 10


@dataclass(frozen=True)
class Attention:
    """A recipe and why it is shown, as a sentence."""

    recipe: Recipe
    why: str


def attention_of(now: datetime) -> list[Attention]:
    """Recipes that wait for a server, and those that close soon below their cohort size; at most `MOST`.

    It shows no more than the recipes' own pages show to analysts who publish: counts are coarse.
    """
    found = []
    for recipe in unfinished_recipes(closing_before=now + SOON)[:MOST]:
        if recipe.unreadable:
            found.append(Attention(recipe, "Its document cannot be read."))
            continue
        so_far = collection_model_of(recipe).progress(recipe)
        troubles = troubles_of(recipe, so_far, everything=True)
        if troubles:
            names = " and ".join(trouble.name for trouble in troubles)
            found.append(Attention(recipe, f"Waits for the {names}."))
        elif recipe.status == Recipe.Status.PUBLISHED and so_far.received < recipe.cohort_size:
            clause = progress_text(so_far.received, recipe.cohort_size)
            found.append(Attention(recipe, f"Closes within a day, with {clause} reports."))
    return found


@dataclass(frozen=True)
class Asked:
    """Something that waits for an approval, or has got its answer: its address, its question, and why it is
    shown, as a sentence."""

    url: str
    question: str
    why: str


def approvals_of(user: User) -> list[Asked]:
    """What waits for this account's approval, then what was answered to its own requests."""
    waiting = [
        _asked(one, f"Waits for your approval. {one.asked_by.get_username()} asked.")
        for one in approvals_waiting(user)[:MOST]
    ]
    answered = [
        _asked(one, "Approved: you can publish it." if one.state == one.State.APPROVED else "Declined.")
        for one in approvals_answered(user)[:MOST]
    ]
    return waiting + answered


def _asked(approval: Approval, why: str) -> Asked:
    if approval.recipe_id:
        url = reverse("recipe-draft", args=[approval.recipe_id])
    else:
        url = reverse("series-proposal", args=[approval.pk])
    return Asked(url, str(approval.document.get("question", "")), why)
