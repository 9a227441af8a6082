"""A curator: the estimate is drawn from the state, once no item can come any more, and takes its place."""

from panprivacy.trust import Trust
from recipes.models import Recipe
from releases.sums.interface import Estimated, Outcome, ServerStanding, Standing, SumSource
from streams.operations import estimate_draw, stream_estimate, stream_forget
from streams.selectors import stream_is_closed


class CuratorSums(SumSource):
    """There is no sum of anything: items were folded in as they came."""

    trust = Trust.CURATOR
    # On a file beside the database. Where it is missing, somebody may bring it back, or give up.
    waits_for_another = True

    def advance(self, recipe: Recipe) -> None:
        """Nothing waits."""

    def is_over(self, recipe: Recipe) -> bool:
        return False

    def is_settled(self, recipe: Recipe) -> bool:
        return stream_is_closed(str(recipe.identifier))

    def draw(self, recipe: Recipe) -> None:
        estimate_draw(identifier=str(recipe.identifier))

    def outcome(self, recipe: Recipe) -> Outcome | None:
        return Estimated(stream_estimate(identifier=str(recipe.identifier)))

    def forget(self, recipe: Recipe, outcome: str) -> None:
        stream_forget(identifier=str(recipe.identifier))

    def standing(self, recipe: Recipe) -> Standing:
        """How many items came, nobody counts."""
        return Standing(received=0, waiting=0, servers=(ServerStanding(name="Curator", counted=None),))
