"""The path of a device's reports under each trust model: one file for each model, and this table of them."""

from collections.abc import Mapping

from panprivacy.accounting.trust import Trust
from panprivacy.device.trust_models.interface import ReportPath
from panprivacy.device.trust_models.shuffler import Shuffler
from panprivacy.device.trust_models.single_server import SingleServer
from panprivacy.device.trust_models.two_server import TwoServer
from panprivacy.recipe.document import PublishedRecipe

__all__ = ["TRUST_MODELS", "ReportPath", "report_path"]

TRUST_MODELS: Mapping[Trust, type[ReportPath] | None] = {
    Trust.SINGLE_SERVER: SingleServer,
    Trust.TWO_SERVER: TwoServer,
    Trust.SHUFFLER: Shuffler,
    # Reports go where those of one server go; what they are is the key's.
    Trust.JOINT_KEY: SingleServer,
    # No devices report to a curator; `items` sends the items of its streams.
    Trust.CURATOR: None,
}


def report_path(recipe: PublishedRecipe, verification_key: bytes) -> ReportPath:
    """The path of a recipe's reports.

    Args:
        recipe: verified, with devices that take part in it.
        verification_key: of the server that published it, 32 bytes, pinned beforehand.

    Raises:
        ValueError: no devices report under the recipe's trust model.
    """
    path = TRUST_MODELS[recipe.trust]
    if path is None:
        raise ValueError(f"no devices report under the trust model {recipe.trust.value}")
    return path(recipe, verification_key)
