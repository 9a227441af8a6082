"""What publishing a draft would do: everything that will be public, and why it cannot be published."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ledger.selectors import population_named
from panprivacy.accounting.guarantees import Guarantee
from panprivacy.accounting.trust import Trust
from panprivacy.formats.errors import FieldError
from panprivacy.formats.times import format_time
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.statistics.interface import Statistic
from panprivacy.statistics.streams.parameters import ITEM_LIST
from panprivacy.statistics.trust_models import TRUST_MODELS
from publishing import unavailable_here
from publishing.admission import admitting_here, require_admitted
from publishing.target import target_require
from recipes.budget import Effect, effect_question, effect_require, fitting_question
from recipes.cost import Cost
from recipes.numbers import RecipeNumbers
from recipes.operations import require_within_limits
from recipes.planner.guarantees import guarantees_question, guarantees_require
from storage.answers.questions import ask_all


@dataclass(frozen=True)
class Expected:
    """What a draft comes to.

    Attributes:
        statistic: with its derived parameters computed.
        numbers: what else follows from it.
        effect: on its population's budget.
        opens_at, closes_at: if it were published at this moment.
    """

    statistic: Statistic[Any]
    guarantees: list[Guarantee]
    numbers: RecipeNumbers
    effect: Effect
    opens_at: datetime
    closes_at: datetime

    @property
    def needs_universe(self) -> bool:
        """Whether publishing asks for the items that the recipe is about."""
        return getattr(self.statistic.parameters, "items", "") == ITEM_LIST


@dataclass(frozen=True)
class Review:
    """A draft as it would be published.

    Attributes:
        draft: None if it cannot even be read: another version may have accepted what this one does not.
        expected: None if it cannot be computed.
        refusal: why it cannot be published with its present content; in addition, the budget may not suffice.
        over_already: whether the refusal is that it would have closed.
    """

    draft: RecipeDraft | None = None
    expected: Expected | None = None
    refusal: FieldError | None = None
    over_already: bool = False

    @property
    def publishable(self) -> bool:
        """Whether no obstacle is known."""
        return self.expected is not None and self.refusal is None and not self.expected.effect.exceeds

    @property
    def warning(self) -> str:
        """Why a result is unlikely; empty if one is likely, or nothing is known."""
        return "" if self.expected is None else self.expected.numbers.unlikely


def review_of(members: Mapping[str, object], *, now: datetime) -> Review:
    """What publishing at this moment would do. Nothing is stored, and no other server asked.

    Args:
        members: of a recipe file.

    Raises:
        NotComputedError: what it guarantees or costs is not computed yet.
    """
    draft = expected = None
    try:
        draft = RecipeDraft.from_mapping(members)
        cost, population = Cost.of(draft), population_named(draft.population)
        # Together, so that they share one deadline. The last is what publishing asks.
        questions = [guarantees_question(draft), effect_question(cost, population)]
        ask_all([*questions, fitting_question(cost, population)])
        guaranteed = guarantees_require(asked=draft)
        draft = guaranteed.settled(draft)
        statistic = draft.calibrated
        opens_at, closes_at = draft.window(now)
        expected = Expected(
            statistic=statistic,
            guarantees=list(guaranteed.guarantees),
            numbers=guaranteed.numbers,
            effect=effect_require(cost, draft.population),
            opens_at=opens_at,
            closes_at=closes_at,
        )
        require_within_limits(draft, guaranteed)
        guaranteed.require_kept()
        require_admitted(draft, statistic, admitting_here())
        target_require(draft, simulation=False)
        if unavailable := trust_unavailable(draft.trust, type(statistic)):
            raise FieldError("trust", f"cannot be {draft.trust.value} here: {unavailable}")
    except FieldError as error:
        return Review(draft, expected, error)
    if closes_at <= now:
        refusal = FieldError("closes_at", f"must be in the future; it is {format_time(now)} now")
        return Review(draft, expected, refusal, over_already=True)
    return Review(draft, expected)


def trust_unavailable(trust: Trust, statistic: type[Statistic[Any]]) -> str:
    """Why a recipe of this statistic cannot have this trust model here, as a clause; empty if it can."""
    return TRUST_MODELS[trust].refusal(statistic) or unavailable_here(trust)
