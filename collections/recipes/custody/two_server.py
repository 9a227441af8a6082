"""Two servers: leader and helper make a key pair each, and both agree to the document before anyone reads it.

Asked in this order, so that a crash anywhere leaves nothing that binds anybody: the helper makes a key;
we note which task we are about to register; the helper checks and signs the document; one transaction
publishes it and forgets the note. What becomes of a note that stays
behind, leader/registrations.py says.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone

from dap.models import Side
from dap.operations import task_close, task_named
from leader.errors import RegistrationOverError
from leader.operations import COLLECTOR_CONFIG_ID, task_create
from leader.registrations import registration_forget, registration_note
from panprivacy.dap.basics import HpkeConfig
from panprivacy.dap.hpke import generate_keypair
from panprivacy.dap.recipe_task import task_of
from panprivacy.encryption import generate_private_key
from panprivacy.encryption.interface import PrivateKey
from panprivacy.prio3 import VERIFY_KEY_SIZE
from panprivacy.recipe import Recipe as PublishedRecipe
from panprivacy.recipe import RecipeDraft
from panprivacy.trust import Trust
from panprivacy.trust_models.two_server import TwoServers
from peers.helper_calls import REQUEST_BYTES, helper_key, recipe_task_register
from peers.partner import Partner
from peers.roles import HELPER
from recipes.custody.agreement import asked, partner_of, require_signed
from recipes.custody.interface import Custody, Holding, Partners
from recipes.errors import RecipeStateError
from recipes.models import HelperSignature, Recipe


@dataclass(frozen=True)
class _AgreedTask(Holding):
    """A document that both servers signed for, and our half of its secrets."""

    published: PublishedRecipe
    partner: Partner
    helper_signature: bytes
    share_key: PrivateKey
    verify_key: bytes
    collector_config: HpkeConfig
    collector_key: bytes

    def store(self, recipe: Recipe) -> None:
        task_id, configuration = task_of(self.published)
        try:
            registration_forget(task_id=task_id)
        except RegistrationOverError as error:
            raise RecipeStateError(f"it cannot be published any more: {error}; try again") from error
        HelperSignature.objects.create(recipe=recipe, signature=self.helper_signature)
        task_create(
            task_id=task_id,
            configuration=configuration,
            verify_key=self.verify_key,
            collector_config=self.collector_config,
            collector_key=self.collector_key,
            helper_url=self.partner.url,
            helper_key=self.partner.verification_key,
            share_key=self.share_key,
            document=self.published.canonical.decode(),
            now=timezone.now(),
        )


class TwoServerCustody(Custody):
    """This installation is the leader; the partner is the helper."""

    trust = Trust.TWO_SERVER
    needs_partner = True
    elsewhere = ("recipe-of-two-servers", "The recipe is of two servers")

    def upload_elsewhere(self, published: PublishedRecipe) -> str:
        return (
            f"Its reports are uploaded to the leader at {published.servers.leader_url}, as messages of DAP."
        )

    def unavailable(self, partners: Partners) -> str:
        return "" if self.trust in partners else HELPER.missing

    def prepare(
        self,
        draft: RecipeDraft,
        *,
        now: datetime,
        simulation: bool,
        partners: Partners,
        universe: Sequence[str] | None,
    ) -> Holding:
        partner = partner_of(HELPER, partners)
        source = secrets.SystemRandom()
        share_key = generate_private_key(draft.encryption, source)
        request = source.randbytes(REQUEST_BYTES)
        theirs = asked(HELPER, partner, lambda: helper_key(partner, request=request, scheme=draft.encryption))
        servers = TwoServers(
            leader_url=partner.leader_url,
            leader_key_members=share_key.public_key.to_json(),
            helper_url=partner.url,
            helper_key_members=theirs.to_json(),
            helper_verification_key=partner.verification_key,
        )
        published = draft.publish(servers, now, simulation=simulation)
        verify_key = source.randbytes(VERIFY_KEY_SIZE)
        collector_config, collector_key = generate_keypair(COLLECTOR_CONFIG_ID, source)
        task_id = bytes.fromhex(published.identifier)
        registration_note(task_id=task_id, partner=partner, now=timezone.now())
        signature = asked(
            HELPER,
            partner,
            lambda: recipe_task_register(
                partner,
                task_id=task_id,
                document=published.canonical,
                request=request,
                verify_key=verify_key,
                collector_config=collector_config,
            ),
        )
        require_signed(HELPER, partner, published, signature)
        return _AgreedTask(
            published, partner, signature, share_key, verify_key, collector_config, collector_key
        )

    def close(self, recipe: Recipe) -> None:
        task = task_named(task_id=bytes.fromhex(str(recipe.identifier)), side=Side.LEADER)
        if task is not None:
            task_close(task=task)
