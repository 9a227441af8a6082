"""Numbers of a recipe that pages show besides its guarantees. No request computes them.

What follows from the recipe alone is computed with its guarantees, and stored with them when it is published.
What also depends on the number of reports is a stored question.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, Self

from panprivacy.formats.errors import FieldError
from panprivacy.planning.expectation import MISSED
from panprivacy.planning.forecast import ReachedMargin, reached_margin
from panprivacy.planning.limits import local_epsilon
from panprivacy.planning.recipe_plan import RecipePlan
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.recipe.statistic import statistic_as
from panprivacy.statistics.events.cohort import CohortStatistic
from panprivacy.statistics.interface import Statistic
from panprivacy.statistics.robustness import Robustness
from panprivacy.statistics.shuffle.interface import ShuffleStatistic
from panprivacy.statistics.streams.interface import StreamStatistic
from panprivacy.statistics.streams.item_bits import BitDistributions
from recipes.models import Recipe
from storage.answers.kinds import Content, Lane, declared
from storage.answers.questions import Asked, State, ask_all


@dataclass(frozen=True)
class AfterIntrusions:
    """A stream after some announced intrusions.

    Attributes:
        absent, present: how likely a bit is 1, of an item that never came, and at most of one that did; None
            if the state is not made of such bits.
        error_bound: to be expected of the result, in the statistic's unit.
        guarantee: `Guarantee.as_dict()` against these intrusions, a secret one, and the result.
    """

    absent: float | None
    present: float | None
    error_bound: float
    guarantee: dict[str, Any]


@dataclass(frozen=True)
class RecipeNumbers:
    """What follows from a recipe alone.

    Attributes:
        margin: as `margin_of`.
        unlikely: why a result is unlikely, as a sentence; empty if one is likely, or nothing is known.
        note: `Statistic.expected_note`.
        local_epsilon: as `panprivacy.planning.limits.local_epsilon`.
        robustness: what dishonest devices can move; None if it is not stated.
        intrusions: of a stream, by the number of announced ones: from none to all that the recipe allows.
    """

    margin: float | None
    unlikely: str
    note: str
    local_epsilon: float
    robustness: Robustness | None
    intrusions: tuple[AfterIntrusions, ...]

    @classmethod
    def of(cls, statistic: Statistic[Any], draft: RecipeDraft) -> Self:
        """Of a draft, with its (calibrated) statistic. It may take seconds."""
        return cls(
            margin=margin_of(statistic, draft.plan),
            unlikely=draft.warning,
            note=statistic.expected_note,
            local_epsilon=local_epsilon(statistic),
            robustness=statistic.robustness,
            intrusions=_intrusions(statistic) if isinstance(statistic, StreamStatistic) else (),
        )

    @classmethod
    def from_mapping(cls, members: dict[str, Any]) -> Self:
        """As `as_dict` gives it."""
        robustness = members["robustness"]
        read = {
            "robustness": None if robustness is None else Robustness(**robustness),
            "intrusions": tuple(AfterIntrusions(**one) for one in members["intrusions"]),
        }
        return cls(**{**members, **read})

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


def numbers_of(recipe: Recipe) -> RecipeNumbers:
    """Of a published recipe, as computed when it was published."""
    return RecipeNumbers.from_mapping(recipe.guarantees.numbers)


@lru_cache(maxsize=256)  # some take a while
def margin_of(statistic: Statistic[Any], plan: RecipePlan) -> float | None:
    """The 95% margin that is expected by the plan, in the statistic's unit; of a stream the error bound
    without announced intrusions. None if none can be computed beforehand."""
    try:
        if isinstance(statistic, CohortStatistic):
            return statistic.expected_margin(plan.devices(statistic.parameters), MISSED)
        if isinstance(statistic, ShuffleStatistic):
            return None if statistic.hypothesis_test else statistic.expected_margin(MISSED)
        if isinstance(statistic, StreamStatistic):
            return statistic.expected_error_bound(announced_intrusions=0)
    except FieldError:
        return None
    return None


def _intrusions(statistic: StreamStatistic[Any]) -> tuple[AfterIntrusions, ...]:
    return tuple(
        _after_intrusions(statistic, announced)
        for announced in range(statistic.parameters.announced_intrusions + 1)
    )


def _after_intrusions(statistic: StreamStatistic[Any], announced: int) -> AfterIntrusions:
    bits = statistic.bit_epsilon
    after = None if bits is None else BitDistributions.after(bits, announced)
    return AfterIntrusions(
        absent=None if after is None else float(after.absent),
        present=None if after is None else float(after.present),
        error_bound=statistic.expected_error_bound(announced_intrusions=announced),
        guarantee=statistic.guarantee(announced).as_dict(),
    )


def _answer_margins(asked: Any) -> Iterator[Content]:
    published = Recipe.objects.get(identifier=asked["recipe"]).published
    statistic, servers = statistic_as(published, CohortStatistic), type(published.servers)
    margins = (reached_margin(statistic, reports, servers=servers) for reports in asked["reports"])
    yield {"margins": [asdict(margin) for margin in margins]}


MARGINS = declared("margins", _answer_margins, Lane.PLANS, urgent=False)

WAIT_SECONDS = 0.25
"""How long a request waits for margins: most take milliseconds, and pages ask again."""


def margins_with(recipe: Recipe, reports: Sequence[float]) -> list[ReachedMargin] | State:
    """What these numbers of reports (each above 0) give a published recipe, or why that is not known.

    Pass rounded numbers: other ones are another question.
    """
    if not reports:
        return []
    asked = {"recipe": str(recipe.identifier), "reports": list(reports)}
    (answer,) = ask_all([Asked(MARGINS, asked)], seconds=WAIT_SECONDS)
    if not answer.complete:
        return answer.state
    return [ReachedMargin(**one) for one in answer.content["margins"]]
