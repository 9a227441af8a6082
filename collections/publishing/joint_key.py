"""Two servers with half a key each: the leader, which is this site, and a helper.

Both make their halves with commitments before reveals (`joint_key.helper.keys` has the steps), and both sign
the document. What is asked before anything is published has no effect: the helper deletes halves that no
recipe used.
"""

import secrets
from dataclasses import dataclass, replace

from joint_key.leader.sums import KEY_KIND
from panprivacy.accounting.trust import Trust
from panprivacy.protocols.joint_key.groups import InvalidPointError, Scalar
from panprivacy.protocols.joint_key.keys import (
    KeyHalf,
    ProofRefusedError,
    StringHalf,
    commitment,
    key_bases,
    key_half,
    string_half,
)
from panprivacy.protocols.joint_key.public_key import SCHEME
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.statistics.trust_models.joint_key import (
    ROLES,
    JointKeyServers,
    document_context,
    role_context,
)
from partners.client import PeerUnavailableError
from partners.joint_key_calls import key_commit, key_reveal, recipe_join, strings_reveal
from partners.partner import Partner
from partners.request_ids import REQUEST_BYTES
from partners.roles import HELPER
from publishing.agreement import asked, not_under, partner_of, require_signed
from publishing.interface import Prepared, TrustModel, Wish
from recipes.models import PartnerSignature, Recipe, RecipeKey
from reports.proven_rows import ProvenRows
from storage.sealing import secret_seal


@dataclass(frozen=True)
class _JoinedHalves(Prepared):
    """A document that the helper signed too, and our half of its secret key."""

    published: PublishedRecipe
    secret: Scalar
    helper_signature: bytes

    def store(self, recipe: Recipe) -> None:
        owner = str(recipe.identifier).encode()
        sealed = secret_seal(bytes(self.secret.to_be_bytes()), kind=KEY_KIND, owner=owner)
        RecipeKey.objects.create(recipe=recipe, scheme=SCHEME, sealed=sealed)
        recipe.partner_signatures.create(
            partner=PartnerSignature.Partner.HELPER, signature=self.helper_signature
        )
        ProvenRows(recipe).begin()


class JointKeyModel(TrustModel):
    """Reports come here; the helper gets the list of accepted ones."""

    trust = Trust.JOINT_KEY
    partner = HELPER

    def prepare(self, wish: Wish) -> Prepared:
        partner = partner_of(self.trust, HELPER, wish.partners)
        request = secrets.SystemRandom().randbytes(REQUEST_BYTES)
        blank = JointKeyServers.blank(partner.url, partner.verification_key)
        context = document_context(wish.publish(blank).document)
        halves = asked(not_under(self.trust), HELPER, partner, lambda: _halves(partner, request, context))
        published = wish.publish(replace(blank, keys=halves.keys, strings=halves.strings))
        signature = asked(
            not_under(self.trust),
            HELPER,
            partner,
            lambda: recipe_join(
                partner.client(),
                identifier=published.identifier,
                document=published.canonical,
                request=request,
            ),
        )
        require_signed(HELPER, partner, published, signature)
        return _JoinedHalves(published, halves.secret, signature)


@dataclass(frozen=True)
class _Halves:
    """Both servers' halves as `JointKeyServers` has them, and the secret of ours."""

    keys: tuple[bytes, bytes]
    strings: tuple[bytes, bytes]
    secret: Scalar


def _halves(partner: Partner, request: bytes, context: bytes) -> _Halves:
    """Make both halves of the key and of the strings with the helper.

    Raises:
        PeerUnavailableError: no answer, or one that does not open its commitment.
        PeerRefusedError.
    """
    source, helper = secrets.SystemRandom(), partner.client()
    ours, theirs = (role_context(context, role) for role in ROLES)
    key, secret = key_half(ours, source)
    promised = key_commit(helper, request=request, context=context, commitment=commitment(ours, key))
    helper_key, string_promised = key_reveal(helper, request=request, key=key.encode())
    try:
        read = KeyHalf.decode(helper_key)
        read.require_proved(theirs)
        if commitment(theirs, read) != promised:
            raise PeerUnavailableError("the helper's half of the key is not the one that it committed to")
        u1, v1 = key_bases([key, read])
        string = string_half(ours, u1, v1, source)
        helper_string = strings_reveal(helper, request=request, commitment=commitment(ours, string))
        string_read = StringHalf.decode(helper_string)
        string_read.require_proved(theirs, u1, v1)
    except (InvalidPointError, ProofRefusedError) as error:
        raise PeerUnavailableError(f"the helper's half of the key cannot be used: {error}") from error
    if commitment(theirs, string_read) != string_promised:
        raise PeerUnavailableError("the helper's half of the strings is not the one that it committed to")
    return _Halves((key.encode(), helper_key), (string.encode(), helper_string), secret)
