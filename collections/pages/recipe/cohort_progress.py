"""How far an open recipe is beyond its cohort: bands, time left, and what waiting is worth.

Everything here is computed from the coarse number of reports, public times and the stated plan. Nothing else
may enter, or the page would reveal more than the coarse number does.
"""

import zlib
from dataclasses import astuple, dataclass
from datetime import datetime, timedelta
from typing import Any

from pages.words.plan import margin_text
from panprivacy.planning.forecast import MarginForecast, forecast
from panprivacy.planning.recipe_plan import RecipePlan
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.statistics.events.cohort import CohortStatistic
from panprivacy.statistics.interface import Statistic
from recipes.models import Recipe
from web.numbers import number, significant


@dataclass(frozen=True)
class Standing:
    """Texts for the page; each empty if there is nothing to show.

    Attributes:
        of_plan: the reports compared with those that the plan expects, in a sentence.
        left: how long it stays open: "3 days".
        now, later: what closing now gives and what waiting, each as the end of a sentence.
        bar: the value of the progress bar, and its maximum.
    """

    of_plan: str
    left: str
    now: str
    later: str
    bar: tuple[int, int]

    @property
    def in_short(self) -> str:
        """A number that differs if the content differs, except in 1 of 4 billion cases."""
        return str(zlib.crc32(repr(astuple(self)).encode()))


def standing_of(recipe: Recipe, plan: RecipePlan, reports: int, now: datetime) -> Standing:
    """The state of a published recipe at `now`.

    Args:
        reports: coarse, as of `panprivacy.formats.rounded_counts.rounded_beyond`.
    """
    published = recipe.published
    statistic, cohort = published.calibrated_statistic, recipe.cohort_size
    is_open = recipe.status == Recipe.Status.PUBLISHED and (recipe.simulation or published.opens_at <= now)
    timed = is_open and not recipe.simulation and now < published.closes_at
    expected = None
    if plan.population_size is not None:
        expected = round(plan.population_size * statistic.parameters.sampling_rate)
    looked_at: MarginForecast | None = None
    if is_open and isinstance(statistic, CohortStatistic):
        passed = _passed(published, now) if timed else 0.0
        servers = type(published.servers)
        looked_at = forecast(statistic, reports, passed, plan.population_size, servers=servers)
    rate = statistic.parameters.sampling_rate
    return Standing(
        of_plan="" if expected is None else _of_plan(reports, expected, plan, rate),
        left=_rounded(published.closes_at - now) if timed else "",
        now="" if looked_at is None else _closing_now(looked_at, statistic, reports),
        later="" if looked_at is None or not timed else _waiting(looked_at, statistic),
        bar=(reports, max(cohort, expected or 0) if reports >= cohort else cohort),
    )


def _passed(published: PublishedRecipe, now: datetime) -> float:
    """The part of the time to report that has passed: devices report after their last step."""
    first = published.opens_at + published.steps_duration
    if not first < now:
        first = published.opens_at  # some opened earlier, or there is no such time
    return (now - first) / (published.closes_at - first)


def _of_plan(reports: int, expected: int, plan: RecipePlan, sampling_rate: float) -> str:
    heard = f"{number(plan.population_size)} devices hear of it"
    planned = f"The plan expects {number(expected)} reports: {heard}"
    planned += f", {significant(100 * sampling_rate)}% of them take part." if sampling_rate < 1 else "."
    if reports == 0 or expected == 0:
        return planned
    return (
        f"{planned} So far at least {significant(min(100.0, 100 * reports / expected))}% of them have come."
    )


def _closing_now(looked_at: MarginForecast, statistic: Statistic[Any], reports: int) -> str:
    if looked_at.now is None and reports >= statistic.cohort_size:
        return "perhaps nothing is released, as a result takes some more reports than the cohort size"
    if looked_at.now is None:
        return "nothing is released, as the cohort is not full"
    return f"about {_margin(looked_at.now, statistic)}"


def _waiting(looked_at: MarginForecast, statistic: Statistic[Any]) -> str:
    if looked_at.reports is None:
        return ""
    reports = significant(looked_at.reports)
    if looked_at.later is None:
        still = "still" if looked_at.reports < statistic.cohort_size else "perhaps"
        return f"{still} nothing, as about {reports} reports come at this pace"
    return f"about {_margin(looked_at.later, statistic)}, with about {reports} reports at this pace"


def _margin(margin: float, statistic: Statistic[Any]) -> str:
    return margin_text(margin, "points" if statistic.counts_devices else statistic.unit)


def _rounded(left: timedelta) -> str:
    """Whole days from two on, else whole hours, else minutes."""
    seconds = left.total_seconds()
    for size, name, least in ((86_400, "day", 2), (3_600, "hour", 2), (60, "minute", 0)):
        times = int(seconds // size)
        if times >= least:
            return f"{number(times)} {name}{'' if times == 1 else 's'}"
    return ""
