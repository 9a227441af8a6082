"""Where the sum of a recipe's reports comes from: one file per trust model; this is the registry."""

from collections.abc import Mapping

from panprivacy.trust import Trust
from recipes.models import Recipe
from releases.sums.curator import CuratorSums
from releases.sums.interface import SumSource
from releases.sums.shuffler import ShufflerSums
from releases.sums.single_server import SingleServerSums
from releases.sums.two_server import TwoServerSums

SOURCES: Mapping[Trust, SumSource] = {
    source.trust: source for source in (SingleServerSums(), TwoServerSums(), ShufflerSums(), CuratorSums())
}


def source_of(recipe: Recipe) -> SumSource:
    """The source for a published recipe."""
    return SOURCES[recipe.published.trust]
