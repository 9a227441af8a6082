"""Admission and transport of a recipe's reports: the issuer makes a key and signs the document, before it is
published.

A key that is in no published document has no effect: the issuer forgets it after a day.
"""

import secrets
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from panprivacy.formats.errors import FieldError
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.recipe.parts.admission import ADMISSION, Admission, TokenAdmission
from panprivacy.recipe.parts.relay import RELAY
from panprivacy.recipe.request_bytes import relayed_bytes, report_bytes
from panprivacy.statistics.interface import Statistic
from partners.issuer_calls import recipe_register, token_key_ask
from partners.partner import Partner
from partners.request_ids import REQUEST_BYTES
from partners.roles import ISSUER
from publishing.agreement import asked, require_signed
from recipes.models import PartnerSignature, Recipe
from tokens.admission.operations import issuance_begin

NO_TOKENS = FieldError(ADMISSION, f"cannot be {Admission.TOKEN.value}")

NO_RELAY = (
    "no relay is set up for this installation. Set PANAPP_RELAY_URL to the address at a relay that leads to "
    "this site (docs/operations/two-organizations.md, “A relay”)"
)


@dataclass(frozen=True)
class Admitting:
    """The relay between devices and this site; None if there is none.

    Attributes:
        issuer: of tokens.
        relay_url: address at a relay that leads to this site, without a trailing slash.
    """

    issuer: Partner | None = None
    relay_url: str | None = None


def admitting_here() -> Admitting:
    """Those that the settings name."""
    return Admitting(ISSUER.configured(), settings.RELAY_URL)


def require_admitted(draft: RecipeDraft, statistic: Statistic[Any], admitting: Admitting) -> None:
    """Refuse what is not available here.

    Args:
        statistic: the draft's, with its derived parameters computed.

    Raises:
        FieldError: `admission` or `relay`, and what to set up, or how long reports are.
    """
    if draft.admission == Admission.TOKEN and admitting.issuer is None:
        raise FieldError(NO_TOKENS.field, f"{NO_TOKENS.message}: {ISSUER.missing}. {ISSUER.how_to_set_up}")
    if draft.relay:
        if admitting.relay_url is None:
            raise FieldError(RELAY, f"cannot be true: {NO_RELAY}")
        relayed_bytes(report_bytes(draft, statistic))


@dataclass(frozen=True)
class AskedTokens:
    """The issuer's part of a document that is being made.

    Attributes:
        request: the name under which the issuer keeps the key until it has signed.
    """

    issuer: Partner
    admission: TokenAdmission
    request: bytes


@dataclass(frozen=True)
class AgreedIssuer:
    """That the issuer signed the document."""

    issuer: Partner
    signature: bytes

    def store(self, recipe: Recipe) -> None:
        """Keep it, in the transaction that publishes the recipe."""
        recipe.partner_signatures.create(partner=PartnerSignature.Partner.ISSUER, signature=self.signature)
        issuance_begin(recipe=recipe, issuer_url=self.issuer.url)


def tokens_ask(draft: RecipeDraft, admitting: Admitting) -> AskedTokens | None:
    """Have the issuer make a key for this recipe alone; None if any device may report.

    Raises:
        FieldError: it refuses.
        PartnerUnavailableError: it did not answer.
    """
    issuer = admitting.issuer
    if draft.admission != Admission.TOKEN or issuer is None:
        return None
    request = secrets.token_bytes(REQUEST_BYTES)
    admission = asked(NO_TOKENS, ISSUER, issuer, lambda: token_key_ask(issuer, request=request))
    return AskedTokens(issuer, admission, request)


def issuer_agree(tokens: AskedTokens, published: PublishedRecipe) -> AgreedIssuer:
    """Have the issuer check and sign the document.

    Raises:
        FieldError: it refuses.
        PartnerUnavailableError: it did not answer, or signed with another key than its own.
    """
    signature = asked(
        NO_TOKENS,
        ISSUER,
        tokens.issuer,
        lambda: recipe_register(
            tokens.issuer,
            identifier=published.identifier,
            document=published.canonical,
            request=tokens.request,
        ),
    )
    require_signed(ISSUER, tokens.issuer, published, signature)
    return AgreedIssuer(tokens.issuer, signature)
