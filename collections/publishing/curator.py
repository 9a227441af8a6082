"""A curator, which is this site: the estimate is drawn from the state once no item can come any more, and
takes its place. There is no key: what is made at publication is the sample of items with a cell."""

import hashlib
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from panprivacy.accounting.trust import Trust
from panprivacy.formats.errors import FieldError
from panprivacy.formats.times import format_time
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.statistics.streams.parameters import ITEM_LIST
from panprivacy.statistics.streams.sample import Sample
from panprivacy.statistics.trust_models.curator import Curator
from publishing.interface import Prepared, TrustModel, Wish
from publishing.outcomes import Estimated, Outcome, Progress, ServerProgress, SourceLostError
from recipes.models import Recipe
from streams.errors import StreamLostError
from streams.operations import estimate_draw, stream_close, stream_estimate, stream_forget, stream_start
from streams.selectors import intrusions_of, stream_is_closed


@dataclass(frozen=True)
class _DrawnSample(Prepared):
    published: PublishedRecipe
    sample: Sample

    def store(self, recipe: Recipe) -> None:
        stream_start(published=self.published, sample=self.sample)


class CuratorModel(TrustModel):
    """There is no sum of anything: items were folded in as they came."""

    trust = Trust.CURATOR

    def prepare(self, wish: Wish) -> Prepared:
        parameters = wish.draft.calibrated_statistic().parameters
        if wish.universe is None and parameters.sample_kind == ITEM_LIST:
            raise FieldError(
                "items",
                "can be listed only if there is a list: a recipe file names it as `universe`, "
                "a CSV with one column `item`",
            )
        sample = Sample.draw(parameters, wish.universe, secrets.SystemRandom())
        digest = hashlib.sha256(sample.to_bytes()).digest()
        published = wish.publish(Curator(sample_digest=digest))
        return _DrawnSample(published, sample)

    def close(self, recipe: Recipe) -> None:
        stream_close(identifier=str(recipe.identifier))

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
        return {"intrusions_made": [{"number": look.number, "at": format_time(look.at)} for look in made]}


@contextmanager
def _lost_source_told() -> Iterator[None]:
    try:
        yield
    except StreamLostError as error:
        raise SourceLostError(str(error)) from error
