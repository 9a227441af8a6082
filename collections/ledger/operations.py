"""What can be done to populations and their books. Every operation is one transaction."""

import math
from collections.abc import Sequence
from typing import Any

import structlog
from django.contrib.auth.models import AbstractBaseUser
from django.db import IntegrityError, transaction
from django.utils import timezone

from ledger.actions import ATTRIBUTES_DECLARED, BUDGET_SET, POPULATION_CHANGED, POPULATION_CREATED
from ledger.books import Book, Fitting
from ledger.budget import Budget, Rule
from ledger.composition import Event, UnreadableEventError, budget_use, composed_epsilon
from ledger.models import DESCRIPTION_LENGTH, Population, Spending
from ledger.selectors import log_subject, population_named, unreturned_events
from log.audit.operations import entry_append
from panprivacy.accounting.composition import Repetition
from panprivacy.accounting.interface import PrivacyEvent
from panprivacy.formats.display import plain
from panprivacy.formats.errors import FieldError
from panprivacy.recipe.fields import require_population_name
from panprivacy.recipe.targeting.attributes import NO_ATTRIBUTES, Attributes

logger = structlog.get_logger(__name__)

BUDGET = ("epsilon", "delta", "rule")
"""The columns that make a budget."""

ADDRESSES = ("new",)
"""Names that would hide a page."""


class BudgetExceededError(FieldError):
    """A recipe would take its population beyond the budget.

    Attributes:
        population: its state when the balance was computed.
        reason: by how much, as a clause that ends in an open bracket.
        failing: whether that is for what may fail altogether, whatever ε is.
    """

    def __init__(self, population: Population, reason: str, *, failing: bool) -> None:
        super().__init__(
            "population",
            f"the budget of {population.name} would be exceeded: {reason}; against readers of combined "
            "results only, under replacement)",
        )
        self.population = population
        self.reason = reason
        self.failing = failing


class BookMovedError(Exception):
    """A population's book or budget is not the one into which a cost was found to fit: find out again."""


@transaction.atomic
def population_create(
    *,
    name: str,
    description: str,
    budget: Budget | None,
    actor: AbstractBaseUser | None,
    four_eyes: bool = False,
    attributes: Attributes = NO_ATTRIBUTES,
) -> Population:
    """Make a population.

    Args:
        four_eyes: whether publishing for it needs the approval of another analyst.
        attributes: by which recipes can choose devices.

    Raises:
        FieldError: the name is taken or has other characters than a-z, 0-9 and -, or the
            description is too long.
    """
    try:
        require_population_name(name)
    except FieldError as error:
        raise FieldError("name", error.message) from None
    if name in ADDRESSES:
        raise FieldError("name", f"must not be {name}: a page has this address")
    population = Population(
        name=name,
        description=_description(description),
        four_eyes=four_eyes,
        attributes=attributes.members(),
    )
    for column, value in _columns(budget).items():
        setattr(population, column, value)
    try:
        with transaction.atomic():
            population.save(force_insert=True)
    except IntegrityError:
        raise FieldError("name", "is taken by another population") from None
    entry_append(
        action=POPULATION_CREATED,
        subject=log_subject(population.name),
        actor=actor,
        details={"description": population.description, "four_eyes": four_eyes, **_columns(budget)},
    )
    if budget is not None:
        _enter_budget(population, actor)
    if attributes.values:
        _enter_attributes(population, actor)
    return population


@transaction.atomic
def population_change(
    *,
    population: Population,
    description: str,
    budget: Budget | None,
    actor: AbstractBaseUser | None,
    four_eyes: bool | None = None,
    attributes: Attributes | None = None,
) -> Population:
    """Change description, budget or its rule, also to less than is spent: then nothing more can be published.

    Args:
        four_eyes: whether publishing for it needs the approval of another analyst; None leaves it as it is.
        attributes: by which recipes can choose devices; likewise.

    Raises:
        FieldError: the description is too long, or an attribute or a value that was declared is missing.
    """
    # The same lock as spending: who publishes meets either the old budget or the new one.
    population = Population.objects.select_for_update(no_key=True).get(pk=population.pk)
    names = ("description", "epsilon", "delta", "rule", "four_eyes")
    before = {name: getattr(population, name) for name in names}
    after = before | {"description": _description(description), **_columns(budget)}
    if four_eyes is not None:
        after["four_eyes"] = four_eyes
    declared = population.declared if attributes is None else attributes
    declared.require_extends(population.declared)
    if declared != population.declared:
        population.attributes = declared.members()
        population.save(update_fields=["attributes"])
        _enter_attributes(population, actor)
    if before == after:
        return population
    for name, value in after.items():
        setattr(population, name, value)
    population.save(update_fields=list(after))
    entry_append(
        action=POPULATION_CHANGED,
        subject=log_subject(population.name),
        actor=actor,
        details={name: [before[name], after[name]] for name in after if before[name] != after[name]},
    )
    if any(before[name] != after[name] for name in BUDGET):
        _enter_budget(population, actor)
    return population


def _enter_budget(population: Population, actor: AbstractBaseUser | None) -> None:
    """The present budget, for the public; without an ε if there is none."""
    entry_append(
        action=BUDGET_SET,
        subject=log_subject(population.name),
        actor=actor,
        details={name: getattr(population, name) for name in BUDGET},
    )


def _enter_attributes(population: Population, actor: AbstractBaseUser | None) -> None:
    """The present attributes, for the public."""
    entry_append(
        action=ATTRIBUTES_DECLARED,
        subject=log_subject(population.name),
        actor=actor,
        details={"attributes": population.attributes},
    )


def budget_require_fit(
    *, population: Population, event: PrivacyEvent, times: int = 1, book: Book | None = None
) -> None:
    """Whether one more event fits. Without the population's lock the answer may be out of date at once.

    The numbers are remembered: asked once more with the same spendings, it takes no time.

    Args:
        times: how often, all together.
        book: the population's, up to one of its lines, instead of the whole one.

    Raises:
        BudgetExceededError: by the budget's rule, it does not fit.
        FieldError: the cost is unknown, because another version wrote an event that was spent.
    """
    budget = population.budget if book is None else book.budget
    if budget is None:
        return
    events = unreturned_events(population) if book is None else book.events
    more = [*events, *[event.as_dict()] * times]
    try:
        use = budget_use(more, budget)
        if use.too_much:
            reason = _exceeded_by(events, more, budget, times)
            raise BudgetExceededError(population, reason, failing=use.failing)
    except UnreadableEventError as error:
        logger.exception("stored_event_unreadable", population=population.name, reason=str(error))
        raise FieldError(
            "population",
            f"the budget of {population.name} cannot be checked: its ledger has an event that another "
            "version of this software wrote, so what is spent is unknown",
        ) from error


def _require_fit(locked: Population, event: PrivacyEvent, times: int, fitting: Fitting | None) -> None:
    """The check that counts, while the population is locked."""
    if fitting is None:
        budget_require_fit(population=locked, event=event, times=times)
        return
    if not fitting.is_of(event, times):
        raise ValueError("it was found out for another cost whether it fits")
    # Each spending, return and change of the budget waits for the lock: the same line, the same numbers.
    if fitting.book != Book.of(locked):
        raise BookMovedError


@transaction.atomic
def spending_append(
    *,
    population: str,
    recipe: str,
    event: PrivacyEvent,
    event_if_half_colludes: PrivacyEvent,
    condition: str = "",
    reserved: str | None = None,
    fitting: Fitting | None = None,
) -> Spending:
    """Write down what a recipe costs, if it fits. Call it in the transaction that publishes.

    The population's row is locked before anything is added up, so of two simultaneous publications the second
    counts what the first has spent.

    Args:
        population: name.
        recipe: identifier.
        event: what a reader of only the result learns about one device, under replacement.
        event_if_half_colludes: the same for a reader with whom half of the cohort colludes.
        condition: what both rely on, as a clause; empty if they hold as they are.
        reserved: what `reservations_append` wrote down for it, and is given back for it now.
        fitting: that it fits, found out without the lock. None to find out here, which may take seconds:
            for workers, and for what is reserved.

    Raises:
        FieldError: there is no such population, or what it has spent is unknown; or nothing is reserved (any
            more).
        BudgetExceededError: it does not fit.
        BookMovedError: it may not fit any more.
    """
    locked = population_named(population, lock=True)
    if reserved is not None:
        held = locked.spendings.filter(recipe=reserved, returned_by=None).first()
        if held is None:
            raise FieldError("population", f"nothing is reserved for {reserved}")
        _return(held)
    _require_fit(locked, event, 1, fitting)
    return Spending.objects.create(
        population=locked,
        recipe=recipe,
        event=event.as_dict(),
        event_if_half_colludes=event_if_half_colludes.as_dict(),
        condition=condition,
        at=timezone.now(),
    )


@transaction.atomic
def reservations_append(
    *,
    population: str,
    names: Sequence[str],
    event: PrivacyEvent,
    event_if_half_colludes: PrivacyEvent,
    condition: str = "",
    fitting: Fitting,
) -> None:
    """Write down what several recipes with the same parameters will cost: all of them, or none.

    Until one is published with `spending_append(reserved=…)`, its line has the name that is given here, and
    counts as one that spent.

    Args:
        names: one for each; of at most 64 characters, and no identifiers of recipes.
        fitting: that all of them together fit.

    Raises:
        FieldError, BookMovedError: as `spending_append`.
    """
    locked = population_named(population, lock=True)
    _require_fit(locked, event, len(names), fitting)
    now = timezone.now()
    Spending.objects.bulk_create(
        Spending(
            population=locked,
            recipe=name,
            event=event.as_dict(),
            event_if_half_colludes=event_if_half_colludes.as_dict(),
            condition=condition,
            at=now,
        )
        for name in names
    )


@transaction.atomic
def reservation_shrink(*, name: str, part: str, times: int) -> None:
    """Give back what is reserved beyond a part of it, which costs less and so is not refused.

    Args:
        name: of the reservation, of an event that is repeated.
        part: the name of the line for what is left of it.
        times: how often the event is repeated there.
    """
    held = Spending.objects.get(recipe=name)
    left = {column: _repeated(getattr(held, column), times) for column in ("event", "event_if_half_colludes")}
    population_named(held.population.name, lock=True)
    _return(held)
    Spending.objects.get_or_create(
        recipe=part,
        defaults={
            "population": held.population,
            **left,
            "condition": held.condition,
            "at": timezone.now(),
        },
    )


def _repeated(event: Event, times: int) -> Event:
    """A repeated event, but fewer times. ValueError if it is none."""
    if event["kind"] != Repetition.kind or not 1 <= times <= event["times"]:
        raise ValueError(f"{event['kind']} is not repeated {times} times or more")
    return {**event, "times": times}


def reservation_require(*, population: str, name: str) -> None:
    """FieldError unless a cost is reserved under this name, and not given back. Call it in the transaction
    that relies on it."""
    locked = population_named(population, lock=True)
    if not locked.spendings.filter(recipe=name, returned_by=None).exists():
        raise FieldError("population", f"nothing is reserved for {name}")


@transaction.atomic
def spending_return(*, recipe: str) -> Spending | None:
    """Give back what a recipe spent. Call it in the transaction that withholds its result.

    Or what was reserved for one that is never published. Otherwise only for a recipe with nothing released
    because too few devices reported. All that this reveals is that the number of reports stayed below the
    cohort size, and replacing one device's history by another does not change whether it reports.

    Returns:
        The returning line, also if it was there already; None if the recipe never spent.
    """
    spent = Spending.objects.filter(recipe=recipe).first()
    if spent is None:
        return None
    population_named(spent.population.name, lock=True)
    return _return(spent)


def _return(spent: Spending) -> Spending:
    """The line that takes a line back; once. The population's row is locked."""
    returned, _ = Spending.objects.get_or_create(
        returns=spent, defaults={"population": spent.population, "at": timezone.now()}
    )
    return returned


def _exceeded_by(events: Sequence[Event], more: Sequence[Event], budget: Budget, times: int) -> str:
    """The spent budget without and with a recipe, published this many times, and what is left: a clause that
    ends in an open bracket."""
    takes = "this recipe takes" if times == 1 else f"{times} times this recipe takes"
    if budget.rule is Rule.FILTER:
        used, needed = (100 * budget_use(some, budget).share for some in (events, more))
        digits = _digits_that_tell_apart(needed, 100.0)
        return (
            f"{takes} it from {_percent(used, digits)} to {_percent(needed, digits)} "
            f"(adaptive filter for ε = {budget.epsilon:g}, δ = {plain(budget.delta)}"
        )
    spent, composed = (composed_epsilon(some, budget.delta) for some in (events, more))
    left = max(budget.epsilon - spent, 0.0)
    digits = _digits_that_tell_apart(composed, budget.epsilon)
    needs = (
        f"to {composed:.{digits}g}, which needs {composed - spent:.{digits}g}"
        if math.isfinite(composed)
        else "until no ε holds at this δ"
    )
    return (
        f"{takes} it from ε = {spent:.{digits}g} {needs}, and {left:.{digits}g} of "
        f"{budget.epsilon:g} is left (δ = {plain(budget.delta)}"
    )


def _percent(value: float, digits: int) -> str:
    return f"{value:,.0f}%" if 1_000 <= value < math.inf else f"{value:.{digits}g}%"


def _columns(budget: Budget | None) -> dict[str, Any]:
    if budget is None:  # the rule stays what it is
        return {"epsilon": None, "delta": None}
    return {"epsilon": budget.epsilon, "delta": budget.delta, "rule": budget.rule.value}


def _description(text: str) -> str:
    if len(text) > DESCRIPTION_LENGTH or not text.isprintable():
        raise FieldError("description", f"must be one line of at most {DESCRIPTION_LENGTH} characters")
    return text.strip()


def _digits_that_tell_apart(one: float, other: float) -> int:
    """Significant digits, at least 3, at which two different numbers are shown differently."""
    return next((digits for digits in range(3, 17) if f"{one:.{digits}g}" != f"{other:.{digits}g}"), 17)
