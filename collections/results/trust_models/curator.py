"""A curator, which is this site: the estimate is drawn from the state once no item can come any more, and
takes its place.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from panprivacy.accounting.trust import Trust
from panprivacy.formats.times import format_time
from recipes.models import Recipe
from results.outcomes import Estimated, Outcome, Progress, ServerProgress, SourceLostError
from results.trust_models.interface import CollectionModel
from streams.errors import StreamLostError
from streams.operations import estimate_draw, stream_estimate, stream_forget
from streams.selectors import intrusions_of, stream_is_closed


class CuratorCollection(CollectionModel):
    """There is no sum of anything: items were folded in as they came."""

    trust = Trust.CURATOR

    def is_settled(self, recipe: Recipe) -> bool:
        return stream_is_closed(str(recipe.identifier))

    def draw(self, recipe: Recipe) -> None:
        with _lost_source_told():
            estimate_draw(identifier=str(recipe.identifier))

    def outcome(self, recipe: Recipe) -> Outcome | None:
        with _lost_source_told():
            return Estimated(stream_estimate(identifier=str(recipe.identifier)))

    def forget(self, recipe: Recipe, outcome: str) -> None:
        stream_forget(identifier=str(recipe.identifier))

    def progress(self, recipe: Recipe) -> Progress:
        """The number of items is not counted."""
        return Progress(received=0, waiting=0, servers=(ServerProgress(name="Curator", counted=None),))

    def told_with_release(self, recipe: Recipe) -> Mapping[str, Sequence[Any]]:
        """The announced intrusions that took place, on which the error depends; the recipe has the number of
        allowed ones."""
        made = intrusions_of(str(recipe.identifier))
        return {"intrusions_made": [{"number": one.number, "at": format_time(one.at)} for one in made]}


@contextmanager
def _lost_source_told() -> Iterator[None]:
    try:
        yield
    except StreamLostError as error:
        raise SourceLostError(str(error)) from error
