"""A curator: nothing is encrypted, and there is no key. What is made is the sample of items with a cell."""

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from panprivacy.errors import FieldError
from panprivacy.recipe import Recipe as PublishedRecipe
from panprivacy.recipe import RecipeDraft
from panprivacy.streams.parameters import LISTED
from panprivacy.streams.sample import Sample
from panprivacy.trust import Trust
from panprivacy.trust_models.curator import Curator
from recipes.custody.interface import Custody, Holding, Partners
from recipes.models import Recipe
from streams.operations import stream_close, stream_start


@dataclass(frozen=True)
class _DrawnSample(Holding):
    published: PublishedRecipe
    sample: Sample

    def store(self, recipe: Recipe) -> None:
        stream_start(published=self.published, sample=self.sample)


class CuratorCustody(Custody):
    """This installation is the curator."""

    trust = Trust.CURATOR
    needs_partner = False
    elsewhere = ("recipe-of-a-curator", "The recipe is about a stream of items")

    def upload_elsewhere(self, published: PublishedRecipe) -> str:
        return (
            "It is about a stream of items, not of reports: they are sent to "
            f"/api/v1/recipes/{published.identifier}/items/."
        )

    def items_elsewhere(self, published: PublishedRecipe) -> str:
        return ""

    def unavailable(self, partners: Partners) -> str:
        return ""

    def prepare(
        self,
        draft: RecipeDraft,
        *,
        now: datetime,
        simulation: bool,
        partners: Partners,
        universe: Sequence[str] | None,
    ) -> Holding:
        parameters = draft.mechanism().parameters
        if universe is None and parameters.sample_kind == LISTED:
            raise FieldError(
                "items",
                "can be listed only where there is a list: a recipe file names it as `universe`, "
                "a CSV with one column `item`",
            )
        sample = Sample.draw(parameters, universe, secrets.SystemRandom())
        digest = hashlib.sha256(sample.to_bytes()).digest()
        published = draft.publish(Curator(sample_digest=digest), now, simulation=simulation)
        return _DrawnSample(published, sample)

    def close(self, recipe: Recipe) -> None:
        stream_close(identifier=str(recipe.identifier))
