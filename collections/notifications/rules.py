"""Rules: what an account wants to know of results, and how often a rule may be wrong.

A rule compares ends of intervals that hold together with 95%: those of all results that it reads in
`over_rounds` rounds (`results.parts.exact_part`). While all of them hold, no rule fires without a cause: an
end beyond the value means that the truth is beyond it, and a difference of two ends means that the two truths
differ. So it fires by mistake in these rounds with a probability of at most 5%, however it chooses among
values and segments, and whatever the truth is (Boole's inequality).

A rule for "above" reads low ends only, and one for "below" high ends only, so only these have to hold.
"""

import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.contrib.auth.models import AbstractBaseUser, User
from django.db import transaction
from django.db.models import Count, Q, QuerySet, Window
from django.db.models.functions import RowNumber

from notifications.models import Check, Rule
from notifications.operations import NotificationStateError
from panprivacy.formats.display import as_typed
from panprivacy.formats.errors import FieldError
from panprivacy.recipe.series import MOST_ROUNDS
from panprivacy.statistics.interface import Statistic
from panprivacy.statistics.intervals.estimate import LEVELS
from recipes.access import recipes_visible_to
from recipes.models import Recipe
from results.models import Release
from results.shares import shares_have_intervals
from series.models import Round, Series
from series.operations import series_is_running
from series.selectors import asked_segment
from storage import clock
from storage.columns import stored
from web.numbers import number

FALSE_ALARMS = round(1 - LEVELS[0], 12)
"""Most of the probability with which a rule fires by mistake in `over_rounds` rounds."""

USUAL_ROUNDS = 10

MOST_RULES = 100
"""Of one account."""

LARGEST_VALUE = 1e15
"""Of estimates that are no shares, in their unit."""

_IDENTIFIER = re.compile(r"[0-9a-f]{16}|[0-9a-f]{64}")
"""Of a series, and of a recipe."""


@dataclass(frozen=True)
class Subject:
    """What a rule is about: a series, or one recipe.

    Attributes:
        segments: labels by which it asks.
        unit: of the estimates for all devices; empty if they are shares of them.
        simulated: whether its devices are: firings are then on pages only.
    """

    series: Series | None
    recipe: Recipe | None
    segments: tuple[str, ...]
    unit: str
    simulated: bool = False

    def watched(self, segment: str) -> list[str]:
        """What is watched if this segment is named, or none: then all devices and each segment. All devices
        are left out if their number is known in devices only, because segments have shares."""
        if segment:
            return [segment]
        everything = [] if self.segments and self.unit else [""]
        return [*everything, *self.segments]

    def unit_of(self, segment: str) -> str:
        """The unit of a rule's value; empty for shares."""
        return "" if segment or self.segments else self.unit


def subject_of(*, series: object = None, recipe: object = None) -> Subject:
    """The series or the recipe of this identifier.

    Raises:
        FieldError: named as the argument: it is not here, has no more results to come, or none that can be
            compared; or not exactly one is given.
    """
    if (series is None) == (recipe is None):
        raise FieldError("series", "must be given, or `recipe` instead of it")
    return _of_recipe(recipe) if series is None else _of_series(series)


@transaction.atomic
def rule_create(
    *,
    user: User,
    subject: Subject,
    when: object,
    segment: str = "",
    value: object = None,
    over_rounds: object = None,
) -> Rule:
    """Have results that come later compared; the rule that the account has already, if it is the same.

    Args:
        subject: by `subject_of`.
        when: of `Rule.When`. A series has a change from one result to the next.
        segment: its label; empty for all devices and each segment.
        value: a share from 0 to 1, or an estimate in the unit of the subject. None for a change, and for
            `below`: the rule then fires if too few devices reported.
        over_rounds: for which the false alarm rate holds, 1 to `MOST_ROUNDS`; 1 for a recipe. None for the
            usual number.

    Raises:
        FieldError: naming the argument, or `segment`.
        NotificationStateError: the account has as many rules as it may.
    """
    asked_segment(subject.segments, segment)
    kind = _when(when, subject)
    of_cohort = kind == Rule.When.BELOW and value is None
    unit = subject.unit_of(segment)
    chosen = {
        "series": subject.series,
        "recipe": subject.recipe,
        "when": kind,
        "value": None if of_cohort else _value(value, kind, unit),
        "unit": unit,
        # That a small segment is not shown is no news, unless it is named.
        "watched": [segment] if of_cohort else subject.watched(segment),
        "over_rounds": _over_rounds(over_rounds, subject),
    }
    # Locked, so that two requests at once do not make too many.
    user = User.objects.select_for_update(no_key=True).get(pk=user.pk)
    if same := user.rules.filter(**chosen).first():
        return same
    if user.rules.count() >= MOST_RULES:
        raise NotificationStateError(f"the account has {MOST_RULES} rules; delete one first")
    return Rule.objects.create(
        identifier=secrets.token_hex(16), user=user, created_at=clock.database_now(), **chosen
    )


@transaction.atomic
def rule_delete(*, rule: Rule) -> None:
    """End it, with its firings and their messages; does nothing if it is already deleted."""
    Rule.objects.filter(pk=rule.pk).delete()


def rules_of(user: AbstractBaseUser) -> QuerySet[Rule]:
    """An account's own, newest first."""
    return Rule.objects.filter(user__pk=user.pk).select_related("series", "recipe")


def firings_of(rules: Sequence[Rule], most: int) -> dict[int, list[Check]]:
    """Key of a rule → its firings, newest first; at most `most` of each."""
    found: dict[int, list[Check]] = {rule.pk: [] for rule in rules}
    fired = Check.objects.filter(rule__in=found, state=Check.State.FIRED)
    placed = fired.annotate(place=Window(RowNumber(), partition_by="rule", order_by="-pk"))
    for check in placed.filter(place__lte=most).select_related("rule", "recipe__round").order_by("-pk"):
        found[check.rule_id].append(check)
    return found


def firings_since(user: User, since: datetime) -> QuerySet[Check]:
    """Those of an account's own rules that were found since then, newest first, with what they are about; of
    recipes that it may know of only."""
    fired = Check.objects.filter(rule__user=user, state=Check.State.FIRED, decided_at__gt=since)
    seen = fired.filter(recipe__in=recipes_visible_to(user))
    return seen.select_related("rule__series", "recipe__round").order_by("-pk")


def results_counted(rules: Sequence[Rule]) -> dict[int, tuple[int, int]]:
    """Key of a rule → the number of results that came since, and of those in which there was nothing that it
    could compare; no entry if none came."""
    unknown = Count("pk", filter=Q(state__in=(Check.State.UNKNOWN, Check.State.FAILED)))
    came = Check.objects.filter(rule__in=rules).exclude(state=Check.State.WAITING).order_by()
    return {
        pk: (results, without)
        for pk, results, without in came.values_list("rule").annotate(results=Count("pk"), without=unknown)
    }


def false_alarm_rate(rule: Rule) -> float:
    """Most of the probability with which it fires by mistake in `over_rounds` rounds: 0 if it compares no
    estimate."""
    return 0.0 if rule.is_of_cohort else FALSE_ALARMS


def rule_condition(rule: Rule) -> str:
    """At what it fires, as a clause."""
    if rule.is_of_cohort:
        what = f"does not show the segment “{rule.segment}”" if rule.segment else "has no result"
        of = "the recipe" if rule.series is None else "a round"
        return f"{of} {what}, because too few devices reported"
    changes = rule.when == Rule.When.CHANGED
    what = "changes from one result to the next" if changes else f"is {rule.when} {_value_text(rule)}"
    return f"{_watched_text(rule)} {what} by more than noise"


def rule_sentence(rule: Rule) -> str:
    """When it fires, and how often by mistake, in two sentences."""
    fires = f"Fires if {rule_condition(rule)}."
    if rule.is_of_cohort:
        return f"{fires} It compares no estimate."
    changes = rule.when == Rule.When.CHANGED
    unless = "without a change" if changes else f"with none {rule.when} {_value_text(rule)}"
    one = "a result" if rule.series is None else "a round"
    rounds = one if rule.over_rounds == 1 else f"{rule.over_rounds:,} rounds"
    return f"{fires} In {rounds} {unless}, this rule fires with a probability of at most {FALSE_ALARMS:.0%}."


def _watched_text(rule: Rule) -> str:
    if rule.segment:
        return f"a share of the segment “{rule.segment}”"
    if rule.unit:
        return "an estimate"
    if len(rule.watched) == 1:
        return "a share of the devices"
    return "a share of all devices or of a segment" if "" in rule.watched else "a share of a segment"


def _value_text(rule: Rule) -> str:
    if rule.value is None:
        return ""
    return f"{number(rule.value)} {rule.unit}" if rule.unit else f"{number(round(100 * rule.value, 6))}%"


def _of_series(identifier: object) -> Subject:
    series = Series.objects.filter(identifier=_text(identifier), private=False).first()
    if series is None:
        raise FieldError("series", f"must be the identifier of a series here, not {as_typed(identifier)}")
    asked = series.rounds.filter(recipe__isnull=False).select_related("recipe").order_by("-number").first()
    recipe = None if asked is None else stored(asked.recipe)
    if recipe is not None and recipe.unreadable:
        raise FieldError("series", f"must be one that can be read: {recipe.unreadable}")
    waiting = series.rounds.filter(state=Round.State.PUBLISHED, recipe__release=None)
    # The rounds of a simulation by the clock are stored one by one.
    left = series.stopped_at is None and series.rounds.count() < (series.draft.get("rounds") or 0)
    if not left and not series_is_running(series) and not waiting.exists():
        raise FieldError("series", "has all of its results: a rule watches later ones")
    if recipe is not None:
        found = _subject("series", series, None, recipe.published.calibrated_statistic)
        return replace(found, simulated=recipe.simulation)
    draft = series.parsed.recipe
    return _subject("series", series, None, draft.statistic_with(draft.parameters))


def _of_recipe(identifier: object) -> Subject:
    recipe = Recipe.objects.filter(identifier=_text(identifier)).first()
    if recipe is None or recipe.private or recipe.unreadable:
        raise FieldError("recipe", f"must be the identifier of a recipe here, not {as_typed(identifier)}")
    if recipe.simulation:
        raise FieldError("recipe", "must be one of real devices, or a series: this is a simulation")
    if Release.objects.filter(recipe=recipe).exists():
        raise FieldError("recipe", "has its result already: a rule watches a later one")
    return _subject("recipe", None, recipe, recipe.published.calibrated_statistic)


def _subject(field: str, series: Series | None, recipe: Recipe | None, statistic: Statistic[Any]) -> Subject:
    if statistic.hypothesis_test:
        raise FieldError(field, "must estimate something: this one has a verdict only")
    segmentation = statistic.segmentation
    return Subject(
        series=series,
        recipe=recipe,
        segments=() if segmentation is None else tuple(segmentation.labels),
        unit="" if shares_have_intervals(statistic) else statistic.unit,
    )


def _when(when: object, subject: Subject) -> Rule.When:
    allowed = [one for one in Rule.When if subject.series is not None or one != Rule.When.CHANGED]
    if when not in allowed:
        why = "" if subject.series else " for a recipe, which has one result"
        raise FieldError("when", f"must be {' or '.join(allowed)}{why}, not {as_typed(when)}")
    return Rule.When(str(when))


def _value(value: object, when: Rule.When, unit: str) -> float | None:
    if when == Rule.When.CHANGED:
        if value is not None:
            raise FieldError("value", "must be left out for a change")
        return None
    low, high = (-LARGEST_VALUE, LARGEST_VALUE) if unit else (0.0, 1.0)
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        what = f"a number of {unit} from {low:.0e} to {high:.0e}" if unit else "a share from 0 to 1"
        raise FieldError("value", f"must be {what}, not {as_typed(value)}")
    return float(value)


def _over_rounds(rounds: object, subject: Subject) -> int:
    most = MOST_ROUNDS if subject.recipe is None else 1
    if rounds is None:
        return min(USUAL_ROUNDS, most)
    if isinstance(rounds, bool) or not isinstance(rounds, int) or not 1 <= rounds <= most:
        allowed = f"a whole number from 1 to {most}" if most > 1 else "1 for a recipe, or left out"
        raise FieldError("over_rounds", f"must be {allowed}, not {as_typed(rounds)}")
    return rounds


def _text(identifier: object) -> str:
    """What a database may be asked for: PostgreSQL refuses NUL."""
    return identifier if isinstance(identifier, str) and _IDENTIFIER.fullmatch(identifier) else ""
