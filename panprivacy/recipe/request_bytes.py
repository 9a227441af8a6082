"""How long a device's request with its report is, and its length through a relay.

Lengths are for the longest report that a recipe can have: all of them are padded to one class.
"""

from typing import Any

from panprivacy.formats.base64_text import encoded_length
from panprivacy.formats.errors import FieldError
from panprivacy.planning.expectation import ENVELOPE_BYTES, beyond_x25519
from panprivacy.protocols.hpke import KemName
from panprivacy.protocols.oblivious_http.padding import CLASSES, TooLongError, class_of
from panprivacy.protocols.privacy_pass.tokens import TOKEN_BYTES
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.recipe.parts.admission import Admission
from panprivacy.recipe.parts.relay import RELAY
from panprivacy.statistics.interface import Statistic
from panprivacy.statistics.trust_models import TRUST_MODELS, report_format
from panprivacy.statistics.trust_models.interface import Servers


def report_bytes(draft: RecipeDraft, statistic: Statistic[Any]) -> int:
    """Bytes of the longest request with one report, its token included if there is one.

    Args:
        statistic: the draft's, with its derived parameters computed.
    """
    has_token = draft.admission == Admission.TOKEN
    kem = draft.hpke or KemName.X_WING
    return _longest(TRUST_MODELS[draft.trust], draft.encryption, statistic, has_token, kem)


def published_report_bytes(recipe: PublishedRecipe) -> int:
    """The same of a published recipe: a device computes the same length as the site that published it."""
    servers = recipe.servers
    has_token = recipe.admission is not None
    return _longest(type(servers), servers.scheme, recipe.calibrated_statistic, has_token, recipe.hpke)


def _longest(
    model: type[Servers], scheme: str | None, statistic: Statistic[Any], has_token: bool, kem: KemName
) -> int:
    return (
        ENVELOPE_BYTES
        + report_format(model).body_bytes(statistic, scheme)
        + beyond_x25519(model, kem)
        + (encoded_length(TOKEN_BYTES + model.report_signature_bytes) if has_token else 0)
    )


def relayed_bytes(length: int) -> int:
    """The number of bytes to which a request of this length is padded under a relay.

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
