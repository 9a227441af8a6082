"""Having another server agree to a document, before it is published."""

from collections.abc import Callable
from typing import TypeVar

from cryptography.exceptions import InvalidSignature

from panprivacy.accounting.trust import Trust
from panprivacy.formats.errors import FieldError
from panprivacy.protocols.ed25519 import public_key_of, require_signature
from panprivacy.recipe.document import PublishedRecipe
from partners.client import PeerRefusedError, PeerUnavailableError
from partners.partner import Partner
from partners.roles import PartnerRole, why_no_answer
from publishing.interface import Partners
from recipes.errors import PartnerUnavailableError

T = TypeVar("T")


def partner_of(trust: Trust, role: PartnerRole, partners: Partners) -> Partner:
    """The server of this role; FieldError if none is set up."""
    partner = partners.get(trust)
    if partner is None:
        raise FieldError("trust", f"cannot be {trust.value}: {role.missing}. {role.how_to_set_up}")
    return partner


def asked(wanted: FieldError, role: PartnerRole, partner: Partner, ask: Callable[[], T]) -> T:
    """The other server's answer, or its silence and its refusal in the words of this app.

    Args:
        wanted: names the field that requires it, and states that this is impossible.

    Raises:
        FieldError: it refuses.
        PartnerUnavailableError: it did not answer.
    """
    try:
        return ask()
    except PeerUnavailableError as error:
        raise PartnerUnavailableError(
            f"nothing was published: {why_no_answer(role, partner, error)}"
        ) from error
    except PeerRefusedError as error:
        raise FieldError(
            wanted.field, f"{wanted.message}: the {role.name} at {partner.url} refuses ({error})"
        ) from error


def not_under(trust: Trust) -> FieldError:
    """That a recipe cannot have this trust model."""
    return FieldError("trust", f"cannot be {trust.value}")


def require_signed(role: PartnerRole, partner: Partner, published: PublishedRecipe, signature: bytes) -> None:
    """Devices will check the same: a recipe that they refuse must not be published.

    Raises:
        PartnerUnavailableError: the signature is not that server's.
    """
    try:
        require_signature(public_key_of(partner.verification_key), signature, published.signed_message)
    except InvalidSignature:
        raise PartnerUnavailableError(
            f"the {role.name} at {partner.url} signed with another key than its own; nothing was published"
        ) from None
