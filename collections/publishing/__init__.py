"""How a draft becomes public under each trust model, one file each, and how a recipe is closed.

`TRUST_MODELS` is the table. Others call `unavailable_here`, `others_of`, `configured_partners` for the other
servers that settings name, the operations in `publication`, and `review` for what publishing would do.
`admission` knows the issuer of tokens and the relay. `approvals` are those of four eyes. `target` checks
which devices a recipe asks, and `rounds_document` is given the reader of documents of rounds. `api` is the
same for programs.

It must not know what becomes of a published recipe: that is in `results`.
"""

from panprivacy.accounting.trust import Trust
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.recipe.parts.admission import Admission
from partners.partner import Partner
from publishing.curator import CuratorModel
from publishing.interface import Partners, TrustModel
from publishing.joint_key import JointKeyModel
from publishing.shuffler import ShufflerModel
from publishing.single_server import SingleServerModel
from publishing.two_server import TwoServerModel

__all__ = [
    "TRUST_MODELS",
    "admission",
    "approvals",
    "approvals_api",
    "configured_partners",
    "others_of",
    "publication",
    "review",
    "rounds_document",
    "target",
    "unavailable_here",
]

TRUST_MODELS: dict[Trust, TrustModel] = {
    model.trust: model
    for model in (
        SingleServerModel(),
        TwoServerModel(),
        ShufflerModel(),
        JointKeyModel(),
        CuratorModel(),
    )
}


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


def others_of(draft: RecipeDraft) -> str:
    """Why a recipe cannot stay within this site, as a clause; empty if no other server takes part in it."""
    partner = TRUST_MODELS[draft.trust].partner
    if partner is not None:
        return f"a {partner.name} takes part in this recipe"
    if draft.admission == Admission.TOKEN:
        return "an issuer of tokens takes part in this recipe"
    return "a relay takes part in this recipe" if draft.relay else ""
