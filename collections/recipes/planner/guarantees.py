"""What a recipe guarantees, and whether it keeps what it states: computed before it can be published."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from panprivacy.accounting.guarantees import Guarantee, Model, Relation
from panprivacy.formats.errors import FieldError
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.recipe.rounds.draft import RoundsDraft
from panprivacy.recipe.rounds.privacy import DonationAmplification, donation_amplified, rounds_guarantees
from panprivacy.statistics.events.cohort import open_guarantees
from panprivacy.statistics.events.interface import MaskedMechanism
from panprivacy.statistics.interface import Statistic
from panprivacy.statistics.trust_models import trust_named, under_trust
from recipes.cost import Cost
from recipes.errors import RecipeStateError
from recipes.models import Recipe
from recipes.numbers import RecipeNumbers, numbers_of
from storage.answers.kinds import Content, Lane, declared
from storage.answers.questions import Answer, Asked, State, ask_all, peek

Draft = RecipeDraft | RoundsDraft
"""One recipe, or one in rounds, for all of them."""

_WHY = {
    State.COMPUTING: "what it guarantees and costs is being computed; try again in some seconds",
    State.BUSY: "too much is being computed already; try again in a minute",
    State.NO_WORKER: "what it guarantees and costs takes a worker to compute, and none has begun: is one "
    "running, or are all busy?",
    State.TOO_LONG: "what it guarantees and costs could not be computed in the time that a worker has; try "
    "again in some minutes, or with other parameters",
}


class NotComputedError(RecipeStateError):
    """What a recipe guarantees and costs is not computed yet. It may be tried again.

    Attributes:
        state: how far it is.
    """

    def __init__(self, state: State) -> None:
        super().__init__(_WHY[state])
        self.state = state


@dataclass(frozen=True)
class Guaranteed:
    """What a recipe guarantees.

    Attributes:
        guarantees: under its trust model.
        numbers: what the pages of the recipe, or of each round, will show besides.
        derived: parameters that are computed from the others.
        dummy_rate: of the dummies that hide the number of reports; None without them.
        donation: appendix A's numbers; None unless devices give in one round at most.
        refusal: why it does not keep what it states, with what would; None if it does.
    """

    guarantees: tuple[Guarantee, ...]
    numbers: RecipeNumbers
    derived: Mapping[str, Any]
    dummy_rate: float | None = None
    donation: DonationAmplification | None = None
    refusal: FieldError | None = None

    def require_kept(self) -> None:
        """FieldError unless it keeps what it states."""
        if self.refusal is not None:
            raise self.refusal

    def settled(self, draft: RecipeDraft) -> RecipeDraft:
        """The draft that was asked about, with its computed values filled in."""
        return draft.settled(self.derived, self.dummy_rate, keeps_promise=self.refusal is None)


def _answer_guarantees(asked: Any) -> Iterator[Content]:
    """Of a draft. A refusal if its parameters cannot be met."""
    if "round_seconds" in asked:
        rounds = RoundsDraft.from_mapping(asked)
        rounds.prepare()
        stated = rounds_guarantees(rounds.statistic, rounds.rounds, once=rounds.once)
        donation = donation_amplified(rounds.statistic, rounds.rounds) if rounds.once else None
        yield {
            "guarantees": _plain(under_trust(stated, rounds.recipe.trust)),
            **_settling(rounds.recipe, rounds.statistic),
            "donation": donation and donation.as_dict(),
            "refusal": None,
        }
        return
    draft, refusal = RecipeDraft.from_mapping(asked), None
    try:
        draft.prepare()
    except FieldError as error:
        refusal = [error.field, error.message]
    yield {
        **_of_one(draft),
        "donation": None,
        "refusal": refusal,
    }


GUARANTEES = declared("guarantees", _answer_guarantees, version=3)


def _of_one(draft: RecipeDraft) -> dict[str, Any]:
    guarantees = under_trust(draft.calibrated.guarantees(), draft.trust)
    return {"guarantees": _plain(guarantees), **_settling(draft, draft.calibrated)}


def _settling(draft: RecipeDraft, statistic: Statistic[Any]) -> dict[str, Any]:
    """What else publishing needs of a draft and its (calibrated) statistic that takes long to compute."""
    return {
        "numbers": RecipeNumbers.of(statistic, draft).as_dict(),
        **derived_numbers(draft.calibrated),
    }


def derived_numbers(statistic: Statistic[Any]) -> dict[str, Any]:
    """What takes long to compute of a (calibrated) statistic: `derived` and `dummy_rate` of `Guaranteed`."""
    parameters = statistic.parameters
    dummies = statistic.dummies if isinstance(statistic, MaskedMechanism) else None
    return {
        "derived": {name: getattr(parameters, name) for name in parameters.derived_names()},
        "dummy_rate": None if dummies is None else dummies.dummy_rate,
    }


def _answer_promise(asked: Any) -> Iterator[Content]:
    """Of a statistic, for a form: those that rely on participation being secret take longer."""
    cost = Cost.from_mapping(asked)
    yield {"guarantees": _plain(under_trust(open_guarantees(cost.statistic()), cost.trust))}


PROMISE = declared("promise", _answer_promise, Lane.PREVIEWS)


def guarantees_question(asked: Draft) -> Asked:
    """It has no names: they change no number."""
    return Asked(GUARANTEES, asked.anonymized.as_dict())


def guaranteed(*, asked: Draft) -> Guaranteed | State:
    """What it guarantees, or why that is not known.

    Raises:
        FieldError: its parameters cannot be met.
    """
    (answer,) = ask_all([guarantees_question(asked)])
    if answer.refusal is not None:
        raise answer.refusal
    if not answer.complete:
        return answer.state
    return _guaranteed_from(answer.content)


def guaranteed_here(draft: RecipeDraft) -> Guaranteed:
    """What a draft guarantees, computed in this process, whether or not that is what it states. FieldError if
    its parameters cannot be met."""
    return _guaranteed_from({**_of_one(draft), "donation": None, "refusal": None})


def _guaranteed_from(content: Content) -> Guaranteed:
    return Guaranteed(
        guarantees=tuple(guarantee_from_mapping(members) for members in content["guarantees"]),
        numbers=RecipeNumbers.from_mapping(content["numbers"]),
        derived=content["derived"],
        dummy_rate=content["dummy_rate"],
        donation=content["donation"] and DonationAmplification(**content["donation"]),
        refusal=content["refusal"] and FieldError(*content["refusal"]),
    )


def guarantees_require(*, asked: Draft) -> Guaranteed:
    """What exactly this content guarantees.

    Raises:
        NotComputedError: that is not known yet.
        FieldError: its parameters cannot be met.
    """
    found = guaranteed(asked=asked)
    if isinstance(found, State):
        raise NotComputedError(found)
    return found


def draft_warning(*, recipe: Recipe, asks: bool) -> str | None:
    """Why a result of a draft, or of what was one, is unlikely; empty if one is likely, or it cannot be read
    here or computed; None if that is not known.

    Args:
        asks: whether to have it computed; else only what is stored counts.
    """
    if recipe.status != Recipe.Status.DRAFT:
        return numbers_of(recipe).unlikely
    try:
        question = guarantees_question(RecipeDraft.from_mapping(recipe.draft))
    except FieldError:
        return ""
    answer = ask_all([question])[0] if asks else peek(question.kind, question.content)
    if answer is None or not answer.complete:
        return None
    return "" if answer.refusal is not None else _guaranteed_from(answer.content).numbers.unlikely


def guarantees_of(answer: Answer) -> tuple[Guarantee, ...]:
    """Those of an answer that is complete."""
    return tuple(guarantee_from_mapping(members) for members in answer.content["guarantees"])


def guarantee_from_mapping(members: Any) -> Guarantee:
    """A guarantee as `as_dict` gives it."""
    named = {
        "model": Model(members["model"]),
        "relation": Relation(members["relation"]),
        "trust": trust_named(members["trust"]),
    }
    return Guarantee(**{**members, **named})


def _plain(guarantees: tuple[Guarantee, ...]) -> list[dict[str, Any]]:
    return [guarantee.as_dict() for guarantee in guarantees]
