"""What an account should see first: what is new to it, and what waits for it."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.urls import reverse

from notifications.models import Check
from notifications.rules import firings_since, rule_condition
from pages.recipe.presentation import headline
from pages.recipe.troubles import troubles_of
from publishing.approvals import approvals_answered, approvals_waiting
from recipes.models import Approval, Recipe
from results.models import Release
from results.progress import progress_text
from results.selectors import overview_search, unfinished_recipes
from results.trust_models import collection_model_of
from series.selectors import rounds_behind
from simulations.tries import recipes_of_tries

SOON = timedelta(days=1)
"""Time before its end at which a recipe that may release nothing is listed."""

MOST = 10

NEW = 5
"""Results that are listed as new, and firings; other pages have more."""


@dataclass(frozen=True)
class Notice:
    """Something to see.

    Attributes:
        url: its address.
        question: what it asks; the name of what a rule watches.
        why: why it is shown, as a sentence.
        name: what the recipe's name says beyond its question, if others on the list may ask the same.
    """

    url: str
    question: str
    why: str
    name: str = ""


@dataclass(frozen=True)
class News:
    """What is new since a time: the newest firings of one's rules, how many results, and the newest
    of them, without private simulations."""

    since: datetime
    firings: list[Notice]
    results: int
    notices: list[Notice]


def news_of(user: User, since: datetime) -> News:
    """Results that were released or withheld since then, one of each series, and firings of the account's
    rules, newest first."""
    found = overview_search(user=user).filter(release__released_at__gt=since)
    results = found.filter(device_key="").exclude(pk__in=recipes_of_tries()).exclude(pk__in=rounds_behind())
    return News(
        since=since,
        firings=[_firing(check) for check in firings_since(user, since)[:NEW]],
        results=results.count(),
        notices=[_result(recipe) for recipe in results[:NEW]],
    )


def _firing(check: Check) -> Notice:
    rule, recipe = check.rule, check.recipe
    if rule.series is None:
        name, fired = recipe.name, "Your rule fired"
    else:
        name, fired = rule.series.name, f"Your rule fired in round {recipe.round.number:,}"
    if recipe.simulation:
        fired += " (simulation)"
    where = " and ".join(label or "all devices" for label in check.segments) if len(rule.watched) > 1 else ""
    return Notice(_address(recipe), name, f"{fired}{where and f' for {where}'}: {rule_condition(rule)}.")


def _result(recipe: Recipe) -> Notice:
    release: Release = recipe.release
    if recipe.unreadable:
        why = "Its document cannot be read."
    elif release.outcome == Release.Outcome.RELEASED:
        why = f"{headline(recipe, release).text}."
    else:
        why = "Nothing was released."
    return Notice(_address(recipe), recipe.question, why, recipe.short_name)


def attention_of(now: datetime) -> list[Notice]:
    """Recipes that wait for a server, and those that close soon below their cohort size; at most `MOST`.

    It shows no more than the recipes' own pages show to analysts who publish: counts are coarse.
    """
    found = []
    for recipe in unfinished_recipes(closing_before=now + SOON)[:MOST]:
        if recipe.unreadable:
            found.append(Notice(_address(recipe), recipe.question, "Its document cannot be read."))
            continue
        so_far = collection_model_of(recipe).progress(recipe)
        troubles = troubles_of(recipe, so_far, everything=True)
        if troubles:
            names = " and ".join(trouble.name for trouble in troubles)
            found.append(Notice(_address(recipe), recipe.question, f"Waits for the {names}."))
        elif recipe.status == Recipe.Status.PUBLISHED and so_far.received < recipe.cohort_size:
            clause = progress_text(so_far.received, recipe.cohort_size)
            why = f"Closes within a day, with {clause} reports."
            found.append(Notice(_address(recipe), recipe.question, why))
    return found


def _address(recipe: Recipe) -> str:
    return reverse("recipe", args=[recipe.identifier])


def approvals_of(user: User) -> list[Notice]:
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


def _asked(approval: Approval, why: str) -> Notice:
    if approval.recipe_id:
        url = reverse("recipe-draft", args=[approval.recipe_id])
    else:
        url = reverse("series-proposal", args=[approval.pk])
    return Notice(url, str(approval.document.get("question", "")), why)
