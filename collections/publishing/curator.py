"""A curator, which is this site: the estimate is drawn from the state once no item can come any more, and
takes its place. There is no key: what is made at publication is the sample of items with a cell."""

import hashlib
import secrets
from dataclasses import dataclass

from panprivacy.accounting.trust import Trust
from panprivacy.formats.errors import FieldError
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.statistics.streams.parameters import ITEM_LIST
from panprivacy.statistics.streams.sample import Sample
from panprivacy.statistics.trust_models.curator import Curator
from publishing.interface import Prepared, TrustModel, Wish
from recipes.models import Recipe
from streams.operations import stream_close, stream_start


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
