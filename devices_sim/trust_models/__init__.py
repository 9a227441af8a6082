"""The device's part of each trust model: one file for each model, and this table of them."""

from collections.abc import Mapping

from devices_sim.trust_models.curator import Curator
from devices_sim.trust_models.interface import DeviceTrustModel, ReportingModel
from devices_sim.trust_models.shuffler import Shuffler
from devices_sim.trust_models.single_server import SingleServer
from devices_sim.trust_models.two_server import TwoServer
from panprivacy.accounting.trust import Trust
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.recipe.draft import RecipeDraft

__all__ = ["TRUST_MODELS", "DeviceTrustModel", "ReportingModel", "reporting_model"]

TRUST_MODELS: Mapping[Trust, DeviceTrustModel] = {
    Trust.SINGLE_SERVER: SingleServer(),
    Trust.TWO_SERVER: TwoServer(),
    Trust.SHUFFLER: Shuffler(),
    Trust.CURATOR: Curator(),
}


def reporting_model(recipe: PublishedRecipe | RecipeDraft) -> ReportingModel:
    """How the devices of a recipe report; FieldError if no devices take part in it."""
    return TRUST_MODELS[recipe.trust].reporting(recipe.statistic)
