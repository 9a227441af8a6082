"""What can be done to populations and their books. Every operation is one transaction."""

import math
from typing import Any

import structlog
from django.contrib.auth.models import AbstractBaseUser
from django.db import IntegrityError, transaction
from django.utils import timezone

from audit.operations import entry_append
from ledger.actions import POPULATION_CHANGED, POPULATION_CREATED
from ledger.budget import Budget
from ledger.composed import UnreadableEventError, composed_epsilon
from ledger.models import DESCRIPTION_LENGTH, Population, Spending
from ledger.selectors import population_named, unreturned_events
from panprivacy.accounting.interface import PrivacyEvent
from panprivacy.errors import FieldError
from panprivacy.recipe import require_population_name
from panprivacy.shown import plain

logger = structlog.get_logger(__name__)

ADDRESSES = ("new",)
"""Names that would hide a page."""


class BudgetExceededError(FieldError):
    """A recipe would take its population beyond the budget.

    Attributes:
        population: as it stood when it was asked.
        spent, composed: ε at the budget's δ without and with the recipe.
    """

    def __init__(self, population: Population, budget: Budget, spent: float, composed: float) -> None:
        left = max(budget.epsilon - spent, 0.0)
        digits = _digits_that_tell_apart(composed, budget.epsilon)
        needed = (
            f"to {composed:.{digits}g}, which needs {composed - spent:.{digits}g}"
            if math.isfinite(composed)
            else "to where no ε holds at this δ"
        )
        super().__init__(
            "population",
            f"the budget of {population.name} would be exceeded: this recipe takes it from "
            f"ε = {spent:.{digits}g} {needed}, and {left:.{digits}g} of {budget.epsilon:g} is left "
            f"(δ = {plain(budget.delta)}; against readers of combined results only, under replacement)",
        )
        self.population = population
        self.spent = spent
        self.composed = composed


@transaction.atomic
def population_create(
    *, name: str, description: str, budget: Budget | None, actor: AbstractBaseUser | None
) -> Population:
    """Make a population.

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
    population = Population(name=name, description=_description(description), **_columns(budget))
    try:
        with transaction.atomic():
            population.save(force_insert=True)
    except IntegrityError:
        raise FieldError("name", "is taken by another population") from None
    entry_append(
        action=POPULATION_CREATED,
        subject=_subject(population),
        actor=actor,
        details={"description": population.description, **_columns(budget)},
    )
    return population


@transaction.atomic
def population_change(
    *, population: Population, description: str, budget: Budget | None, actor: AbstractBaseUser | None
) -> Population:
    """Change description or budget, also to less than is spent: then nothing more can be published.

    Raises:
        FieldError: the description is too long.
    """
    # The same lock as spending: who publishes meets either the old budget or the new one.
    population = Population.objects.select_for_update(no_key=True).get(pk=population.pk)
    before = {"description": population.description, **_columns(population.budget)}
    after = {"description": _description(description), **_columns(budget)}
    if before == after:
        return population
    for name, value in after.items():
        setattr(population, name, value)
    population.save(update_fields=list(after))
    entry_append(
        action=POPULATION_CHANGED,
        subject=_subject(population),
        actor=actor,
        details={name: [before[name], after[name]] for name in after if before[name] != after[name]},
    )
    return population


def budget_require_room(*, population: Population, event: PrivacyEvent) -> None:
    """Whether one more event fits. Without the population's lock the answer may be out of date at once.

    The numbers are remembered: asked once more with the same spendings, it takes no time.

    Raises:
        BudgetExceededError: with it the composed ε at the budget's δ would be above the budget's ε.
        FieldError: nobody can tell, as another version wrote an event that was spent.
    """
    budget = population.budget
    if budget is None:
        return
    events = unreturned_events(population)
    try:
        composed = composed_epsilon([*events, event.as_dict()], budget.delta)
    except UnreadableEventError as error:
        logger.exception("stored_event_unreadable", population=population.name, reason=str(error))
        raise FieldError(
            "population",
            f"the budget of {population.name} cannot be checked: its ledger has an event that another "
            "version of this software wrote, so what is spent is unknown",
        ) from error
    if composed > budget.epsilon:
        raise BudgetExceededError(population, budget, composed_epsilon(events, budget.delta), composed)


@transaction.atomic
def spending_append(
    *,
    population: str,
    recipe: str,
    event: PrivacyEvent,
    event_if_half_colludes: PrivacyEvent,
    condition: str = "",
) -> Spending:
    """Write down what a recipe costs, if it fits. Call it in the transaction that publishes.

    The population's row is locked before anything is added up, so of two who publish at the same
    moment the second counts what the first has spent.

    Args:
        population: name.
        recipe: identifier.
        event: what whoever reads only the result learns about one device, under replacement.
        event_if_half_colludes: the same for a reader with whom half of the cohort colludes.
        condition: what both rely on, as a clause; empty where they hold as they are.

    Raises:
        FieldError: there is no such population, or what it has spent is unknown.
        BudgetExceededError: it does not fit.
    """
    locked = population_named(population, lock=True)
    budget_require_room(population=locked, event=event)
    return Spending.objects.create(
        population=locked,
        recipe=recipe,
        event=event.as_dict(),
        event_if_half_colludes=event_if_half_colludes.as_dict(),
        condition=condition,
        at=timezone.now(),
    )


@transaction.atomic
def spending_return(*, recipe: str) -> Spending | None:
    """Give back what a recipe spent. Call it in the transaction that withholds its result.

    Only for a recipe of which nothing is released because too few devices reported. All that this
    tells is that the number of valid reports stayed below the cohort size, and replacing one device's history
    by another does not change whether it reports, nor, but for a probability below 2⁻⁶⁰, whether it is valid.

    Returns:
        The returning line, also if it was there already; None where the recipe never spent.
    """
    spent = Spending.objects.filter(recipe=recipe).first()
    if spent is None:
        return None
    population_named(spent.population.name, lock=True)
    returned, _ = Spending.objects.get_or_create(
        returns=spent, defaults={"population": spent.population, "at": timezone.now()}
    )
    return returned


def _columns(budget: Budget | None) -> dict[str, Any]:
    return {"epsilon": budget and budget.epsilon, "delta": budget and budget.delta}


def _description(text: str) -> str:
    if len(text) > DESCRIPTION_LENGTH or not text.isprintable():
        raise FieldError("description", f"must be one line of at most {DESCRIPTION_LENGTH} characters")
    return text.strip()


def _subject(population: Population) -> str:
    return f"population {population.name}"


def _digits_that_tell_apart(one: float, other: float) -> int:
    """Significant digits, at least 3, at which two different numbers look different."""
    return next((digits for digits in range(3, 17) if f"{one:.{digits}g}" != f"{other:.{digits}g}"), 17)
