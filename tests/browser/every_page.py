"""Every page of the site, drawn from its addresses: one that is added later is looked at by itself."""

import itertools
import random
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from django.contrib.auth.models import Group, User
from django.test import Client
from django.urls import NoReverseMatch, URLPattern, URLResolver, get_resolver, reverse
from django.utils import timezone

from accounts.api_tokens.operations import token_create
from ledger.budget import Budget
from ledger.operations import population_create
from notifications.kinds import KINDS
from notifications.mail import confirm_address, unsubscribe_address
from notifications.operations import mail_subscribe
from notifications.rules import rule_create, subject_of
from pages.dashboards.operations import dashboard_create
from pages.new.goals import GOALS
from panprivacy.statistics.events import MECHANISMS
from panprivacy.statistics.randomized import RANDOMIZERS
from publishing.approvals import draft_approval_ask
from publishing.publication import recipe_close
from recipes.models import Recipe
from recipes.operations import recipe_draft_save
from results.models import HeldResult
from series.operations import rounds_advance, series_approval_ask, series_mark, series_publish
from series.rounds import input_publish
from simulations.operations import simulation_start
from simulations.series_simulations import series_simulation_start
from simulations.tries import try_join
from tests.collections.pages.scene import TABS
from tests.collections.publishing.scene import (
    honest_reports,
    randomized,
    result_of_reports,
    two_server_recipe,
)
from tests.factories import draft_recipe, recipe_members
from tests.scenes import (
    account,
    announced,
    closed_stream,
    finished_recipe,
    open_recipe,
    open_stream,
    simulated_recipe,
)
from tests.target_scene import DECLARED, declare, file_of, publish
from tests.target_scene import counted as counted_systems

EXAMPLES = dict[str, list[Any]]
"""Name of a parameter of addresses → its examples."""

BESIDE = [
    "/?q=nowhere",
    "/audit/?q=nowhere",
    *(f"/recipes/new/?statistic={statistic}" for statistic in (*MECHANISMS, *RANDOMIZERS)),
    *(f"/recipes/new/?statistic={statistic}" for statistic in ("density", "shuffle_histogram")),
    "/plan/?quantity=nothing",
]
"""Pages that an address has beside the one that it begins with."""

NO_PAGES = {
    "favicon": "leads to a picture",
    "log-tile": "hashes",
    "log-entries": "entries of the log, as they are hashed",
    "witness-checkpoint": "a text",
    "comparison-csv": "a file of what is named in the query",
    "plan-rest": "a part of another page",
    "rule-new": "about what its query names; the page of a series has the same form",
    "sign-in-code": "leads on who has given no password; looked at in test_every_page.py",
    "sign-in-enrol": "as the former",
    "sign-in-organization": "leads to the provider; tested in test_oidc.py",
    "sign-in-organization-answer": "as the former",
    "sign-in": "leads on who is signed in; looked at before",
}
"""Addresses to which no example is answered with a page, and why."""


def scene(user: User) -> EXAMPLES:
    """What every kind of page is about: recipes in each of their states, and all else."""
    population_create(name="clinics", description="", budget=Budget(epsilon=0.5, delta=1e-6), actor=None)
    population_create(name="wards", description="", budget=None, actor=None, four_eyes=True)
    population_create(name="systems", description="", budget=None, actor=None)
    declare("systems", DECLARED)
    proposed = series_approval_ask(
        members=recipe_members(every="week", rounds=3, population="wards"), actor=user
    )
    subscription = mail_subscribe(user=user, address="ada@telemetry.example", events=list(KINDS)[:1])
    delivery = subscription.deliveries.get()
    confirming, ending = (
        urlsplit(address).path.strip("/").split("/")
        for address in (confirm_address(delivery), unsubscribe_address(subscription))
    )
    counted: dict[str, Any] = {"cohort_size": 2, "target_margin": 1}
    named: dict[str, Any] = {
        "name": "Crash" * 20,
        "event": "crash",
        "event_definition": "It ended.",
        "statistic": "histogram",
        "k": 2,
        "labels": ["never", "once", "often"],
    }
    segments = {"segments": ["2.0 (control)", "2.1 (new start screen)", "גרסה 3"]}
    by_segment = [[int(at == cell) for at in range(6)] for cell in (0, 1, 2, 2, 2) for _ in range(30)]
    recipes = [
        open_recipe([1] * 150, cohort_size=400),
        finished_recipe(by_segment, simulation=True, cohort_size=40, epsilon=8.0, **segments),
        open_recipe(opens_at="2030-01-01T00:00:00Z", name="עדכון 2.1", question="כמה מכשירים קרסו?"),
        open_recipe([1] * 21, population_size=400, **counted),
        recipe_close(recipe=open_recipe([1] * 3), actor=None),
        simulated_recipe({0: 40, 1: 20}),
        simulated_recipe({0: 40, 1: 20, 2: 5}, **named),
        simulated_recipe({0: 40, 1: 20, 2: 5}, statistic="mean", k=2, guarantee="local", sampling_rate=0.5),
        finished_recipe([[0]] * 3),
        finished_recipe(
            [[1, 0, 0]] * 40 + [[0, 1, 0]] * 20,
            statistic="categories",
            steps=None,
            k=3,
            labels=["phone", "tablet", "watch"],
            simulation=True,
        ),
        _rare_categories(),
        _vectors(),
        _held(),
        publish(file_of(("os", "linux", counted_systems(population="systems")), population="systems")),
        announced(open_stream(range(300), statistic="cropped_mean", t=4)),
        closed_stream(announced(open_stream(range(300), statistic="cropped_mean", t=5))),
    ]
    waiting = recipe_draft_save(members=recipe_members(population="wards"), actor=account("otto", "Analysts"))
    draft_approval_ask(recipe=waiting, reviewed=waiting.draft_hash, actor=waiting.created_by)
    series = [_trend(user), _trend(user, name="Waits", failing=True), _in_rounds(user), _simulated(user)]
    cards = [
        {"type": "text", "text": "Read this first."},
        {"type": "series", "series": series[0]},
        *({"type": "result", "recipe": str(recipe.identifier)} for recipe in recipes),
    ]
    dashboard = dashboard_create(title="Crashes of the week", cards=cards, actor=user, public=True)
    rule = rule_create(user=user, subject=subject_of(series=series[0]), when="changed")
    token, _ = token_create(user=user, name="nightly", scopes=["log:read"], days=1, actor=None)
    simulation = simulation_start(
        members=recipe_members(),
        workload={"kind": "bernoulli", "devices": 5, "rate": 0.5},
        seed=None,
        actor=user,
    )
    recipes.append(try_join(asker="").recipe)
    return {
        "identifier": [recipe.identifier for recipe in recipes]
        + [*series, subscription.identifier, dashboard.identifier],
        "pk": [draft_recipe(population="clinics").pk, draft_recipe(name="Fits").pk, waiting.pk, proposed.pk],
        "expires": [confirming[-2]],
        "code": [confirming[-1], ending[-1]],
        "message": [delivery.message],
        "name": ["everyone", "clinics"],
        "goal": [*GOALS],
        "index": [1, 2],
        "prefix": [token.prefix],
        "rule": [rule.identifier],
        "simulation": [simulation.pk],
        "number": [1],
        "form": ["csv"],
        "level": ["0"],
        "width": ["1"],
        "origin_hash": ["0" * 64],
    }


def pages(client: Client, examples: EXAMPLES) -> list[str]:
    """An address for every page that there is, drawn once; every recipe of the examples has its own.

    Raises ValueError for one that is not drawn.
    """
    found = BESIDE + _admin_pages()
    if missing := [path for path in found if not _is_page(client, path)]:
        raise ValueError(f"no pages: {missing}")
    for pattern in _patterns(get_resolver().url_patterns, ""):
        addresses = (path for path in _addresses(pattern, examples) if _is_page(client, path))
        own = (
            list(addresses)
            if pattern.name in (*TABS, "series", "recipe-draft", "goal")
            else [*itertools.islice(addresses, 1)]
        )
        if not own and pattern.name not in NO_PAGES and _shows_pages(client, pattern, examples):
            raise ValueError(f"no example shows the page {pattern.name!r}: give one")
        found += own
    return found


def _rare_categories() -> Recipe:
    """The result of a simulation on two servers."""
    recipe = two_server_recipe(
        simulation=True,
        statistic="rare_categories",
        steps=None,
        k=4,
        labels=["no error", "disk full", "out of memory", "network lost"],
        epsilon=4.0,
        cohort_size=22,  # with a margin of 18 at most
        participation="cover",
        devices=40,
        counted_devices=20,
        rare_share=0.25,
    )
    return _of_values(recipe, [number % 4 for number in range(40)])


def _vectors() -> Recipe:
    """The same of a mean of vectors."""
    recipe = two_server_recipe(
        simulation=True,
        statistic="vector_mean",
        steps=None,
        dimension=6,
        bits=5,
        epsilon=20.0,
        cohort_size=10,  # with a margin of 12 at most
    )
    return _of_values(recipe, [(0.5, -0.25, 0.0, 0.25, -0.5, 0.1)] * 22)


def _of_values(recipe: Recipe, values: list[Any]) -> Recipe:
    sent = randomized(recipe, values, random.Random(1))
    result_of_reports(recipe, honest_reports(recipe, sent))
    return Recipe.objects.get(pk=recipe.pk)


def _held() -> Recipe:
    """A recipe whose result waits for somebody's decision."""
    recipe = recipe_close(recipe=open_recipe([1] * 5), actor=None)
    HeldResult.objects.create(recipe=recipe, issued=1, expected=1.0, most=1, held_at=timezone.now())
    return recipe


def _trend(user: User, *, name: str = "Crashes", failing: bool = False) -> str:
    series = series_publish(
        members=recipe_members(name=name, every="week", rounds=3, epsilon=8.0, cohort_size=2), actor=user
    )
    if failing:
        series.rounds.filter(number=1).update(
            failures=3, problem="the helper is silent", retry_at="2030-01-01T00:00:00Z"
        )
        return series.identifier
    rounds_advance()
    series_mark(series=series, at=series.published_at, note="version 2.1 released", actor=None)
    return series.identifier


def _simulated(user: User) -> str:
    """The simulation of a series that runs."""
    members = recipe_members(name="Simulated", every="week", rounds=3, segments=["2.0", "2.1"])
    simulation = series_simulation_start(
        members=members, workload={"devices": 10, "shares": [0.5]}, seed=None, actor=user
    )
    return simulation.series.identifier


def _in_rounds(user: User) -> str:
    """A recipe in rounds: the first is asked, and the second will wait for its public input."""
    members = recipe_members(name="Model", steps=1, step_seconds=1, cohort_size=20, sampling_rate=0.2)
    in_rounds = {"rounds": 3, "round_seconds": 3_600, "public_input": True}
    series = series_publish(members=members | in_rounds, actor=user)
    input_publish(series=series, number=1, content={"weights": [0.5]}, actor=user)
    rounds_advance()
    return series.identifier


def _admin_pages() -> list[str]:
    """One of each kind: Django draws the others from the same templates."""
    changed = {kind: kind.objects.order_by("pk")[0] for kind in (User, Group, Recipe)}
    return [
        *("/admin/", "/admin/auth/user/", "/admin/auth/user/add/", "/admin/audit/entry/"),
        *(
            reverse(f"admin:{kind._meta.label_lower.replace('.', '_')}_change", args=[one.pk])
            for kind, one in changed.items()
        ),
        reverse("admin:auth_group_delete", args=[changed[Group].pk]),
    ]


def _patterns(patterns: list[Any], before: str) -> Iterator[URLPattern]:
    for pattern in patterns:
        route = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            if not route.startswith(("admin/", "leader/", "api/v1/")):
                yield from _patterns(pattern.url_patterns, route)
        elif pattern.name is not None:
            yield pattern


def _addresses(pattern: URLPattern, examples: EXAMPLES) -> Iterator[str]:
    regex = pattern.pattern.regex if not getattr(pattern.pattern, "converters", None) else None
    names = list(pattern.pattern.converters or (regex.groupindex if regex else ()))
    for name in names:
        if name not in examples:
            raise ValueError(f"{pattern.name!r} has the parameter {name!r}: give an example of it")
    for values in itertools.product(*(examples[name] for name in names)):
        try:
            yield reverse(str(pattern.name), kwargs=dict(zip(names, values, strict=True)))
        except NoReverseMatch:
            continue  # an example of another kind, as of a series for a recipe


def _is_page(client: Client, path: str) -> bool:
    answer = client.get(path)
    html = str(answer.headers.get("Content-Type", "")).startswith("text/html")
    return answer.status_code == 200 and html and answer.content[:15].lower().startswith(b"<!doctype")


def _shows_pages(client: Client, pattern: URLPattern, examples: EXAMPLES) -> bool:
    """Whether it refuses or leads on for every example, so that nobody knows what it shows."""
    return all(client.get(path).status_code not in (200, 405) for path in _addresses(pattern, examples))
