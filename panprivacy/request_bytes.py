"""How long a device's request with its report is, and what becomes of it under a relay.

Lengths are of the longest report that a recipe can have: all of them are padded to one class.
"""

from typing import Any

from panprivacy.asked_admission import RELAY, Admission
from panprivacy.base64_text import encoded_length
from panprivacy.errors import FieldError
from panprivacy.oblivious_http.padding import CLASSES, TooLongError, class_of
from panprivacy.privacy_pass.tokens import TOKEN_BYTES
from panprivacy.recipe import PublishedRecipe
from panprivacy.recipe_draft import RecipeDraft
from panprivacy.statistic import Statistic
from panprivacy.trust_models import TRUST_MODELS
from panprivacy.trust_models.interface import Servers

ENVELOPE_BYTES = 320
"""Method, address, headers and the names of the body's members, at most for usual addresses."""


def report_bytes(draft: RecipeDraft, statistic: Statistic[Any]) -> int:
    """Bytes of the longest request with one report, its token included where there is one.

    Args:
        statistic: the draft's, with its derived parameters computed.
    """
    has_token = draft.admission == Admission.TOKEN
    return _longest(TRUST_MODELS[draft.trust], draft.encryption, statistic, has_token)


def published_report_bytes(recipe: PublishedRecipe) -> int:
    """The same of a published recipe: no device finds its reports longer than who published it did."""
    servers = recipe.servers
    return _longest(type(servers), servers.scheme, recipe.calibrated_statistic, recipe.admission is not None)


def _longest(model: type[Servers], scheme: str | None, statistic: Statistic[Any], has_token: bool) -> int:
    return (
        ENVELOPE_BYTES
        + model.body_bytes(statistic, scheme)
        + (encoded_length(TOKEN_BYTES) if has_token else 0)
    )


def relayed_bytes(length: int) -> int:
    """To how many bytes a request of this length is padded under a relay.

    Raises:
        FieldError: `relay` cannot be true.
    """
    try:
        return class_of(length)
    except TooLongError:
        raise FieldError(
            RELAY,
            f"cannot be true: a request has up to {length:,} bytes with such a report, and at most "
            f"{CLASSES[-1]:,} travel through a relay",
        ) from None
