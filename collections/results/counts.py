"""Released results that count the values of an attribute: on what the target of a recipe can rest."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from ledger.models import Population
from panprivacy.recipe.parts.admission import ADMISSION
from panprivacy.recipe.signed_result import result_hash
from panprivacy.recipe.targeting.citation import Citation
from panprivacy.recipe.targeting.evidence import CITED_STATISTICS, CitationRefusedError, cited_sizes
from panprivacy.recipe.targeting.sizes import Sizes
from recipes.models import Recipe
from results.models import Release
from results.selectors import signed_result


@dataclass(frozen=True)
class Count:
    """A result that shows how many devices of a population have each value of an attribute.

    Attributes:
        released_at: when.
        sizes: the bounds of the numbers.
    """

    recipe: Recipe
    population: str
    attribute: str
    released_at: datetime
    sizes: Sizes


def newest_counts() -> Iterator[Count]:
    """The newest count of every attribute that a population declares, of real devices; none if there
    is none."""
    for population in Population.objects.exclude(attributes={}).order_by("name"):
        for attribute, values in population.declared.values.items():
            release = (
                Release.objects.filter(
                    outcome=Release.Outcome.RELEASED,
                    recipe__population=population.name,
                    recipe__named_events__name=attribute,
                    recipe__statistic__in=CITED_STATISTICS,
                    recipe__simulation=False,
                    # Others show nothing.
                    recipe__document__contains=f'"{ADMISSION}":',
                )
                .select_related("recipe")
                .order_by("-released_at")
                .only("released_at", "recipe__identifier", "recipe__name")
                .first()
            )
            if release is None:
                continue
            sizes = _sizes(str(release.recipe.identifier), population.name, attribute, values)
            if sizes is not None:
                yield Count(release.recipe, population.name, attribute, release.released_at, sizes)


@lru_cache(maxsize=256)
def _sizes(identifier: str, population: str, attribute: str, values: tuple[str, ...]) -> Sizes | None:
    """By a released result, which never changes; None if it does not show them."""
    result = signed_result(identifier)
    if result is None:
        return None
    citation = Citation(recipe=identifier, result=result_hash(result))
    try:
        return cited_sizes(
            result, citation, attribute=attribute, population=population, simulation=False, values=values
        )
    except CitationRefusedError:
        return None
