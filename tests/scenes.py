"""What pages show: accounts, and recipes brought to each of their states by the product's own operations."""

from collections.abc import Iterable
from typing import Any

from django.contrib.auth.models import Group, User
from django.utils import timezone

from publishing.publication import recipe_close, recipe_publish_file
from recipes.models import Recipe
from results.aggregation.operations import chunk_process, chunks_plan
from results.models import Release
from results.operations import result_release, truth_record
from series.operations import rounds_advance, series_publish
from streams.operations import intrusion_announce, items_fold
from tests.factories import (
    fresh_nonce,
    published_recipe,
    raw_reports_submit,
    recipe_members,
    report_of_count,
    report_of_values,
)

PASSWORD = "correct horse battery staple"


def account(name: str, *groups: str, **flags: bool) -> User:
    user = User.objects.create_user(name, password=PASSWORD, **flags)
    user.groups.set(Group.objects.filter(name__in=groups))
    return user


def analyst() -> User:
    return account("ana", "Analysts")


def auditor() -> User:
    return account("audrey", "Auditors")


def open_recipe(counts: Iterable[int] = (), **changes: Any) -> Recipe:
    """An open recipe to which devices with these counts of events have reported."""
    recipe = published_recipe(**changes)
    _submit(recipe, [report_of_count(recipe, count, seed=seed) for seed, count in enumerate(counts)])
    return recipe


def finished_recipe(values: Iterable[Iterable[int]], **changes: Any) -> Recipe:
    """A recipe that is closed and released or withheld, from reports that encrypt `values`."""
    recipe = published_recipe(**changes)
    _submit(recipe, [report_of_values(recipe, row) for row in values])
    return finish(recipe)


def finish(recipe: Recipe, closed_by: User | None = None) -> Recipe:
    recipe = recipe_close(recipe=recipe, actor=closed_by)
    for chunk in chunks_plan(recipe=recipe):
        chunk_process(chunk=chunk)
    result_release(recipe=recipe)
    return Recipe.objects.get(pk=recipe.pk)


def finished_round() -> Recipe:
    """The first round of a series, released: all of the segment old had the event, none of new."""
    members = recipe_members(segments=["old", "new"], every="week", rounds=3, epsilon=8.0, cohort_size=20)
    members["event"] = "app.crash"
    series = series_publish(members=members, actor=None)
    rounds_advance()
    recipe = series.rounds.get(number=1).recipe
    cells = [1, 2] * 50
    _submit(recipe, [report_of_values(recipe, [place == cell for place in range(4)]) for cell in cells])
    return finish(recipe)


def simulated_recipe(devices_by_count: dict[int, int], **changes: Any) -> Recipe:
    """A released simulation with its truth."""
    counts = [count for count, devices in devices_by_count.items() for _ in range(devices)]
    recipe = finish(open_recipe(counts, simulation=True, **changes))
    truth = recipe.published.calibrated_statistic.truth(devices_by_count)
    truth_record(recipe=recipe, values=truth, devices=len(counts), sampled=len(counts))
    return recipe


def stream_members(**changes: Any) -> dict[str, Any]:
    """A recipe file about a stream of numbers; a change to None leaves the member out."""
    members = {
        "name": "Visitors",
        "question": "Which part of our customers came?",
        "statistic": "density",
        "epsilon": 0.5,
        "items": "numbered",
        "universe_size": 2_000,
        "table_size": 2_000,
        "announced_intrusions": 2,
        **changes,
    }
    return {name: value for name, value in members.items() if value is not None}


def open_stream(stream: Iterable[object] = (), **changes: Any) -> Recipe:
    """A recipe about a stream into which these items were folded."""
    recipe = recipe_publish_file(members=stream_members(**changes), actor=None)
    batch = [str(item) for item in stream]
    if batch:
        items_fold(identifier=recipe.identifier, nonce=fresh_nonce(), items=batch, now=timezone.now())
    return recipe


def announced(recipe: Recipe, looks: int = 1) -> Recipe:
    """The same after so many announced intrusions."""
    for _ in range(looks):
        intrusion_announce(identifier=str(recipe.identifier), actor=None, reason="File 7", now=timezone.now())
    return recipe


def released(recipe: Recipe) -> Release:
    """The result of a closed recipe, released or withheld."""
    release = result_release(recipe=recipe)
    assert release is not None
    return release


def closed_stream(recipe: Recipe) -> Recipe:
    """The same, closed and released."""
    result_release(recipe=recipe_close(recipe=recipe, actor=None))
    return Recipe.objects.get(pk=recipe.pk)


def _submit(recipe: Recipe, reports: list[dict[str, Any]]) -> None:
    for start in range(0, len(reports), 1_000):
        rejections = raw_reports_submit(recipe=recipe, reports=reports[start : start + 1_000])
        if rejections:
            raise ValueError(f"a scene holds only good reports: {rejections[0].detail}")
