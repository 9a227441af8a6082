"""Tokens of simulated devices: each asks as a device of its own, sampled or not, at once."""

import random
import time
from datetime import UTC, datetime

from panprivacy.device.identity import identity_drawn
from panprivacy.device.tokens import TokenClient, TokenState, token_drawn
from panprivacy.device.transport import Closable, Transport
from panprivacy.recipe.document import PublishedRecipe


class FleetTokens(Closable):
    """The tokens of one recipe. Keeps connections and the issuer's key over devices.

    Args:
        recipe: verified.
        transport: what reaches other servers; stays open.
    """

    def __init__(self, recipe: PublishedRecipe, transport: Transport) -> None:
        self._recipe = recipe
        self._client = None if recipe.admission is None else TokenClient(recipe, transport)

    def obtained(self, random_source: random.Random) -> TokenState | None:
        """A fresh device's token; None if the recipe needs no token.

        Args:
            random_source: the device's own: the same gives the same key and requests.

        Raises:
            TransportError: as of `TokenClient.obtained`.
        """
        if self._client is None:
            return None
        key = identity_drawn(random_source)
        state = token_drawn(self._recipe, random_source, now=datetime.now(UTC))
        return self._client.obtained(
            state, key, lambda _: None, random_source=random_source, created=int(time.time())
        )

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
