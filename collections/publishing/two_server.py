"""A leader, which is this site, and a helper: both verify and add up shares; the leader collects the sums.

Each makes a key pair, and both agree to the document before it is published. They are asked in this order, so
that a crash anywhere leaves nothing with an effect: the helper makes a key; we store a note of the task that
we are about to register; the helper checks and signs the document; one transaction publishes it and forgets
the note. leader/registrations.py handles a note that stays behind.
"""

import secrets
from dataclasses import dataclass

from dap.leader.errors import RegistrationOverError
from dap.leader.models import CountNoise
from dap.leader.operations import COLLECTOR_CONFIG_ID, task_create
from dap.leader.registrations import registration_forget, registration_note
from dap.models import Side, Task
from dap.operations import task_close, task_named
from panprivacy.accounting import noisy_count
from panprivacy.accounting.trust import Trust
from panprivacy.encryption.interface import PrivateKey
from panprivacy.protocols.dap.basics import HpkeConfig
from panprivacy.protocols.dap.hpke import generate_keypair
from panprivacy.protocols.prio3.prio3 import VERIFY_KEY_SIZE
from panprivacy.recipe.dap_task import task_of
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.statistics.trust_models.two_server import TwoServers
from partners.helper_calls import helper_key, recipe_task_register
from partners.partner import Partner
from partners.request_ids import REQUEST_BYTES
from partners.roles import HELPER
from publishing.agreement import asked, not_under, partner_of, require_signed
from publishing.interface import Prepared, TrustModel, Wish
from publishing.keys import recipe_key_make
from publishing.rounds_document import rounds_document_of
from recipes.errors import RecipeStateError
from recipes.models import PartnerSignature, Recipe
from storage import clock


@dataclass(frozen=True)
class _AgreedTask(Prepared):
    """A document that both servers signed for, and our half of its secrets."""

    published: PublishedRecipe
    partner: Partner
    helper_signature: bytes
    share_key: PrivateKey | None
    verify_key: bytes
    collector_config: HpkeConfig
    collector_key: bytes

    def store(self, recipe: Recipe) -> None:
        task_id, configuration = task_of(self.published)
        try:
            registration_forget(task_id=task_id)
        except RegistrationOverError as error:
            raise RecipeStateError(f"it cannot be published: {error}; try again") from error
        recipe.partner_signatures.create(
            partner=PartnerSignature.Partner.HELPER, signature=self.helper_signature
        )
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
            now=clock.database_now(),
        )


class TwoServerModel(TrustModel):
    """A recipe is one task; the leader's periodic work moves every task on."""

    trust = Trust.TWO_SERVER
    partner = HELPER

    def prepare(self, wish: Wish) -> Prepared:
        partner = partner_of(self.trust, HELPER, wish.partners)
        source = secrets.SystemRandom()
        # Devices that keep nothing send plain shares: there is nothing to encrypt them to beforehand.
        share_key = None if wish.draft.encryption is None else recipe_key_make(wish.draft, source)
        request = source.randbytes(REQUEST_BYTES)
        ours = theirs = None
        if share_key is not None:
            scheme, ours = share_key.public_key.scheme, share_key.public_key.to_json()
            theirs = asked(
                not_under(self.trust),
                HELPER,
                partner,
                lambda: helper_key(partner, request=request, scheme=scheme).to_json(),
            )
        servers = TwoServers(
            leader_url=partner.leader_url,
            leader_key_members=ours,
            helper_url=partner.url,
            helper_key_members=theirs,
            helper_verification_key=partner.verification_key,
        )
        published = wish.publish(servers)
        rounds = b"" if wish.draft.round is None else rounds_document_of(wish.draft.round)
        verify_key = source.randbytes(VERIFY_KEY_SIZE)
        collector_config, collector_key = generate_keypair(COLLECTOR_CONFIG_ID, source, published.hpke)
        task_id = bytes.fromhex(published.identifier)
        registration_note(task_id=task_id, partner=partner, now=clock.database_now())
        signature = asked(
            not_under(self.trust),
            HELPER,
            partner,
            lambda: recipe_task_register(
                partner,
                task_id=task_id,
                document=published.canonical,
                request=request,
                verify_key=verify_key,
                collector_config=collector_config,
                rounds=rounds,
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
            self._noise_draw(recipe, task)

    @staticmethod
    def _noise_draw(recipe: Recipe, task: Task) -> None:
        source, size = secrets.SystemRandom(), recipe.cohort_size
        noise, margin = noisy_count.draw(size, source), noisy_count.draw_margin(size, source)
        CountNoise.objects.get_or_create(task=task, defaults={"noise": noise, "margin": margin})
