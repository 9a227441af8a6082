"""How far an open recipe is beyond its cohort: bands, time left, and what waiting is worth.

Everything here follows from the coarse number of reports, public times and the stated plan. Nothing else may
enter, or the page would reveal more than the coarse number does. Margins are computed by a worker.
"""

import zlib
from dataclasses import astuple, dataclass
from datetime import datetime, timedelta
from typing import Any

from pages.awaited_numbers import Awaited
from pages.words.plan import margin_text
from panprivacy.planning.forecast import final_reports
from panprivacy.planning.recipe_plan import RecipePlan
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.statistics.events.cohort import CohortStatistic
from panprivacy.statistics.interface import Statistic
from recipes.models import Recipe
from recipes.numbers import margins_with
from storage.answers.questions import State
from web.numbers import number, significant


@dataclass(frozen=True)
class Standing:
    """Texts for the page; each empty if there is nothing to show.

    Attributes:
        of_plan: the reports compared with those that the plan expects, in a sentence.
        left: how long it stays open: "3 days".
        now, later: what closing now gives and what waiting, each as the end of a sentence.
        bar: the value of the progress bar, and its maximum.
        awaited: in place of `now` and `later`, as long as these are not computed; else None.
    """

    of_plan: str
    left: str
    now: str
    later: str
    bar: tuple[int, int]
    awaited: Awaited | None = None

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
    now_said, later_said, awaited = "", "", None
    if is_open and isinstance(statistic, CohortStatistic):
        passed = _passed(published, now) if timed else 0.0
        final = final_reports(statistic.parameters, reports, passed, plan.population_size)
        found = _margins(recipe, reports, final)
        if isinstance(found, State):
            awaited = Awaited(found)
        else:
            now_said = _closing_now(found[0], statistic, reports)
            later_said = "" if final is None else _waiting(found[1], statistic, final)
    return Standing(
        of_plan=""
        if expected is None
        else _of_plan(reports, expected, plan, statistic.parameters.sampling_rate),
        left=_rounded(published.closes_at - now) if timed else "",
        now=now_said,
        later=later_said,
        bar=(reports, max(cohort, expected or 0) if reports >= cohort else cohort),
        awaited=awaited,
    )


def _margins(recipe: Recipe, reports: int, final: float | None) -> tuple[float | None, float | None] | State:
    """The margin with the reports so far, and with the final ones; None if they hardly give a result."""
    # A cohort that is not full gives none: that is no question.
    full = [number for number in (float(reports), final) if number and number >= recipe.cohort_size]
    found = margins_with(recipe, full)
    if isinstance(found, State):
        return found
    margins = {number: one.margin if one.likely else None for number, one in zip(full, found, strict=True)}
    return margins.get(reports), None if final is None else margins.get(final)


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


def _closing_now(margin: float | None, statistic: Statistic[Any], reports: int) -> str:
    if margin is None and reports >= statistic.cohort_size:
        return "perhaps nothing is released, as a result takes some more reports than the cohort size"
    if margin is None:
        return "nothing is released, as the cohort is not full"
    return f"about {_margin(margin, statistic)}"


def _waiting(margin: float | None, statistic: Statistic[Any], final: float) -> str:
    reports = significant(final)
    if margin is None:
        still = "still" if final < statistic.cohort_size else "perhaps"
        return f"{still} nothing, as about {reports} reports come at this pace"
    return f"about {_margin(margin, statistic)}, with about {reports} reports at this pace"


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
