"""Whom of its population a recipe asks: what publishing checks of its target (docs/adr/0010).

Only devices know their attributes. Released results prove that many are asked. Packages above this one store
them: `results_declare` sets how they are read.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ledger.selectors import population_named
from panprivacy.formats.errors import FieldError
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.recipe.parts.target import CitedTarget
from panprivacy.recipe.signed_result import result_hash
from panprivacy.recipe.targeting.citation import Citation
from panprivacy.recipe.targeting.evidence import CitationRefusedError, cited_sizes
from panprivacy.recipe.targeting.sizes import (
    Sizes,
    SizesBy,
    at_least,
    require_apart,
    require_large,
    require_rest,
)
from panprivacy.recipe.targeting.target import ALL_DEVICES, FIELD
from recipes.models import Recipe

Results = Callable[[str], Mapping[str, Any] | None]
"""From a recipe's identifier to what the site signed of its result; None if there is none."""

_DECLARED: list[Results] = []


def results_declare(results: Results) -> None:
    """Set how signed results are read: once, when the site starts."""
    _DECLARED[:] = [results]


@dataclass(frozen=True)
class Targeted:
    """A target that rests on released results of this site.

    Attributes:
        cited: the results as in the future document.
        sizes: by the cited results.
        population: of the recipe.
        simulation: whether it asks simulated devices.
    """

    cited: CitedTarget
    sizes: SizesBy
    population: str
    simulation: bool

    @property
    def at_least(self) -> float:
        """The number of devices that are certainly in it."""
        return at_least(self.cited.target, self.sizes)

    def require_apart(self) -> None:
        """Refuse a target that differs by too few devices from the whole population, from another recipe's,
        or from all the others together; and any of real devices without a budget. Asked again in the
        transaction that publishes, while the population is locked.

        Raises:
            FieldError: named `target`.
        """
        smallest = self.cited.smallest
        # Even if no recipe asks the whole population yet: so that one may, later.
        require_apart(self.cited.target, (ALL_DEVICES,), self.sizes, smallest)
        if self.simulation:
            return  # no real device is in any of them
        if population_named(self.population).budget is None:
            # No other check bounds what three or more results reveal together.
            raise FieldError(FIELD, "needs a population with a budget")
        others = []
        for identifier, other in _published_targets(self.population):
            others.append(other)
            if other.target != self.cited.target:
                sizes = {**_sizes_of(identifier, other, self.population), **self.sizes}
                require_apart(self.cited.target, (other.target,), sizes, max(smallest, other.smallest))
        floor = max([smallest, *(other.smallest for other in others)])
        require_rest(self.cited.target, (other.target for other in others), self.sizes, floor)


def target_require(draft: RecipeDraft, *, simulation: bool) -> Targeted | None:
    """The target of a draft, with the results that it rests on; None if it asks the whole population.

    Args:
        simulation: whether the draft is to be published as one.

    Raises:
        FieldError: named `target…` or `smallest_target`: it is not declared by the population, a result is
            not there or does not show how many devices there are, they are too few, or the target differs by
            too few devices from another one, or the population has no budget.
    """
    asked = draft.target
    if asked is None:
        return None
    declared = population_named(draft.population).declared
    asked.target.require_declared(declared)
    sizes: dict[str, Sizes] = {}
    hashes: dict[str, str] = {}
    for name, identifier in asked.recipes.items():
        result = _result_of(name, identifier)
        hashes[name] = result_hash(result)
        citation = Citation(recipe=identifier, result=hashes[name])
        try:
            sizes[name] = cited_sizes(
                result,
                citation,
                attribute=name,
                population=draft.population,
                simulation=simulation,
                values=declared.values[name],
            )
        except CitationRefusedError as error:
            raise FieldError(f"{FIELD}.{name}", str(error)) from error
    cited = asked.cited(hashes, draft.parameters)
    require_large(cited.target, sizes, cited.smallest)
    targeted = Targeted(cited, sizes, draft.population, simulation)
    targeted.require_apart()
    return targeted


def _result_of(name: str, identifier: str) -> Mapping[str, Any]:
    result = next((found for read in _DECLARED if (found := read(identifier)) is not None), None)
    if result is None:
        raise FieldError(
            f"{FIELD}.{name}.recipe", "must be a recipe of this site that has released its result"
        )
    return result


def _published_targets(population: str) -> Iterator[tuple[str, CitedTarget]]:
    """Those of all recipes for real devices of a population, whatever their outcome; each once, after the
    identifier of the newest recipe that has it.
    """
    named = Recipe.objects.filter(population=population, simulation=False, document__contains=f'"{FIELD}":')
    told = set()
    for recipe in named.exclude(status=Recipe.Status.DRAFT).order_by("-pk"):
        target = recipe.published.target
        if target is not None and (content := str(target.as_dict())) not in told:
            told.add(content)
            yield str(recipe.identifier), target


def _sizes_of(identifier: str, cited: CitedTarget, population: str) -> SizesBy:
    """Of the target of a published recipe, whose results were checked when it was published."""
    try:
        return {
            name: cited_sizes(
                _result_of(name, citation.recipe),
                citation,
                attribute=name,
                population=population,
                simulation=False,
            )
            for name, citation in cited.citations.items()
        }
    except (CitationRefusedError, FieldError) as error:
        raise FieldError(
            FIELD, f"cannot be compared with that of the recipe {identifier} ({cited.target}): {error}"
        ) from error
