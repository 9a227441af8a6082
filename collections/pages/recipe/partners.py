"""The servers that take part in a recipe beside the one that shows it, as its page names them."""

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from panprivacy.trust import Trust
from panprivacy.trust_models.shuffler import ShufflerAndAnalyzer
from panprivacy.trust_models.two_server import TwoServers
from recipes.models import Recipe


@dataclass(frozen=True)
class PartnerShown:
    """A server that signed the recipe too.

    Attributes:
        name: in a word, in lower case.
        url: its base address.
        own_url: that of this very server in its part, where the document names it; else empty.
        role, own_role: what either does, in a sentence.
        verification_key: in base64, as the document has it.
    """

    name: str
    url: str
    role: str
    verification_key: str
    own_name: str = ""
    own_url: str = ""
    own_role: str = ""

    @property
    def page(self) -> str:
        """Where it tells everybody of itself: the root of its host."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}/"


def partner_shown(recipe: Recipe) -> PartnerShown | None:
    """The server beside this one; None where there is none."""
    published = recipe.published
    shown = _SHOWN.get(published.trust)
    return None if shown is None else shown(published.servers)


def _helper(servers: TwoServers) -> PartnerShown:
    return PartnerShown(
        name="helper",
        url=servers.helper_url,
        role="Holds the other half; signed this recipe too.",
        verification_key=base64.b64encode(servers.helper_verification_key).decode(),
        own_name="leader",
        own_url=servers.leader_url,
        own_role="Takes reports in, holds the one half of each, and releases the result.",
    )


def _shuffler(servers: ShufflerAndAnalyzer) -> PartnerShown:
    return PartnerShown(
        name="shuffler",
        url=servers.shuffler_url,
        role="Takes messages in that it cannot read, and mixes them; signed this recipe too.",
        verification_key=base64.b64encode(servers.shuffler_verification_key).decode(),
    )


_SHOWN: Mapping[Trust, Callable[[Any], PartnerShown]] = {
    Trust.TWO_SERVER: _helper,
    Trust.SHUFFLER: _shuffler,
}
