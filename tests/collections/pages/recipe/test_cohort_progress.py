"""What an open recipe's page says beyond the cohort: nothing finer than the band, and nothing unplanned."""

import re
from datetime import timedelta
from itertools import pairwise

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from pages.recipe.cohort_progress import Standing, standing_of
from panprivacy.formats.rounded_counts import rounded_beyond, rounded_count, rounded_rejections, rounding_step
from panprivacy.planning.recipe_plan import NO_PLAN
from recipes.models import Recipe
from recipes.selectors import stated_plan
from results.aggregation.operations import progress_of
from results.progress import progress_text
from tests.factories import published_recipe, raw_reports_submit, report_of_count
from tests.page_text import page_text
from tests.scenes import analyst, open_recipe

pytestmark = pytest.mark.django_db

DAY = 86_400


def recipe_open_for_days(**changes: object) -> Recipe:
    """Opened just now; devices report from the fourth day to the fourteenth."""
    now = timezone.now().replace(microsecond=0)
    times = {"opens_at": now.isoformat(), "closes_at": (now + timedelta(days=14)).isoformat()}
    return published_recipe(**{"cohort_size": 1_000, "step_seconds": DAY, "steps": 4, **times, **changes})


def standing_after(recipe: Recipe, days: float, reports: int) -> Standing:
    shown = rounded_beyond(reports, recipe.cohort_size)
    return standing_of(recipe, stated_plan(recipe), shown, recipe.published.opens_at + timedelta(days=days))


def test_standing_says_what_closing_now_and_waiting_give() -> None:
    recipe = recipe_open_for_days(population_size=20_000)
    said = standing_after(recipe, 9, 6_999)
    assert said.left == "5 days"
    assert said.of_plan.startswith("The plan expects 20,000 reports: 20,000 devices hear of it.")
    assert said.of_plan.endswith("So far at least 25% of them have come.")
    # The band is 5,000, half of the ten days have passed: 10,000 in the end.
    assert said.now.startswith("about ± ")
    assert said.now.endswith(" points")
    assert said.later.endswith(", with about 10,000 reports at this pace")
    assert said.bar == (5_000, 20_000)
    below = standing_after(recipe_open_for_days(), 9, 239)
    assert below.now == "nothing is released, as the cohort is not full"
    assert below.later == "still nothing, as about 440 reports come at this pace"
    assert (below.bar, below.of_plan) == ((220, 1_000), "")


def test_standing_follows_from_the_band_alone() -> None:
    recipe = recipe_open_for_days(population_size=20_000)
    for days in (0.1, 3.9, 4.2, 9, 13.99):
        within_a_band = {
            standing_after(recipe, days, count) for count in (5_000, 5_007, 7_499, 7_500, 9_993, 9_999)
        }
        assert len(within_a_band) == 1
    assert standing_after(recipe, 9, 4_999) != standing_after(recipe, 9, 5_000)


def test_standing_has_no_pace_at_first_of_simulations_and_if_not_open() -> None:
    recipe = recipe_open_for_days()
    assert standing_after(recipe, 4.1, 2_000).later == ""
    assert standing_after(recipe, 4.1, 2_000).now
    simulated = published_recipe(simulation=True, cohort_size=1_000)
    said = standing_of(simulated, NO_PLAN, 2_000, timezone.now())
    assert (said.left, said.later) == ("", "")
    unopened = standing_after(recipe, -1, 0)
    assert (unopened.now, unopened.later, unopened.left) == ("", "", "")
    recipe.status = Recipe.Status.CLOSED
    closed = standing_after(recipe, 9, 2_000)
    assert (closed.left, closed.now, closed.later) == ("", "", "")


def test_time_left_is_rounded_down() -> None:
    recipe = recipe_open_for_days()
    for left, said in (
        (timedelta(days=3, hours=5), "3 days"),
        (timedelta(hours=47), "47 hours"),
        (timedelta(minutes=119), "119 minutes"),
        (timedelta(seconds=70), "1 minute"),
    ):
        assert standing_of(recipe, NO_PLAN, 0, recipe.published.closes_at - left).left == said


def test_page_of_an_open_recipe_shows_band_plan_and_what_waiting_gives(client: Client) -> None:
    # A cohort of 2, as many reports take long to make; the first band beyond it is 20.
    recipe = open_recipe([1] * 21, cohort_size=2, population_size=400, target_margin=1)
    url = reverse("recipe", args=[recipe.identifier])
    page = page_text(client.get(url))
    for said in (
        "At least 20",
        "The cohort size of 2 is reached.",
        "The plan expects 400 reports: 400 devices hear of it. So far at least 5.0% of them have come.",
        "It closes in ",
        "Closing now: about ± ",
        "Planned: <strong>± ",
        ", wanted ± 1.0 points",
        "The expected margin is wider than the wanted one.",
        'aria-label="Reports towards the expected number"',
    ):
        assert said in page
    progress = page.split('id="progress-title">')[1].split("</section>")[0]
    without_times = re.sub(r"<time.*?</time>", "", progress, flags=re.DOTALL)
    assert not re.search(r"(?<![\w.])21(?![\w.])", without_times)
    client.force_login(analyst())
    assert "Closing now: about ± " in page_text(client.get(reverse("recipe-close", args=[recipe.identifier])))


def test_poll_sends_nothing_while_only_the_exact_number_changes(client: Client) -> None:
    recipe = open_recipe([1] * 21, cohort_size=2)
    shown = client.get(reverse("recipe", args=[recipe.identifier])).context["shown"]
    rejected = raw_reports_submit(recipe=recipe, reports=[report_of_count(recipe, 1)])
    assert not rejected
    assert progress_of(recipe).received == 22
    url = reverse("recipe-progress", args=[recipe.identifier])
    assert client.get(url, {"shown": shown}).status_code == 204


def test_numbers_of_reports_are_shown_in_steps_and_bands() -> None:
    sizes = (2, 100, 999, 1_000, 10_000, 25_000, 1_000_000, 10**9)
    assert [rounding_step(size) for size in sizes] == [10, 10, 10, 20, 200, 500, 20_000, 2 * 10**7]
    shown = [progress_text(count, 10_000) for count in range(10_001)]
    assert sum(before != after for before, after in pairwise(shown)) == 50
    assert set(shown[:200]) == {"fewer than 200 of 10,000"}
    assert progress_text(1, 5) == "fewer than 5"
    # Beyond the cohort size, only bands are shown.
    assert progress_text(10_000, 10_000) == progress_text(19_999, 10_000) == "at least 10,000 of 10,000"
    assert rounded_count(17_345, 10_000) == 10_000
    assert progress_text(20_000, 10_000) == progress_text(49_999, 10_000) == "at least 20,000"
    bands = {rounded_beyond(count, 800) for count in range(800, 120_000)}
    assert sorted(bands) == [800, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000]
    # Rare rejections are not shown while a recipe is open.
    rejected = {"duplicate_nonce": 1, "invalid_ciphertext": 450}
    assert rounded_rejections(rejected, 10_000) == {"invalid_ciphertext": 400}


@pytest.mark.parametrize("cohort_size", [2, 8, 25, 160, 999, 1_000, 1_234, 4_100])
def test_no_band_is_finer_than_the_steps_below_the_cohort_size(cohort_size: int) -> None:
    shown = [rounded_beyond(count, cohort_size) for count in range(30 * cohort_size)]
    assert shown[:cohort_size] == [rounded_count(count, cohort_size) for count in range(cohort_size)]
    assert all(value <= count for count, value in enumerate(shown))
    bands = sorted(set(shown[cohort_size:]))
    widths = [following - band for band, following in pairwise(bands)]
    assert all(width >= max(10, rounding_step(cohort_size), cohort_size // 4) for width in widths)
    assert len(bands) > 2
    # The bar is full where the words say "at least".
    for count in range(cohort_size + 3):
        is_full = rounded_count(count, cohort_size) == cohort_size
        assert is_full == progress_text(count, cohort_size).startswith("at least")
