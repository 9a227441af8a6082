"""What keeps a recipe from being published, in sentences, with the values that buttons fill in."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from pages.publish.forms import RecipeForm
from pages.trust_models import SHOWN
from panprivacy.accounting.trust import Trust
from panprivacy.formats.display import plain
from panprivacy.formats.errors import FieldError
from panprivacy.planning.limits import USUAL
from panprivacy.planning.value_search import Remedy
from panprivacy.statistics.interface import Statistic
from panprivacy.statistics.intervals.segment_estimates import ExpectedSegments
from panprivacy.statistics.trust_models import trusts_of
from publishing.review import trust_unavailable
from recipes.refusals import Refusals, limit_remedies
from web.numbers import number


@dataclass(frozen=True)
class Fix:
    """Values that a button fills in.

    Attributes:
        said: the label: "Largest ε that fits: 0.31".
        button: its label.
        take: names of fields and values, as in an address: `epsilon=0.31`.
    """

    said: str
    button: str
    take: str


@dataclass(frozen=True)
class Warned:
    """What does not keep a recipe from being published, but from being answered, and what would help."""

    sentence: str
    fixes: tuple[Fix, ...]


@dataclass(frozen=True)
class Blockers:
    """What is shown at the top of a form and of a review.

    Attributes:
        problems: why it cannot be published, a sentence each; empty if it can.
        fixes: values with which it can, or which help as far as they go.
        warnings: what to expect of devices.
        late: whether the search has not ended.
    """

    problems: tuple[str, ...] = ()
    fixes: tuple[Fix, ...] = ()
    warnings: tuple[Warned, ...] = ()
    late: bool = False

    def __bool__(self) -> bool:
        return bool(self.problems or self.warnings or self.late)


def blockers_of(
    form: type[RecipeForm],
    statistic: Statistic[Any],
    refused: Refusals,
    trust: Trust,
    population_size: int | None,
) -> Blockers:
    """What keeps a recipe with this (calibrated) statistic from being published or answered.

    Args:
        form: with the labels of its fields.
        refused: what its parameters and its population are refused for, and what to expect of devices.
        trust: the trust model.
        population_size: devices that hear of it; None if that is not known.
    """
    problems = [form.refusal(error) for error in refused.errors]
    fixes = [_fix(remedy) for remedy in refused.remedies]
    unavailable = trust_unavailable(trust, type(statistic))
    if unavailable:
        problems.append(form.refusal(FieldError("trust", f"cannot be {trust.value} here: {unavailable}")))
        fixes += _other_trusts(statistic)
    warnings = [] if problems else _warnings(statistic, refused, population_size)
    return Blockers(tuple(problems), tuple(fixes), tuple(warnings), refused.late)


TIMES = Fix(
    "It can open when it is published and stay open as long as usual",
    "Leave the times empty",
    urlencode({"opens_at": "", "closes_at": ""}),
)
"""For a draft that would have closed already."""


def _refused_by_devices(statistic: Statistic[Any], errors: Iterable[FieldError]) -> list[Warned]:
    fixes = {remedy.name: _fix(remedy) for remedy in limit_remedies(statistic, USUAL)}
    return [
        Warned(_refusal(error, statistic), tuple(fixes[name] for name in (error.field,) if name in fixes))
        for error in errors
    ]


def _warnings(statistic: Statistic[Any], refused: Refusals, population_size: int | None) -> list[Warned]:
    warned = _refused_by_devices(statistic, refused.devices)
    if refused.unlikely:
        warned.append(_unlikely(refused.unlikely, refused.likely_cohort))
    elif refused.segments is not None and population_size is not None:
        warned += _small_segments(refused.segments, statistic.cohort_size, population_size)
    return warned


def _refusal(error: FieldError, statistic: Statistic[Any]) -> str:
    # If ε itself is within the limit, it is named because the local ε depends on it.
    local = error.field == "epsilon" and statistic.parameters.epsilon <= USUAL.largest_epsilon
    return REFUSED["guarantee" if local else error.field]


REFUSED = {
    "cohort_size": f"Devices refuse cohorts below {USUAL.smallest_cohort:,}, unless they are set otherwise.",
    "guarantee": "Devices refuse single reports with a local privacy loss (ε) above "
    f"{number(USUAL.largest_local_epsilon)}, unless they are set otherwise.",
    "epsilon": f"Devices refuse ε above {number(USUAL.largest_epsilon)}, unless they are set otherwise.",
    "delta": f"Devices refuse a failure probability (δ) above {number(USUAL.largest_delta)}, unless they are "
    "set otherwise.",
}
"""What devices with the usual limits refuse, by the field."""


def _unlikely(sentence: str, reached: int | None) -> Warned:
    """The sentence, with the largest cohort for which a result is likely."""
    if reached is None:
        return Warned(sentence, ())
    said = f"Largest cohort with which a result is likely, if every device reports: {number(reached)}"
    take = urlencode({"cohort_size": reached})
    return Warned(sentence, (Fix(said, f"Take a cohort of {number(reached)}", take),))


def _small_segments(expected: ExpectedSegments, cohort_size: int, population_size: int) -> list[Warned]:
    """That no segment would surely have a cohort, even if all are equally large."""
    if expected.shown:
        return []
    sure, segments = int(expected.reports), round(population_size / expected.devices)
    sentence = (
        f"Segments may not be shown: of {segments} equally large ones, each surely has about "
        f"{number(max(sure, 0))} reports, and the cohort size is {number(cohort_size)}."
    )
    if sure < USUAL.smallest_cohort:
        return [Warned(sentence, ())]
    said = f"Largest cohort that each of them surely has: {number(sure)}"
    fix = Fix(said, f"Take a cohort of {number(sure)}", urlencode({"cohort_size": sure}))
    return [Warned(sentence, (fix,))]


def _fix(remedy: Remedy) -> Fix:
    value = number(remedy.value)
    said, button = {
        "epsilon": (f"Largest ε that fits: {value}", f"Take ε = {value}"),
        "cohort_size": (f"Smallest cohort that fits: {value}", f"Take a cohort of {value}"),
        "delta": (f"Largest δ that fits: {value}", f"Take δ = {value}"),
    }[remedy.name]
    return Fix(said, button, urlencode({remedy.name: plain(remedy.value, "").removesuffix(".0")}))


def _other_trusts(statistic: Statistic[Any]) -> list[Fix]:
    """The trust models that are available here."""
    return [
        Fix(f"Available here: {SHOWN[trust].title}", "Take it", urlencode({"trust": trust.value}))
        for trust in trusts_of(type(statistic))
        if not trust_unavailable(trust, type(statistic))
    ]
