"""Every address of the API with its methods, from the registry of URLs, and one request for each."""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from ledger.models import Population
from log.audit.models import Entry
from notifications.models import Delivery, Rule, Subscription
from pages.dashboards.models import Dashboard
from recipes.models import Approval, Recipe, Tag
from results.models import HeldResult, Release
from series.models import Mark, PublicInput, Round, Series
from simulations.models import Simulation
from streams.models import AnnouncedIntrusion
from web.scopes import Public, Scope

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")

RECIPE = {
    "name": "Crashes",
    "question": "On how many devices did it crash?",
    "statistic": "count_nonzero",
    "steps": 4,
    "epsilon": 2.0,
    "delta": 1e-6,
    "cohort_size": 5,
}

BODIES = {
    ("POST", "api-recipes"): RECIPE,
    ("POST", "api-review"): RECIPE,
    ("PUT", "api-draft"): {**RECIPE, "name": "Other"},
    ("POST", "api-simulations"): {
        "recipe": RECIPE,
        "workload": {"kind": "bernoulli", "devices": 5, "rate": 0.5},
    },
    ("POST", "api-series-simulations"): {
        "series": {**RECIPE, "every": "week", "rounds": 2},
        "workload": {"devices": 5, "shares": [0.5]},
    },
    ("POST", "api-withhold"): {"reason": "the helper is gone"},
    ("POST", "api-held"): {"reason": "one attester counts twice"},
    ("POST", "api-verdicts"): {"by": "Audit Ltd.", "failed": ""},
    ("POST", "api-populations"): {"name": "clinics", "description": "", "budget": None},
    ("POST", "api-series-list"): {**RECIPE, "every": "week", "rounds": 2},
    ("POST", "api-series-ask-approval"): {**RECIPE, "every": "week", "rounds": 2},
    ("POST", "api-series-mark"): {"note": "version 2"},
    ("POST", "api-series-input"): {"round": 1, "input": {}},
    ("POST", "api-webhooks"): {"url": "https://receiver.example/", "events": ["result.released"]},
    ("POST", "api-mails"): {"address": "ana@example.org", "events": ["result.released"]},
    ("POST", "api-intrusions"): {"number": 1, "reason": "court order 4711"},
    ("POST", "api-dashboards"): {"title": "Crashes", "cards": []},
    ("PUT", "api-dashboard"): {"title": "Crashes of the week", "cards": []},
    ("PATCH", "api-dashboard"): {"public": True},
    ("PUT", "api-recipe-tags"): {"tags": ["android"]},
    ("PUT", "api-draft-tags"): {"tags": ["android"]},
    ("POST", "api-accounts"): {"username": "nova", "password": "correct horse battery", "groups": []},
    ("PUT", "api-account"): {"active": False, "groups": ["Auditors"]},
    ("PUT", "api-population"): {"description": "All.", "budget": {"epsilon": 1.0, "delta": 1e-6}},
}
"""Of requests that change something, what lets them succeed."""


@dataclass(frozen=True)
class Operation:
    """One method of one address; `needed` is None where the view does not say."""

    name: str
    route: str
    method: str
    needed: Scope | Public | None

    def __str__(self) -> str:
        return f"{self.method} {self.name}"

    def path(self, draft: Recipe, recipe: Recipe) -> str:
        """With a draft and a published recipe filled in."""
        filled = {
            "<int:number>": str(draft.pk),
            "<identifier:identifier>": str(recipe.identifier),
            "<slug:name>": "everyone",
            "<slug:series>": str(Series.objects.values_list("identifier", flat=True).first()),
            "<slug:dashboard>": str(Dashboard.objects.values_list("identifier", flat=True).first()),
            "<slug:webhook>": subscription_of("webhook"),
            "<slug:mail>": subscription_of("email"),
            "<slug:rule>": str(Rule.objects.values_list("identifier", flat=True).first()),
            "<int:approval>": str(Approval.objects.values_list("pk", flat=True).last()),
            "<int:intrusion>": "1",
            "<str:username>": "passer",
            "<uuid:message>": str(
                Delivery.objects.filter(purpose="event").values_list("message", flat=True).first()
                or uuid.uuid4()
            ),
            "<uuid:simulation>": str(Simulation.objects.values_list("pk", flat=True).first()),
        }
        path = f"/{self.route}"
        for gap, value in filled.items():
            path = path.replace(gap, value)
        return path

    def body(self, draft: Recipe) -> dict[str, Any]:
        if (self.method, self.name) == ("POST", "api-publish"):
            return {"reviewed": draft.draft_hash}
        if self.name in ("api-ask-approval", "api-approve", "api-approval-approve"):
            return {"reviewed": draft.draft_hash}
        if self.name in ("api-decline", "api-approval-decline"):
            return {"reviewed": draft.draft_hash, "note": "the cohort is too small"}
        if (self.method, self.name) == ("POST", "api-rules"):
            return {
                "when": "below",
                "recipe": Rule.objects.values_list("recipe__identifier", flat=True).first(),
            }
        return BODIES.get((self.method, self.name), {})

    def ask(self, client: Client, draft: Recipe, recipe: Recipe, **headers: str) -> Any:
        body = self.body(draft)
        if self.method in ("GET", "DELETE"):
            return client.generic(self.method, self.path(draft, recipe), headers=headers)
        return getattr(client, self.method.lower())(
            self.path(draft, recipe), body, content_type="application/json", headers=headers
        )


def subscription_of(channel: str) -> str:
    return str(Subscription.objects.filter(channel=channel).values_list("identifier", flat=True).first())


def operations() -> list[Operation]:
    """Every method of every address under /api/, but for those of other installations."""
    return sorted(_operations(get_resolver().url_patterns, ""), key=str)


def restricted() -> list[Operation]:
    """Those that need a scope."""
    return [operation for operation in operations() if isinstance(operation.needed, Scope)]


def state() -> tuple[Any, ...]:
    """What requests may change, but for the log of refusals."""
    return (
        list(Recipe.objects.order_by("pk").values_list("pk", "status", "draft")),
        list(Approval.objects.order_by("pk").values_list("pk", "state")),
        list(Simulation.objects.order_by("pk").values_list("pk", "state")),
        list(Round.objects.order_by("pk").values_list("pk", "state")),
        Mark.objects.count(),
        list(Tag.objects.values_list("recipe", "name")),
        list(Dashboard.objects.order_by("pk").values_list("title", "public", "cards")),
        PublicInput.objects.count(),
        AnnouncedIntrusion.objects.count(),
        list(User.objects.order_by("pk").values_list("username", "is_active", "groups")),
        list(Subscription.objects.order_by("pk").values_list("pk", "channel")),
        list(Delivery.objects.order_by("pk").values_list("pk", "state")),
        list(Release.objects.order_by("pk").values_list("pk", "outcome")),
        list(HeldResult.objects.order_by("pk").values_list("pk", "allowed_reason")),
        list(Population.objects.order_by("pk").values_list("name", "description", "epsilon")),
        Entry.objects.exclude(action__in=("access_denied", "api_token_refused")).count(),
    )


def _operations(patterns: list[URLPattern | URLResolver], before: str) -> Iterator[Operation]:
    for pattern in patterns:
        route = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from _operations(pattern.url_patterns, route)
        elif route.startswith("api/"):
            view = getattr(pattern.callback, "cls", pattern.callback)
            scopes = getattr(view, "scopes", {})
            for method in METHODS:
                if hasattr(view, method.lower()) or method in scopes:
                    yield Operation(str(pattern.name), route, method, scopes.get(method))
