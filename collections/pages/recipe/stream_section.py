"""What the page of a stream recipe shows about the state: to the public, and to accounts that may see it."""

from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from django.http import HttpRequest

from log.audit.access import may_read_log
from log.audit.models import Entry
from pages.words.certainty import HIDES_NOTHING, allowance, certainty
from pages.words.curator_sentences import WONDERS
from panprivacy.accounting.guarantees import Guarantee
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.recipe.statistic import statistic_as
from panprivacy.statistics.interface import is_uninformative
from panprivacy.statistics.streams.interface import StreamStatistic
from panprivacy.statistics.streams.parameters import NUMBERED
from recipes.models import Recipe
from recipes.numbers import RecipeNumbers, numbers_of
from recipes.planner.guarantees import guarantee_from_mapping
from streams.access import may_announce
from streams.actions import INTRUSION_ANNOUNCED
from streams.selectors import intrusions_left, intrusions_of, state_layout
from web.numbers import number, significant

_ABOUT_ITEMS = {
    "listed": "Use items of the list with which the recipe was published; others are ignored.",
    "hashed": "An item is any text of up to 200 characters.",
}


@dataclass(frozen=True)
class ArrayShown:
    """One array of the state."""

    name: str
    kind: str
    shape: str


@dataclass(frozen=True)
class LookMade:
    """One announced intrusion.

    Attributes:
        entry: of the log, with actor and reason; None for accounts that may not read it.
    """

    number: int
    at: datetime
    entry: Entry | None


@dataclass(frozen=True)
class LooksShown:
    """What holds after this many announced intrusions.

    Attributes:
        absent, present: how likely a bit is 1, of an item that never came, and at most of one that did; empty
            if the state is not made of such bits.
        error_bound: to be expected of the result, in the unit of the statistic.
        uninformative: whether it is half the range of answers or more.
        note: what the bound holds for, as a clause; empty if it holds as it is.
        certainty: how sure an intruder gets with all these, one more secret copy, and the result.
        current: whether this is the number announced so far.
    """

    announced: int
    absent: str
    present: str
    error_bound: str
    uninformative: bool
    note: str
    certainty: str
    hides_nothing: bool
    current: bool


def stream_section(request: HttpRequest, recipe: Recipe) -> dict[str, Any]:
    """The part of the page's context that speaks of the state."""
    published = recipe.published
    statistic, numbers = statistic_as(published, StreamStatistic), numbers_of(recipe)
    intrusions = looks_made(request, str(recipe.identifier))
    announces = may_announce(request.user)
    return {
        "stream": {
            "description": statistic.state_description,
            "arrays": arrays_shown(published),
            "looks": looks_shown(statistic, numbers, len(intrusions)),
            "wonders": wonders(numbers),
            "has_bits": numbers.intrusions[0].absent is not None,
            "allowed": statistic.parameters.announced_intrusions,
            "left": intrusions_left(published),
            "intrusions": intrusions,
            "may_look": announces,
            "may_announce": announces and recipe.status == Recipe.Status.PUBLISHED,
        },
        **items_told(published),
    }


def looks_made(request: HttpRequest, identifier: str) -> list[LookMade]:
    """The announced intrusions of a recipe's state, with as much about each as the reader may know."""
    entries: dict[int, Entry] = {}
    if may_read_log(request.user):
        found = Entry.objects.filter(subject=identifier, action=INTRUSION_ANNOUNCED.name)
        entries = {entry.details["number"]: entry for entry in found}
    return [
        LookMade(intrusion.number, intrusion.at, entries.get(intrusion.number))
        for intrusion in intrusions_of(identifier)
    ]


def wonders(numbers: RecipeNumbers) -> str:
    """What an intruder who reads the state cannot be sure of, by the relation of its guarantee."""
    return WONDERS[guarantee_from_mapping(numbers.intrusions[0].guarantee).relation]


def looks_shown(statistic: StreamStatistic[Any], numbers: RecipeNumbers, made: int) -> tuple[LooksShown, ...]:
    """One row for every number of announced intrusions that the recipe allows; `made` have been."""
    return tuple(
        _looks_shown(statistic, numbers, announced, announced == made)
        for announced in range(len(numbers.intrusions))
    )


def _looks_shown(
    statistic: StreamStatistic[Any], numbers: RecipeNumbers, announced: int, current: bool
) -> LooksShown:
    after = numbers.intrusions[announced]
    guarantee = guarantee_from_mapping(after.guarantee)
    return LooksShown(
        announced=announced,
        absent=_percent(after.absent),
        present=_percent(after.present),
        error_bound=significant(after.error_bound),
        uninformative=is_uninformative(statistic, after.error_bound),
        note=numbers.note,
        certainty=_certainty(guarantee),
        hides_nothing=guarantee.epsilon is not None and guarantee.epsilon >= HIDES_NOTHING,
        current=current,
    )


def _percent(probability: float | None) -> str:
    return "" if probability is None else f"{significant(100 * probability, 4)}%"


def _certainty(guarantee: Guarantee) -> str:
    if guarantee.epsilon is None:
        return "not computed"
    return f"{certainty(guarantee.epsilon)}{allowance(guarantee.delta)}"


@lru_cache(maxsize=256)
def arrays_shown(published: PublishedRecipe) -> tuple[ArrayShown, ...]:
    """The arrays of the state, which follow from the recipe alone (cached: large ones take a while)."""
    return tuple(
        ArrayShown(layout.name, layout.kind, " × ".join(number(length) for length in layout.shape))
        for layout in state_layout(published)
    )


def items_told(published: PublishedRecipe) -> dict[str, str]:
    """How items are sent: an example, and what counts as one."""
    parameters = statistic_as(published, StreamStatistic).parameters
    if parameters.items == NUMBERED:
        last = parameters.universe_size - 1
        first, second = min(17, last), min(4, last // 2)
        return {
            "example_items": _quoted(str(first), str(second), str(first)),
            "about_items": f"An item is a whole number from 0 to {number(last)}, as a text; anything else is "
            "refused.",
        }
    return {
        "example_items": _quoted("first item", "second item", "first item"),
        "about_items": _ABOUT_ITEMS[str(parameters.items)],
    }


def _quoted(*items: str) -> str:
    """Escaped for a JSON text that a shell reads between double quotes."""
    return ", ".join(f'\\"{item}\\"' for item in items)
