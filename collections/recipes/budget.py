"""A recipe's effect on the budget of its population, and what would fit if it does not."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from ledger.books import Book, Fitting
from ledger.budget import Rule
from ledger.composition import Event, UnreadableEventError
from ledger.models import Population
from ledger.operations import (
    BookMovedError,
    BudgetExceededError,
    budget_require_fit,
    reservation_require,
    reservations_append,
    spending_append,
)
from ledger.selectors import Balance, population_named
from panprivacy.accounting.interface import PrivacyEvent
from panprivacy.accounting.registry import event_from_mapping
from panprivacy.formats.display import plain
from panprivacy.formats.errors import FieldError
from panprivacy.planning.value_search import NO_ALTERNATIVE, largest_number, nearest_value, remedy_clause
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.recipe.repetition import Repetition
from panprivacy.recipe.rounds.draft import RoundsDraft
from panprivacy.statistics.interface import Statistic, event_with_collusion
from recipes.cost import Cost
from recipes.planner.guarantees import NotComputedError, derived_numbers, guarantees_question
from storage.answers.kinds import Content, Lane, declared
from storage.answers.questions import Answer, Asked, State, ask_all, forget

T = TypeVar("T")

MOST_ATTEMPTS = 5
"""How often a cost that fits is written again, if others wrote into the book in between."""

HALF = 0.5
"""Part of the cohort whose collusion the ledger also accounts for."""

LARGE_EPSILON = 100.0
"""At which the δ of an event is what it may fail by altogether."""

_NO_ADVICE = {
    State.COMPUTING: "what would fit is being computed; ask again in some seconds",
    State.BUSY: "too much is being computed to find what would fit; ask again in a minute",
    State.TOO_LONG: "what would fit was not found in time; try a smaller ε",
    State.NO_WORKER: "",
}
"""In place of what would fit."""


EventOf = Callable[..., PrivacyEvent]
"""What something with a statistic costs; takes the statistic, and the part of the cohort that colludes."""


def one_release(mechanism: Statistic[Any], dishonest_fraction: float = 0.0) -> PrivacyEvent:
    """The cost of one recipe."""
    return event_with_collusion(mechanism, dishonest_fraction)


@dataclass(frozen=True)
class Effect:
    """The state of a population with one more recipe, as far as it is computed.

    Attributes:
        state: how far it is.
        balance: the population's state without that recipe.
        composed: ε with the recipe, at the same δ; None if it is unknown.
        share: part of the budget that is used with it; None without a budget, or if it is unknown.
        exceeds: whether that is more than the budget.
        delta_reason: why no ε is promised with it, and which δ would fit, as a clause; else empty.
        condition: what the recipe's cost relies on, as a clause; empty if it holds as it is.
    """

    state: State
    balance: Balance
    composed: float | None = None
    share: float | None = None
    exceeds: bool = False
    delta_reason: str = ""
    condition: str = ""


def _answer_effect(asked: Any) -> Iterator[Content]:
    """What publishing would do to a book."""
    cost, book = Cost.from_mapping(asked["cost"]), Book.from_mapping(asked["book"])
    statistic = cost.statistic()
    event, condition = cost.event_of(statistic).as_dict(), cost.condition(statistic)
    try:
        spent = book.spent
        composed, use = book.with_event(event, cost.times), book.use_with(event, cost.times)
    except UnreadableEventError:
        yield {"balance": {"readable": False}, "condition": condition}
        return
    reason = ""
    if composed == math.inf or (use is not None and use.failing):
        reason = delta_reason(statistic, book, cost.times, cost.event_of)
    yield {
        "balance": {"readable": True, "spent": spent},
        "composed": composed,
        "share": None if use is None else use.share,
        "exceeds": use is not None and use.too_much,
        "delta_reason": reason,
        "condition": condition,
    }


EFFECT = declared("effect", _answer_effect, Lane.PREVIEWS)


def effect_question(cost: Cost, population: Population) -> Asked:
    """What publishing would do to the book as it is."""
    return Asked(EFFECT, {"cost": cost.as_dict(), "book": Book.of(population).as_dict()})


def effect_from(answer: Answer, population: Population) -> Effect:
    """The answer to `effect_question`. FieldError if the parameters cannot be met."""
    if answer.refusal is not None:
        raise answer.refusal
    content = dict(answer.content or {})
    balance = Balance(population, (), content.pop("balance", {}))
    return Effect(answer.state, balance, **content)


def effect_require(cost: Cost, population: str) -> Effect:
    """What publishing would do.

    Raises:
        FieldError: there is no such population, or the parameters cannot be met.
        NotComputedError: it is not known yet.
    """
    row = population_named(population)
    (answer,) = ask_all([effect_question(cost, row)])
    effect = effect_from(answer, row)
    if effect.state is not State.COMPLETE:
        raise NotComputedError(effect.state)
    return effect


def delta_reason(
    mechanism: Statistic[Any], book: Book, times: int = 1, event_of: EventOf = one_release
) -> str:
    """Why no ε is promised with this recipe, published this many times, and the largest δ with which one is,
    as a clause; empty if it is not for the recipe's own δ."""
    total = times * event_of(mechanism).delta(LARGE_EPSILON)
    if total == 0 or book.spent == math.inf or (book.use is not None and book.use.failing):
        return ""

    def promised(changed: Statistic[Any]) -> bool:
        event = event_of(changed).as_dict()
        use = book.use_with(event, times)
        return book.with_event(event, times) < math.inf and not (use is not None and use.failing)

    largest = nearest_value(mechanism, "delta", promised)
    fitting = "no smaller one fits" if largest is None else f"the largest that fits is δ = {plain(largest)}"
    by_filter = book.budget is not None and book.budget.rule is Rule.FILTER
    most, whose = (
        (book.delta / 2, "half of the population's δ, which is")
        if by_filter
        else (book.delta, "the population's δ of")
    )
    if total > most:
        why = f"the δ of this recipe, {plain(total)} in total, is"
    else:
        why = f"the δ of this recipe, {plain(total)} in total, and the δ already spent are together"
    return f"{why} above {whose} {plain(most)}; {fitting}"


def _answer_fitting(asked: Any) -> Iterator[Content]:
    """What is written into a book, and why it does not fit. A refusal if what is spent is unknown."""
    cost, book = Cost.from_mapping(asked["cost"]), Book.from_mapping(asked["book"])
    statistic, exceeded = cost.statistic(), None
    event = cost.event_of(statistic)
    population = Population.objects.get(pk=book.population)
    try:
        budget_require_fit(population=population, event=event, times=cost.times, book=book)
    except BudgetExceededError as error:
        exceeded = {"reason": error.reason, "failing": error.failing}
    yield {
        "event": event.as_dict(),
        "event_if_half_colludes": cost.event_of(statistic, HALF).as_dict(),
        "condition": cost.condition(statistic),
        **derived_numbers(statistic),
        "exceeded": exceeded,
    }


FITTING = declared("fitting", _answer_fitting, Lane.PREVIEWS, version=2)


class OtherNumbersError(Exception):
    """What a recipe costs was not computed with the numbers in its document."""


@dataclass(frozen=True)
class Affordable:
    """A cost that fits into its population's book.

    Attributes:
        fitting: of one line, as often as it is written.
        event_if_half_colludes: of one line, too.
        condition: what both rely on, as a clause; empty if they hold as they are.
        derived, dummy_rate: with which all that was computed, as of `Guaranteed`.
    """

    fitting: Fitting
    event_if_half_colludes: Event
    condition: str
    derived: Mapping[str, Any]
    dummy_rate: float | None

    def require_numbers(self, statistic: Statistic[Any]) -> None:
        """OtherNumbersError unless it is about a (calibrated) statistic with these numbers. Another machine
        may round differently."""
        if derived_numbers(statistic) != {"derived": self.derived, "dummy_rate": self.dummy_rate}:
            raise OtherNumbersError


def fitting_question(cost: Cost, population: Population) -> Asked:
    """Whether it fits into the book as it is."""
    return Asked(FITTING, {"cost": cost.as_dict(), "book": Book.of(population).as_dict()})


def affordable_require(cost: Cost, population: str, *, here: bool = False) -> Affordable:
    """What would be written into the book as it is; the check that counts is made under its lock.

    Args:
        here: whether to compute it in this process.

    Raises:
        FieldError: there is no such population, what it has spent is unknown, or the parameters cannot be
            met.
        BudgetExceededError: it does not fit.
        NotComputedError: that is not known yet.
    """
    row = population_named(population)
    question = fitting_question(cost, row)
    (answer,) = ask_all([question], here=here)
    if answer.refusal is not None:
        raise answer.refusal
    if not answer.complete:
        raise NotComputedError(answer.state)
    content = dict(answer.content)
    event, exceeded = content.pop("event"), content.pop("exceeded")
    if exceeded is not None:
        raise BudgetExceededError(row, **exceeded)
    return Affordable(Fitting(Book.from_mapping(question.content["book"]), event, cost.times), **content)


def spent_with(
    asked: RecipeDraft | Repetition, write: Callable[[Affordable], T], *, times: int = 1, here: bool = False
) -> T:
    """What `write` returns, once it wrote a cost into the book for which that was found to fit.

    Do not call it in a transaction: if others wrote into the book in between, it is found out anew.

    Args:
        write: one transaction.
        times: lines of the book.
        here: as of `affordable_require`.

    Raises:
        FieldError, NotComputedError: as `affordable_require`, or by `write`.
    """
    draft = asked if isinstance(asked, RecipeDraft) else asked.recipe
    cost, population = Cost.of(asked, times), draft.population
    for _ in range(MOST_ATTEMPTS):
        try:
            return write(affordable_require(cost, population, here=here))
        except BookMovedError:
            continue
        except OtherNumbersError:
            promised = guarantees_question(asked if isinstance(asked, RoundsDraft) else draft)
            forget([promised, fitting_question(cost, population_named(population))])
            raise NotComputedError(State.COMPUTING) from None
    raise NotComputedError(State.BUSY)


def reserve(affordable: Affordable, population: str, names: Sequence[str]) -> dict[str, Any]:
    """Write into the population's book what all rounds will cost: `spend` takes the place of each line, one
    by one, or relies on the one line of all. BookMovedError as of `reservations_append`.

    Args:
        names: of the lines, as many as were found to fit.

    Returns:
        The privacy event of each, as data.
    """
    reservations_append(
        population=population,
        names=names,
        event=event_from_mapping(affordable.fitting.event),
        event_if_half_colludes=event_from_mapping(affordable.event_if_half_colludes),
        condition=affordable.condition,
        fitting=affordable.fitting,
    )
    return dict(affordable.fitting.event)


def spend(
    *, published: PublishedRecipe, reserved: str | None = None, affordable: Affordable | None = None
) -> dict[str, Any] | None:
    """Write a recipe's cost into its population's book.

    That a device may not have been sampled is not counted in its favour: who took part may be known.
    A simulation asks no real device, and costs nothing. A round of a recipe in rounds is in the line that is
    reserved for all of them, and stays there.

    Args:
        reserved: name of what is reserved for it; None if nothing is.
        affordable: that it fits; None if it is reserved or costs nothing. What is reserved is computed
            here, by the worker that publishes: its guarantees needed the same.

    Returns:
        The privacy event that was spent, as data; None if nothing was.

    Raises:
        FieldError, BookMovedError: as `spending_append`.
        OtherNumbersError: the cost is that of other numbers.
    """
    if published.simulation:
        return None
    if published.round is not None:
        reservation_require(population=published.population, name=reserved or "this round")
        return None
    statistic = published.calibrated_statistic
    if affordable is None:
        event, if_half_colludes = one_release(statistic), one_release(statistic, HALF)
    else:
        affordable.require_numbers(statistic)
        event = event_from_mapping(affordable.fitting.event)
        if_half_colludes = event_from_mapping(affordable.event_if_half_colludes)
    spending_append(
        population=published.population,
        recipe=published.identifier,
        event=event,
        event_if_half_colludes=if_half_colludes,
        condition=statistic.budget_condition,
        reserved=reserved,
        fitting=None if affordable is None else affordable.fitting,
    )
    return event.as_dict()


@contextmanager
def saying_what_fits(asked: RecipeDraft | Repetition, times: int = 1) -> Iterator[None]:
    """Add to a refusal within the block what would have fitted. Wrap it around the transaction, not inside.

    Args:
        times: how often it is to be published.

    Raises:
        FieldError: the refusal.
    """
    try:
        yield
    except BudgetExceededError as error:
        raise _with_advice(error, Cost.of(asked, times)) from None


def _with_advice(error: BudgetExceededError, cost: Cost) -> FieldError:
    book = Book.of(error.population).as_dict()
    (answer,) = ask_all([Asked(ADVICE, {"cost": cost.as_dict(), "book": book, "failing": error.failing})])
    if answer.refusal is not None or answer.content is None or not answer.complete:
        return FieldError(error.field, _joined(error.message, _NO_ADVICE.get(answer.state, "")))
    clauses = answer.content
    if clauses["reason"]:
        refused = f"does not fit the population's budget: {clauses['reason']}"
        return FieldError("delta", _joined(refused, clauses["rounds"]))
    return FieldError(error.field, _joined(error.message, clauses["rounds"], clauses["fits"]))


def _answer_advice(asked: Any) -> Iterator[Content]:
    """What would have fitted into a book, as clauses: a smaller δ, fewer recipes, other values."""
    cost, book = Cost.from_mapping(asked["cost"]), Book.from_mapping(asked["book"])
    statistic = cost.statistic()
    rounds = rounds_that_fit(statistic, book, cost.times)
    reason = delta_reason(statistic, book, cost.times, cost.event_of) if asked["failing"] else ""
    fits = "" if reason else what_fits(statistic, book, cost.times, cost.event_of)
    yield {"reason": reason, "rounds": rounds, "fits": fits}


ADVICE = declared("advice", _answer_advice, Lane.PLANS)


def _joined(*clauses: str) -> str:
    return "; ".join(filter(None, clauses))


def rounds_that_fit(mechanism: Statistic[Any], book: Book, times: int) -> str:
    """How many of this number of recipes fit into the budget unchanged: a clause; empty for one recipe."""
    if times == 1:
        return ""
    event = mechanism.aggregator_event().as_dict()
    fitting = largest_number(lambda rounds: book.fits(event, rounds), 1, times - 1)
    if fitting is None:
        return "not one round fits as it is"
    return "1 round fits as it is" if fitting == 1 else f"{fitting:,} rounds fit as they are"


def what_fits(mechanism: Statistic[Any], book: Book, times: int, event_of: EventOf = one_release) -> str:
    """Which ε or cohort size fits into the budget, this many times, all else unchanged: a clause."""
    use = book.use
    if use is not None and use.share >= 1:
        return NO_ALTERNATIVE  # whatever is published costs something
    return remedy_clause(mechanism, lambda changed: book.fits(event_of(changed).as_dict(), times))
