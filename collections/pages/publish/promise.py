"""What the values of a form promise, cost and would be refused for: workers answer, the page waits."""

from dataclasses import dataclass, replace

from ledger.selectors import population_named
from pages.words.sentences import GuaranteeText, guarantee_texts, protection_warning, sampling_sentence
from recipes.budget import Effect, effect_from, effect_question
from recipes.cost import Cost
from recipes.planner.guarantees import PROMISE, guarantees_of
from recipes.refusals import Refusals, refusals_from, refusals_question
from storage.answers.questions import Asked, State, ask_all

REFUSALS_SECONDS = 0.15
"""How long a preview waits for why the recipe would be refused, once its cost is there."""


@dataclass(frozen=True)
class Promise:
    """What is promised, and what it costs.

    Attributes:
        guarantees: without those that rely on participation being secret.
        warning: a warning about the guarantees, or empty.
        sampling: what sampling means for a device, or empty.
        effect: of all rounds on the population's budget; None if no population is chosen.
        rounds: their number; 1 if it is asked once.
    """

    guarantees: list[GuaranteeText]
    warning: str
    sampling: str
    effect: Effect | None
    rounds: int


@dataclass(frozen=True)
class Promised:
    """What a form shows.

    Attributes:
        state: how far the promise is.
        promise: None until it is there, or if it cannot be computed.
        refusals: None if they cannot be computed.
    """

    state: State = State.COMPLETE
    promise: Promise | None = None
    refusals: Refusals | None = None


def promised_of(
    cost: Cost,
    sampling_rate: float,
    population: str | None,
    population_size: int | None,
    rounds: int = 1,
) -> Promised:
    """What a recipe would promise, cost and be refused for, all within one deadline.

    Args:
        population: its name; None if none is chosen.
        population_size: devices that hear of it; None if that is not known.
        rounds: how often it is asked, each time on a line of its own in the book.

    Raises:
        FieldError: a guarantee cannot be computed, or there is no such population.
    """
    row = None if population is None else population_named(population)
    asked = [Asked(PROMISE, cost.as_dict())]
    if row is not None:
        asked.append(effect_question(replace(cost, times=rounds), row))
    promise, *effect = ask_all(asked)
    if promise.refusal is not None:
        raise promise.refusal
    # Hardly waited for, because it may take long: the page asks again. Nor begun before, because it needs the
    # same numbers, which would be computed twice.
    (refusals,) = ask_all([refusals_question(cost, population, population_size)], seconds=REFUSALS_SECONDS)
    refused = refusals_from(refusals)
    unknown = [answer.state for answer in (promise, *effect) if not answer.complete]
    if unknown:
        return Promised(unknown[0], None, refused)
    guarantees = guarantees_of(promise)
    return Promised(
        promise=Promise(
            guarantees=guarantee_texts(guarantees),
            warning=protection_warning(guarantees),
            sampling=sampling_sentence(sampling_rate),
            effect=None if row is None else effect_from(effect[0], row),
            rounds=rounds,
        ),
        refusals=refused,
    )
