"""How published recipes come to their results, one file for each trust model.

`COLLECTIONS` is the table; others call `collection_model_of`.
"""

from panprivacy.accounting.trust import Trust
from recipes.models import Recipe
from results.trust_models.curator import CuratorCollection
from results.trust_models.interface import CollectionModel
from results.trust_models.joint_key import JointKeyCollection
from results.trust_models.shuffler import ShufflerCollection
from results.trust_models.single_server import SingleServerCollection
from results.trust_models.two_server import TwoServerCollection

__all__ = ["COLLECTIONS", "collection_model_of"]

COLLECTIONS: dict[Trust, CollectionModel] = {
    model.trust: model
    for model in (
        SingleServerCollection(),
        TwoServerCollection(),
        ShufflerCollection(),
        JointKeyCollection(),
        CuratorCollection(),
    )
}


def collection_model_of(recipe: Recipe) -> CollectionModel:
    """That of a published recipe."""
    return COLLECTIONS[recipe.trust]
