"""The shuffler of a recipe, as its document names it: settings may name another one by now."""

from django.conf import settings

from panprivacy.statistics.trust_models.shuffler import ShufflerAndAnalyzer
from partners.client import PeerClient
from recipes.models import Recipe
from web.transport import Transport, https_transport


def shuffler_of(recipe: Recipe, transport: Transport = https_transport) -> PeerClient:
    """A client that speaks to it."""
    servers = recipe.published.servers
    if not isinstance(servers, ShufflerAndAnalyzer):
        raise TypeError("the recipe has no shuffler")
    return PeerClient(
        url=servers.shuffler_url,
        verification_key=servers.shuffler_verification_key,
        signing_key=settings.SIGNING_KEY,
        transport=transport,
    )
