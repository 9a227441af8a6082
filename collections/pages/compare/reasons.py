"""Why two results cannot be compared, in sentences."""

from collections.abc import Callable, Mapping

from panprivacy.formats.display import duration
from panprivacy.recipe.document import PublishedRecipe
from recipes.models import Recipe
from results.comparisons import Obstacle

_PLAIN: Mapping[Obstacle, str] = {
    Obstacle.NO_RESULT: "One of the two has no result.",
    Obstacle.VERDICT: "A test gives a verdict, not an estimate.",
    Obstacle.NO_INTERVAL: "How far one of the estimates lies from the truth is not known.",
    Obstacle.LEVEL: "Their intervals hold with different probabilities.",
    Obstacle.SIMULATION: "One is a simulation, the other one is not.",
    Obstacle.PARAMETERS: "The parameters that say what is counted differ.",
    Obstacle.EVENT_UNKNOWN: "Only one of the two names its event, so it is not known whether it is the same.",
    Obstacle.DEFINITION: "The event has the same name, but another definition.",
    Obstacle.DEFINITION_UNKNOWN: "Only one of the two defines its event.",
    Obstacle.QUESTION: "Neither names its event, and the questions differ.",
    Obstacle.ITEMS_UNKNOWN: "Lists of items are not public, so it is not known whether they are the same.",
    Obstacle.LABELS: "Their values have other labels.",
    Obstacle.SEGMENTS: "They ask by other segments.",
    Obstacle.SEGMENT_HIDDEN: "One of the two may have had too few devices of this segment to show it.",
    Obstacle.POPULATION_UNKNOWN: "One of the two names no population.",
}

_NAMED: Mapping[Obstacle, tuple[str, Callable[[PublishedRecipe], str]]] = {
    Obstacle.STATISTIC: ("Another statistic", lambda recipe: recipe.calibrated_statistic.title),
    Obstacle.EVENT: ("Another event", lambda recipe: str(recipe.event_name)),
    Obstacle.POPULATION: ("Another population", lambda recipe: str(recipe.population)),
    Obstacle.WINDOW: ("It counts for another time", lambda recipe: _window(recipe)),
}
"""What differs, and how each of both is named."""


def reason(obstacle: Obstacle, first: Recipe, other: Recipe) -> str:
    """One sentence."""
    if obstacle in _PLAIN:
        return _PLAIN[obstacle]
    what, named = _NAMED[obstacle]
    return f"{what}: {named(other.published)}, not {named(first.published)}."


def _window(recipe: PublishedRecipe) -> str:
    return duration(int(recipe.steps_duration.total_seconds())) or "none"
