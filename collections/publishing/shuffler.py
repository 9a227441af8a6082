"""A shuffler in front of the analyzer, which is this site: a whole batch is fetched, then decrypted and
counted.

This site makes the key pair, and the shuffler agrees to the document. A registration that is not followed by
a publication has no effect: no device knows of it, and the shuffler drops it when its time is over.
"""

import secrets
from dataclasses import dataclass

from panprivacy.accounting.trust import Trust
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.statistics.trust_models.shuffler import ShufflerAndAnalyzer
from partners.roles import SHUFFLER
from partners.shuffler_calls import recipe_register
from publishing.agreement import asked, not_under, partner_of, require_signed
from publishing.interface import Prepared, TrustModel, Wish
from publishing.keys import recipe_key_make
from publishing.single_server import KeptKey
from recipes.models import PartnerSignature, Recipe


@dataclass(frozen=True)
class _AgreedKey(Prepared):
    """A document that the shuffler signed for, and the key to what it will hand on."""

    published: PublishedRecipe
    key: KeptKey
    shuffler_signature: bytes

    def store(self, recipe: Recipe) -> None:
        self.key.store(recipe)
        recipe.partner_signatures.create(
            partner=PartnerSignature.Partner.SHUFFLER, signature=self.shuffler_signature
        )


class ShufflerModel(TrustModel):
    """The sum counts the messages of each kind; its reports are users."""

    trust = Trust.SHUFFLER
    partner = SHUFFLER

    def prepare(self, wish: Wish) -> Prepared:
        partner = partner_of(self.trust, SHUFFLER, wish.partners)
        private_key = recipe_key_make(wish.draft, secrets.SystemRandom())
        servers = ShufflerAndAnalyzer(
            shuffler_url=partner.url,
            shuffler_verification_key=partner.verification_key,
            analyzer_key_members=private_key.public_key.to_json(),
        )
        published = wish.publish(servers)
        signature = asked(
            not_under(self.trust),
            SHUFFLER,
            partner,
            lambda: recipe_register(
                partner.client(), identifier=published.identifier, document=published.canonical
            ),
        )
        require_signed(SHUFFLER, partner, published, signature)
        return _AgreedKey(published, KeptKey(published, private_key), signature)
