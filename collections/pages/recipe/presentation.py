"""A recipe and its release, in the words and numbers that the pages show."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pages.recipe.derived import answer_sentence, derived_of
from pages.words.units import within
from pages.words.verdicts import NOTICED, verdict_shown
from panprivacy.statistics.interface import Statistic, is_uninformative
from panprivacy.statistics.intervals.estimate import Interval
from panprivacy.statistics.shares import Shares
from recipes.models import Recipe
from recipes.numbers import numbers_of
from results.excerpt import Excerpt, excerpt_of, interval_of, intervals_of, verdict_of
from results.models import Release, SimulatedTruth
from results.rates import held_of
from results.shares import shares_of
from storage.columns import stored
from web.numbers import (
    at_place,
    estimate_with_margin,
    number,
    place_of,
    significant,
)

HELD = "held"
"""Key of the status of a recipe whose result waits for a decision."""


@dataclass(frozen=True)
class Status:
    """The state of a recipe: `key` for style sheets, `label` for people."""

    key: str
    label: str


def status_of(recipe: Recipe, release: Release | None, now: datetime) -> Status:
    """The state of a recipe at `now`."""
    if recipe.status == Recipe.Status.DRAFT:
        return Status("draft", "Draft")
    if release is not None:
        return Status(release.outcome, release.get_outcome_display())
    if recipe.status == Recipe.Status.CLOSED:
        if held_of(recipe) is not None:
            return Status(HELD, "Closed, result held")
        return Status("summing", "Closed, being added up")
    if not recipe.simulation and recipe.opens_at is not None and now < recipe.opens_at:
        return Status("scheduled", "Not open yet")
    return Status("open", "Open")


def is_below_cohort(release: Release | None) -> bool:
    """Whether nothing was released because too few valid reports came."""
    return release is not None and release.cause == Release.Cause.TOO_FEW


def release_of(recipe: Recipe) -> Release | None:
    """The outcome of a recipe, if it has one."""
    return getattr(recipe, "release", None)


SAYS_NOTHING = "says nothing"

OF_SEGMENTS = "the devices of these segments"

TOGETHER = "for all values together"
"""What a level is of if there are several values."""


@dataclass(frozen=True)
class ShownInterval:
    """An interval as text."""

    name: str
    ends: str


@dataclass(frozen=True)
class ShownShare:
    """A count of devices in percent, with the ends of its widest interval; empty if none is counted."""

    share: str = ""
    ends: str = ""


@dataclass(frozen=True)
class EstimateRow:
    """One estimate as a row of the table; every number is text at one common place, empty if unknown. The
    narrowest interval comes first."""

    label: str
    estimate: str
    standard_error: str
    intervals: list[ShownInterval]
    error_bound: str
    note: str
    projection: str
    truth: str
    share: ShownShare


@dataclass(frozen=True)
class Headline:
    """The release in one sentence, and the level of its margin (`level_text`), empty if it has none."""

    text: str
    level: str


def estimate_rows(recipe: Recipe, release: Release, truth: SimulatedTruth | None) -> list[EstimateRow]:
    """What is shown of the release as rows; the truth only if a simulation knows it."""
    mechanism, shares = recipe.published.calibrated_statistic, shares_of(recipe, release)
    excerpt = excerpt_of(release)
    intervals = intervals_of(excerpt)
    margins = _margins(excerpt)
    rows: list[EstimateRow] = []
    for row, position in enumerate(excerpt.positions):
        value, error = excerpt.values[row], _at(excerpt.standard_errors, row)
        bound = _at(excerpt.error_bounds, row)
        place = _place(value, error, bound, margins[row])
        rows.append(
            EstimateRow(
                label=recipe.published.label(position),
                estimate=at_place(value, place),
                standard_error="" if error is None else at_place(error, place),
                intervals=[
                    ShownInterval(name_of(excerpt, interval), _ends(interval, row, place))
                    for interval in reversed(intervals)
                ],
                error_bound="" if bound is None else f"± {at_place(bound, place)}",
                note=_note(excerpt, row, mechanism),
                projection=at_place(excerpt.projection[row], place),
                truth="" if truth is None else at_place(truth.values[position], min(place, 0)),
                share=ShownShare() if shares is None else _share(shares, excerpt, row, margins[row]),
            )
        )
    return rows


def headline(recipe: Recipe, release: Release) -> Headline:
    """The release in one sentence: the one estimate, or the largest of several."""
    if release.details and verdict_of(release):
        return Headline(f"Verdict: {verdict_shown(release.details)}", "")
    mechanism, excerpt = recipe.published.calibrated_statistic, excerpt_of(release)
    interval = interval_of(excerpt)
    level = "" if interval is None else level_text(excerpt, interval)
    # Devices of no segment are not in the answer.
    whole = OF_SEGMENTS if recipe.published.segments else whole_text(recipe, release)
    answer = answer_sentence(recipe, derived_of(release), whole)
    if answer:
        return Headline(answer, level)
    if not mechanism.scalar:
        return Headline(_headline_of_several(recipe, release, excerpt), level)
    note, margin = _note(excerpt, 0, mechanism), _margins(excerpt)[0]
    if interval is not None and interval.high[0] is None and interval.low[0] is not None:
        text = f"At least {significant(interval.low[0])} {mechanism.unit}"
    elif interval is not None and (high := interval.high[0]) is not None and excerpt.values[0] > high:
        # More than there can be, by the noise: a margin around it would be meaningless.
        text = _between(recipe, release, interval.low[0] or 0.0, high)
    else:
        text = _value_text(recipe, release, excerpt.values[0], margin)
        if percent_of(recipe, release):
            text += f" ({estimate_with_margin(excerpt.values[0], margin)})"
    return Headline(text + (f": {note}" if note else ""), level)


def whole_text(recipe: Recipe, release: Release) -> str:
    """What shares are of: "20,000 devices", with "about" if the number is an estimate; empty
    without shares."""
    shares = shares_of(recipe, release)
    if shares is None:
        return ""
    statistic = recipe.published.calibrated_statistic
    about = "" if shares.is_exact and statistic.parameters.sampling_rate == 1 else "about "
    return f"{about}{at_place(shares.of, 0)} {statistic.unit}"


def percent_of(recipe: Recipe, release: Release) -> Shares | None:
    """What headline and chart have in percent: shares with intervals. None if they have the statistic's
    unit, because the interval of a share would not hold."""
    shares = shares_of(recipe, release)
    return shares if shares is not None and shares.is_exact else None


def _value_text(recipe: Recipe, release: Release, value: float, margin: float | None) -> str:
    """4,690 ± 400 of 20,000 → "23.5% ± 2.0 points of 20,000 devices"; "4,690 ± 400 devices, 23.5% of about
    20,000 devices" if only the count has a margin."""
    if shares := percent_of(recipe, release):
        shown = _shown_value(shares, value, margin)
        points = "" if margin is None else f" ± {significant(100 * shares.margin(margin))} points"
        return f"{shown}{points} of {whole_text(recipe, release)}"
    text = f"{estimate_with_margin(value, margin)} {recipe.published.calibrated_statistic.unit}"
    if shares := shares_of(recipe, release):
        text += f", {_shown_value(shares, value, margin)} of {whole_text(recipe, release)}"
    return text


def _between(recipe: Recipe, release: Release, low: float, high: float) -> str:
    """Both ends of an interval, as shares first if they are shares too."""
    counts, shares = f"{significant(low)} to {significant(high)}", percent_of(recipe, release)
    if shares is None:
        return f"{counts} {recipe.published.calibrated_statistic.unit}"
    scaled = stored(shares.interval(Interval(1.0, (low,), (high,))))
    ends = [100 * stored(end) for end in (*scaled.low, *scaled.high)]
    return (
        f"{significant(ends[0])}% to {significant(ends[1], 3)}% of {whole_text(recipe, release)} ({counts})"
    )


def _headline_of_several(recipe: Recipe, release: Release, excerpt: Excerpt) -> str:
    """The largest value, and whether it surely is. All intervals hold together, so it may be chosen
    afterwards. Of coordinates of a vector: how many surely differ from zero."""
    mechanism = recipe.published.calibrated_statistic
    interval, margins = interval_of(excerpt), _margins(excerpt)
    least = excerpt.least_margin
    note = f": {SAYS_NOTHING}" if least is not None and is_uninformative(mechanism, least) else ""
    if mechanism.coordinates:
        if interval is None or excerpt.count > len(excerpt.values):
            title = mechanism.title[:1].lower() + mechanism.title[1:]
            return f"{number(excerpt.count)} estimates: {title}{note}"
        differ = sum(
            _below(0, low) or _below(high, 0) for low, high in zip(interval.low, interval.high, strict=True)
        )
        return f"{number(differ)} of {number(excerpt.count)} coordinates surely differ from zero{note}"
    row = max(range(len(excerpt.values)), key=lambda each: excerpt.values[each])
    value, label = excerpt.values[row], recipe.published.label(excerpt.positions[row])
    shown = _value_text(recipe, release, value, margins[row])
    others = f"the other {number(excerpt.count - 1)}" if excerpt.count > 2 else "the other one"
    surely = interval is not None and all(
        _below(interval.high[each], interval.low[row]) for each in range(len(excerpt.values)) if each != row
    )
    if interval is not None and excerpt.count > len(excerpt.values):
        # Of those that the excerpt leaves out, each estimate is smaller than its smallest.
        widest = excerpt.largest_margin
        highest = None if widest is None else min(excerpt.values) + widest
        surely = surely and _below(highest, interval.low[row])
    return f"{label}: {shown}, {'more' if surely else 'not surely more'} than {others}{note}"


def _shown_value(shares: Shares, value: float, margin: float | None) -> str:
    return f"{at_place(100 * shares.share(value), _percent_place(shares, value, margin))}%"


def _percent_place(shares: Shares, value: float, margin: float | None) -> int:
    scaled = None if margin is None else 100 * shares.margin(margin)
    return _place(100 * shares.share(value), scaled)


def _share(shares: Shares, excerpt: Excerpt, row: int, margin: float | None) -> ShownShare:
    value, interval = excerpt.values[row], interval_of(excerpt)
    shown = _shown_value(shares, value, margin)
    if interval is None:
        return ShownShare(shown)
    scaled, place = shares.interval(interval.at([row])), _percent_place(shares, value, margin)
    if scaled is None:
        return ShownShare(shown)
    low, high = scaled.low[0], scaled.high[0]
    if low is None or high is None:
        return ShownShare(shown)
    return ShownShare(shown, f"{at_place(100 * low, place)}% to {at_place(100 * high, place)}%")


def error_sentence(recipe: Recipe, release: Release) -> str:
    """How far a repeat would land from the truth, and what is included in that."""
    unit, excerpt = recipe.published.calibrated_statistic.unit, excerpt_of(release)
    error = excerpt.largest_standard_error
    if verdict_of(release) and error is not None:
        noticed = numbers_of(recipe).note
        said = f"The standard error of Z′ is {significant(error)} {_continued(release.standard_error_note)}"
        return " ".join(filter(None, (NOTICED, said, noticed)))
    sentences = []
    several = excerpt.count > 1
    interval = interval_of(excerpt)
    if interval is not None and several:
        sentences.append(
            f"With a probability of at least {level_percent(interval.level)}, all {number(excerpt.count)} "
            "intervals contain the truth, also that of the largest estimate."
        )
    elif interval is not None:
        sentences.append(
            f"The interval contains the truth with a probability of at least {level_percent(interval.level)}."
        )
    if interval is not None and None in interval.high:
        sentences.append("Nothing bounds the truth from above: the table is nearly full.")
    if error is not None:
        single = " of a single estimate, chosen beforehand," if several else ""
        largest = significant(error)
        alike = all(significant(each) == largest for each in excerpt.standard_errors)
        sentences.append(f"The standard error{single} is {'' if alike else 'at most '}{largest}.")
    bound = excerpt.largest_error_bound
    if excerpt.confidence is not None and bound is not None:
        which = "all estimates together lie" if several else "the estimate lies"
        sentences.append(
            f"With a probability of at least {level_percent(excerpt.confidence)}, {which} "
            f"{within(bound, unit)} (error bound)."
        )
    note = release.standard_error_note
    sentences.append(note if error is not None else f"Standard error: {_continued(note)}")
    return " ".join(sentences)


def uninformative(recipe: Recipe, release: Release) -> bool:
    """Whether no estimate has a margin smaller than half the range of possible answers."""
    excerpt, mechanism = excerpt_of(release), recipe.published.calibrated_statistic
    if excerpt.least_margin is not None:
        return is_uninformative(mechanism, excerpt.least_margin)
    return interval_of(excerpt) is not None and all(
        _note(excerpt, row, mechanism) == SAYS_NOTHING for row in range(len(excerpt.values))
    )


def level_percent(level: float) -> str:
    """0.95 → "95%", 0.999999 → "99.9999%": a level is not rounded to fewer digits, as shares are."""
    return f"{number(round(100 * level, 6))}%"


def level_text(excerpt: Excerpt, interval: Interval) -> str:
    """What an interval's level is, and of what: "95%", or "95% for all values together"."""
    return level_percent(interval.level) + (f" {TOGETHER}" if excerpt.count > 1 else "")


def name_of(excerpt: Excerpt, interval: Interval) -> str:
    """What an interval is called: "95% interval", or "95% interval for all values together"."""
    return f"{level_percent(interval.level)} interval" + (f" {TOGETHER}" if excerpt.count > 1 else "")


def _margins(excerpt: Excerpt) -> list[float | None]:
    """How far the widest interval reaches from each estimate shown; None if it does not end."""
    interval = interval_of(excerpt)
    return [None] * len(excerpt.values) if interval is None else interval.margins(excerpt.values)


def _note(excerpt: Excerpt, row: int, mechanism: Statistic[Any]) -> str:
    """A warning about an estimate with so large a margin; else empty."""
    interval, half_width = interval_of(excerpt), _margins(excerpt)[row]
    if interval is None:
        return ""
    holds_zero = not (_below(0, interval.low[row]) or _below(interval.high[row], 0))
    if holds_zero if half_width is None else is_uninformative(mechanism, half_width):
        return SAYS_NOTHING
    return "consistent with zero" if holds_zero else ""


def _below(value: float | None, other: float | None) -> bool:
    """Whether one end is below the other; a missing end is beyond every number."""
    return value is not None and other is not None and value < other


def _continued(sentence: str) -> str:
    """A sentence as the rest of one."""
    return sentence[:1].lower() + sentence[1:]


def _at(values: list[float] | None, position: int) -> float | None:
    return values[position] if values else None


def _place(value: float, *uncertainties: float | None) -> int:
    known = [uncertainty for uncertainty in uncertainties if uncertainty is not None]
    return place_of(known[0]) if known else place_of(value, 4)


def _ends(interval: Interval, row: int, place: int) -> str:
    low, high = interval.low[row], interval.high[row]
    if low is not None and high is not None:
        return f"{at_place(low, place)} to {at_place(high, place)}"
    if low is not None:
        return f"at least {at_place(low, place)}"
    return "" if high is None else f"at most {at_place(high, place)}"
