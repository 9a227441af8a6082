"""Two servers: leader and helper make a key pair each, and both agree to the document before anyone reads it.

Asked in this order, so that a crash anywhere leaves nothing that binds anybody: the helper makes a key;
we note which task we are about to register; the helper checks and signs the document; one transaction
publishes it and forgets the note. What becomes of a note that stays
behind, leader/registrations.py says.
"""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from django.utils import timezone

from dap.client import PeerRefusedError, PeerUnavailableError
from dap.models import Side
from dap.operations import task_close, task_named
from dap.provisioning import REQUEST_BYTES, Partner, helper_key, recipe_task_register
from leader.errors import RegistrationOverError
from leader.operations import COLLECTOR_CONFIG_ID, task_create
from leader.registrations import registration_forget, registration_note
from panprivacy.dap.basics import HpkeConfig
from panprivacy.dap.hpke import generate_keypair
from panprivacy.dap.recipe_task import task_of
from panprivacy.encryption import generate_private_key
from panprivacy.encryption.interface import PrivateKey
from panprivacy.errors import FieldError
from panprivacy.prio3 import VERIFY_KEY_SIZE
from panprivacy.recipe import Recipe as PublishedRecipe
from panprivacy.recipe import RecipeDraft
from panprivacy.servers import TwoServers
from panprivacy.trust import Trust
from recipes.custody.interface import Custody, Holding
from recipes.errors import HelperUnavailableError, RecipeStateError
from recipes.models import HelperSignature, Recipe
from recipes.partner import HOW_TO_SET_UP, NO_HELPER, why_no_answer

T = TypeVar("T")


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

    def upload_elsewhere(self, published: PublishedRecipe) -> str:
        return (
            f"Its reports are uploaded to the leader at {published.servers.leader_url}, as messages of DAP."
        )

    def unavailable(self, partner: Partner | None) -> str:
        return NO_HELPER if partner is None else ""

    def prepare(
        self,
        draft: RecipeDraft,
        *,
        now: datetime,
        simulation: bool,
        partner: Partner | None,
        universe: Sequence[str] | None,
    ) -> Holding:
        if partner is None:
            raise FieldError("trust", f"cannot be {self.trust.value}: {NO_HELPER}. {HOW_TO_SET_UP}")
        source = secrets.SystemRandom()
        share_key = generate_private_key(draft.encryption, source)
        request = source.randbytes(REQUEST_BYTES)
        theirs = _asked(partner, lambda: helper_key(partner, request=request, scheme=draft.encryption))
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
        signature = _asked(
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
        _require_signed(published, partner, signature)
        return _AgreedTask(
            published, partner, signature, share_key, verify_key, collector_config, collector_key
        )

    def close(self, recipe: Recipe) -> None:
        task = task_named(task_id=bytes.fromhex(str(recipe.identifier)), side=Side.LEADER)
        if task is not None:
            task_close(task=task)


def _asked(partner: Partner, ask: Callable[[], T]) -> T:
    """The helper's answer, or its silence and its refusal in the words of this app."""
    try:
        return ask()
    except PeerUnavailableError as error:
        raise HelperUnavailableError(f"nothing was published: {why_no_answer(partner, error)}") from error
    except PeerRefusedError as error:
        raise FieldError(
            "trust", f"cannot be two_server: the helper at {partner.url} refuses ({error})"
        ) from error


def _require_signed(published: PublishedRecipe, partner: Partner, signature: bytes) -> None:
    """Devices will check the same: a recipe that they refuse must not be published."""
    try:
        Ed25519PublicKey.from_public_bytes(partner.verification_key).verify(
            signature, published.signed_message
        )
    except InvalidSignature:
        raise HelperUnavailableError(
            f"the helper at {partner.url} signed with another key than its own; nothing was published"
        ) from None
