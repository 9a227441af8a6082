"""Comparing results with rules: each result once, in order, whatever crashes and when.

What reads the log stores a row for each pair of rule and result, in the transaction that moves it on
(`outbox.log_read`). A second step decides each row, and stores the firing with its event.
"""

from collections.abc import Sequence

from django.db.models import Q

from log.audit.models import Entry
from notifications.models import Check, Rule
from panprivacy.statistics.intervals.difference import joint_difference
from recipes.models import Recipe
from results.actions import RESULT_RELEASED, RESULT_WITHHELD
from results.models import Release
from results.parts import Part, Shared, exact_part, hidden_reason
from series.selectors import result_before

ENDS = (RESULT_RELEASED.name, RESULT_WITHHELD.name)
"""Actions of entries that report a result, or that there is none."""


def checks_plan(entries: Sequence[Entry]) -> None:
    """Have the results that these entries report compared with the rules that were there before them."""
    ended = {entry.subject: entry.at for entry in entries if entry.action in ENDS}
    for recipe in Recipe.objects.filter(identifier__in=ended):
        at = ended[str(recipe.identifier)]
        watching = Rule.objects.filter(
            Q(recipe=recipe) | Q(series__rounds__recipe=recipe), created_at__lte=at
        )
        Check.objects.bulk_create(
            [Check(rule=rule, recipe=recipe, at=at) for rule in watching.order_by("pk")],
            ignore_conflicts=True,
        )


def check_decide(check: Check) -> tuple[Check.State, list[str]]:
    """What becomes of a check whose recipe has ended, and which segments fired. It changes nothing."""
    rule, recipe = check.rule, check.recipe
    release: Release = recipe.release
    if rule.is_of_cohort:
        fired = _is_below_cohort(release, rule.segment or "")
        return (Check.State.FIRED, list(rule.watched)) if fired else (Check.State.QUIET, [])
    if release.outcome != Release.Outcome.RELEASED or recipe.unreadable:
        return Check.State.UNKNOWN, []

    # The same for all segments: each result that is read costs a part of the false alarm rate.
    before = None
    if rule.when == Rule.When.CHANGED:
        before = result_before(recipe.round.series, recipe.round, "")
    found = alarms(rule, release, before)
    known = {label: fires for label, fires in found.items() if fires is not None}
    fired_in = [label for label, fires in known.items() if fires]
    if fired_in:
        return Check.State.FIRED, fired_in
    return (Check.State.QUIET if known else Check.State.UNKNOWN), []


def alarms(rule: Rule, release: Release, before: Release | None) -> dict[str, bool | None]:
    """Whether a released result lets a rule fire, for each label that it watches; None if there is nothing to
    compare.

    In `over_rounds` rounds in which no truth is beyond the value, or changes, any firing has at most the
    probability `rules.FALSE_ALARMS`.

    Args:
        before: the result before, with which a rule that waits for a change compares; None if there is none.
    """
    return {label: _fires(rule, release, before, label) for label in rule.watched}


def intervals_together(rule: Rule) -> int:
    """The number of intervals that hold together in `over_rounds` rounds. Those of all segments of a result
    do already, and count as one; a change in the first round needs the result before."""
    results = rule.over_rounds + (rule.when == Rule.When.CHANGED)
    return results * (2 if len(rule.watched) > 1 and "" in rule.watched else 1)


def _fires(rule: Rule, release: Release, before: Release | None, label: str) -> bool | None:
    part = _compared(rule, release, label)
    if part is None or part.interval is None:
        return None
    if rule.when == Rule.When.CHANGED:
        old = None if before is None else _compared(rule, before, label)
        if old is None or old.interval is None:
            return None
        return any(joint_difference(old.values, part.values, old.interval, part.interval).more_than_noise)
    limit = rule.value
    if limit is None:
        raise ValueError(f"{rule} has no value")
    if rule.when == Rule.When.ABOVE:
        return any(low is not None and low > limit for low in part.interval.low)
    return any(high is not None and high < limit for high in part.interval.high)


def _compared(rule: Rule, release: Release, label: str) -> Part | Shared | None:
    one_sided = rule.when != Rule.When.CHANGED
    part = exact_part(release, label, among=intervals_together(rule), one_sided=one_sided)
    return part if part is None or rule.unit else part.shares


def _is_below_cohort(release: Release, segment: str) -> bool:
    if release.outcome == Release.Outcome.WITHHELD:
        return release.cause == Release.Cause.TOO_FEW
    return bool(segment) and bool(hidden_reason(release, segment))
