"""What this site does under each trust model, one file each: publishing, closing, the outcome.

`TRUST_MODELS` is the table. Others call `trust_model_of` and `unavailable_here`, `configured_partners` for
the other servers that settings name, the operations in `publishing`, and `review` for what publishing would
do. `admitting` knows the issuer of tokens and the relay, and `issued` the number of tokens. `targeting`
checks which devices a recipe asks, and `of_rounds` is given the reader of documents of rounds. `outcomes` has
what they get, and `api` is the same for programs.

It must not know pages, nor the content of a release.
"""

from panprivacy.accounting.trust import Trust
from partners.partner import Partner
from publishing.curator import CuratorModel
from publishing.interface import Partners, TrustModel
from publishing.shuffler import ShufflerModel
from publishing.single_server import SingleServerModel
from publishing.two_server import TwoServerModel
from recipes.models import Recipe

__all__ = [
    "TRUST_MODELS",
    "admitting",
    "configured_partners",
    "issued",
    "of_rounds",
    "outcomes",
    "publishing",
    "review",
    "targeting",
    "trust_model_of",
    "unavailable_here",
]

TRUST_MODELS: dict[Trust, TrustModel] = {
    model.trust: model for model in (SingleServerModel(), TwoServerModel(), ShufflerModel(), CuratorModel())
}


def trust_model_of(recipe: Recipe) -> TrustModel:
    """That of a published recipe."""
    return TRUST_MODELS[recipe.trust]


def configured_partners() -> Partners:
    """The other servers, as the settings name them, by the trust model whose recipes need one."""
    found: dict[Trust, Partner] = {}
    for trust, model in TRUST_MODELS.items():
        partner = None if model.partner is None else model.partner.configured()
        if partner is not None:
            found[trust] = partner
    return found


def unavailable_here(trust: Trust) -> str:
    """Why recipes cannot have this trust model at this site, as a clause; empty if they can."""
    return TRUST_MODELS[trust].unavailable(configured_partners())
