"""The released result by which a recipe shows that many devices have an attribute's value.

A result is evidence if it counts categories that are the attribute's values: its event has the attribute's
name, its labels are the values. Nothing here reads a log: another module checks that the site signed the
result and entered its hash (`panprivacy.recipe.log.checks.check`).
"""

from collections.abc import Mapping, Sequence
from typing import Any

from panprivacy.accounting.rate_validation import Verdict
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.recipe.signed_result import ResultRefusedError, result_hash
from panprivacy.recipe.targeting.citation import Citation
from panprivacy.recipe.targeting.sizes import FAILURE_PROBABILITY, Sizes
from panprivacy.statistics.interface import Statistic
from panprivacy.statistics.randomized import SIZE_BOUNDS

CITED_STATISTICS = tuple(SIZE_BOUNDS)
"""Those whose results can show it, by their registered names."""

_RELEASED = "released"


class CitationRefusedError(ValueError):
    """A result that does not show what it is cited for."""


def cited_sizes(
    result: Mapping[str, Any],
    citation: Citation,
    *,
    attribute: str,
    population: str,
    simulation: bool,
    values: Sequence[str] | None = None,
) -> Sizes:
    """How many devices have each value of an attribute, by a cited result.

    Args:
        result: `result.json`; the caller checks its signature and its place in the log.
        attribute: name of what it must have counted.
        population: of the citing recipe; the cited one must have asked the same.
        simulation: whether the citing recipe is one; then it cites one, and otherwise none.
        values: the attribute's declared values; None if they are unknown, e.g. on a device, which then uses
            the result's labels.

    Returns:
        Bounds which all hold except with `FAILURE_PROBABILITY`.

    Raises:
        CitationRefusedError: it is another result, or does not show how many devices have the values.
    """
    recipe = _recipe_of(result, citation)
    statistic = recipe.calibrated_statistic
    if result.get("outcome") != _RELEASED:
        raise CitationRefusedError("the cited recipe has released no result")
    if recipe.statistic not in SIZE_BOUNDS or recipe.dummies is not None:
        possible = " or ".join(CITED_STATISTICS)
        raise CitationRefusedError(f"the cited result is of {recipe.statistic}, and must be of {possible}")
    if recipe.target is not None:
        raise CitationRefusedError("the cited result is of a part of the population")
    if recipe.admission is None:
        # Any sender could have sent any number of reports, and inflated a part at will.
        raise CitationRefusedError("the cited recipe must have asked for tokens (admission: token)")
    admission = result.get("admission")
    if isinstance(admission, Mapping) and admission.get("verdict") == Verdict.HELD:
        # An operator released it all the same, but reports without a token may be invented.
        raise CitationRefusedError("the cited result has more reports than its tokens explain")
    if recipe.population != population:
        raise CitationRefusedError(
            f"the cited result is of the population {recipe.population}, not of {population}"
        )
    if recipe.simulation != simulation:
        raise CitationRefusedError(
            "a simulation shows nothing of real devices"
            if recipe.simulation
            else "a simulation cites simulations"
        )
    if recipe.event.name != attribute:
        raise CitationRefusedError(f"the event of the cited recipe is {recipe.event.name}, not {attribute}")
    if not recipe.event.labels or recipe.event.labels != tuple(values or recipe.event.labels):
        raise CitationRefusedError(f"the labels of the cited recipe are not the values of {attribute}")
    if recipe.round is not None:
        # Which of them is cited could be chosen by what they show.
        raise CitationRefusedError("the cited result is of one of many rounds")
    return _sizes(result, statistic, recipe.event.labels)


def _recipe_of(result: Mapping[str, Any], citation: Citation) -> PublishedRecipe:
    document = result.get("recipe")
    if not isinstance(document, Mapping):
        raise CitationRefusedError("the cited result has no recipe in it")
    try:
        found, recipe = result_hash(result), PublishedRecipe.from_document(document)
    except (ResultRefusedError, ValueError) as error:
        raise CitationRefusedError(f"the cited result cannot be read: {error}") from error
    if found != citation.result:
        raise CitationRefusedError("the result is not the one that is cited: it has another hash")
    if not recipe.identifier == citation.recipe == result.get("id"):
        raise CitationRefusedError("the result is of another recipe than the cited one")
    return recipe


def _sizes(result: Mapping[str, Any], statistic: Statistic[Any], labels: Sequence[str]) -> Sizes:
    reports, estimate = result.get("reports"), result.get("estimate")
    if type(reports) is not int or reports < statistic.cohort_size:
        raise CitationRefusedError("the cited result is of fewer reports than its cohort size")
    if not isinstance(estimate, list) or not all(type(value) in (int, float) for value in estimate):
        raise CitationRefusedError("the cited result has no estimates")
    try:
        *bounds, population_size = SIZE_BOUNDS[statistic.statistic](statistic).between(
            estimate, reports, FAILURE_PROBABILITY
        )
    except (ValueError, OverflowError) as error:
        raise CitationRefusedError(f"the cited result cannot be: {error}") from error
    return Sizes(dict(zip(labels, bounds, strict=True)), population_size)
