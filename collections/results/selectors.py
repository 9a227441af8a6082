"""Reading results."""

import json
from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Lower

from recipes.models import Recipe
from recipes.selectors import recipes_search
from results.models import NUMBERS, Release, SignedResult

SORTS = {
    # Open recipes come after all results, however many there are.
    "result": (F("release__released_at").desc(nulls_last=True), "-pk"),
    # The open ones first, the next to close before others; then the closed ones, newest first.
    "closing": (F("closed_at").desc(nulls_first=True), "closes_at", "-pk"),
    "name": (Lower("name"), "-pk"),
}
"""Name of an order → columns."""


def overview_search(
    *,
    user: AbstractBaseUser | AnonymousUser,
    text: str = "",
    status: str = "all",
    statistic: str = "",
    population: str = "",
    event: str = "",
    since: date | None = None,
    until: date | None = None,
    owner: str = "",
    tag: str = "",
    sort: str = "result",
) -> QuerySet[Recipe]:
    """Published and closed recipes, or drafts, with their releases.

    Args:
        user, text: as in `recipes_search`.
        status: as there, or an outcome: `released` or `withheld`.
        statistic, population, event: their names; empty for all. Of several events, any one.
        since, until: the first and the last day (in UTC) on which they were published; None for no limit.
        owner: username of the account that drafted them; empty for all.
        tag: one that they have; empty for all.
        sort: one of `SORTS`.
    """
    recipes = with_release(recipes_search(user=user, text=text, status=status))
    if status in Release.Outcome.values:
        recipes = recipes.filter(release__outcome=status)
    named = {"statistic": statistic, "population": population, "named_events__name": event}
    named |= {"created_by__username": owner, "tags__name": tag}
    recipes = recipes.filter(**{column: name for column, name in named.items() if name})
    if since is not None:
        recipes = recipes.filter(published_at__gte=_midnight(since))
    if until is not None and until < date.max:
        recipes = recipes.filter(published_at__lt=_midnight(until + timedelta(days=1)))
    return recipes.order_by(*SORTS[sort])


def unfinished_recipes(*, closing_before: datetime) -> QuerySet[Recipe]:
    """Recipes that are closed without an outcome, and open ones for real devices that close before that time;
    the first to close comes first."""
    waiting = Q(status=Recipe.Status.CLOSED, release=None)
    closing = Q(status=Recipe.Status.PUBLISHED, simulation=False, closes_at__lt=closing_before)
    return Recipe.objects.filter(waiting | closing).order_by("closes_at")


def with_release(recipes: QuerySet[Recipe]) -> QuerySet[Recipe]:
    """The same with the release of each, but for its numbers, which may be megabytes: pages show its excerpt,
    and reading one of `NUMBERS` of a release loaded this way costs another query."""
    return recipes.select_related("release").defer(*(f"release__{name}" for name in NUMBERS))


def signed_result(identifier: str) -> Mapping[str, Any] | None:
    """What the site signed of a recipe's result, released or withheld; None if there is nothing yet."""
    signed = SignedResult.objects.filter(release__recipe__identifier=identifier).first()
    return None if signed is None else json.loads(signed.document)


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time.min, UTC)
