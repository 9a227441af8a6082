"""Making a joint key with the leader: each commits to its half before it sees the other's.

1. `commitment`: the leader sends its commitment, we answer with ours.
2. `half`: the leader sends its half of the key, we answer with ours, and commit to our half of the strings.
3. `strings`: the leader commits to its half of the strings, we answer with ours.
4. `recipe_join`: the leader's half of the strings is in the recipe, whose document we check and sign.

Every request may come again, and gets the same answer. The secrets of the strings are never stored.
"""

import secrets
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction

from joint_key.helper.actions import RECIPE_JOINED
from joint_key.helper.models import JointRecipe, WaitingKey
from log.audit.operations import entry_append
from panprivacy.formats.errors import FieldError
from panprivacy.protocols.joint_key.groups import InvalidPointError
from panprivacy.protocols.joint_key.keys import (
    KeyHalf,
    ProofRefusedError,
    StringHalf,
    commitment,
    key_bases,
    key_half,
    string_half,
)
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.statistics.trust_models.joint_key import (
    ROLES,
    JointKeyServers,
    document_context,
    role_context,
)
from panprivacy.statistics.trust_models.members import RecipeVerificationError
from partners.problems import conflict, refused
from partners.recipe_document import recipe_read
from storage.sealing import secret_erase, secret_seal, secret_unseal, secrets_delete
from storage.signing_key import signing_key, verification_key

UNUSED_KEY_LIFETIME = timedelta(days=1)
"""For which a half waits for its recipe to be published."""

KIND = b"joint key half"


def key_commit(*, request: bytes, context: bytes, leader_commitment: bytes, now: datetime) -> bytes:
    """Our commitment to our half of the key, 32 bytes.

    Args:
        request: 16 bytes of the leader's choice; the same ones give the same half.
        context: what the key is for, 32 bytes.
        leader_commitment: 32 bytes.

    Raises:
        Problem: another context or commitment than at the first request.
    """
    bound = role_context(context, ROLES[1])
    found = WaitingKey.objects.filter(request=request).first()
    if found is None:
        half, secret = key_half(bound, secrets.SystemRandom())
        with transaction.atomic():
            sealed = secret_seal(bytes(secret.to_be_bytes()), kind=KIND, owner=request)
            found, is_new = WaitingKey.objects.get_or_create(
                request=request,
                defaults={
                    "context": context,
                    "key": half.encode(),
                    "sealed": sealed,
                    "leader_commitment": leader_commitment,
                    "created_at": now,
                },
            )
            if not is_new:
                # Another process made one at the same moment.
                secret_erase(sealed)
    if bytes(found.context) != context or bytes(found.leader_commitment) != leader_commitment:
        raise conflict("A half was made for this request, with another context or commitment.")
    return commitment(bound, KeyHalf.decode(bytes(found.key)))


@transaction.atomic
def key_reveal(*, request: bytes, leader_key: bytes) -> tuple[bytes, bytes]:
    """Our half of the key, and our commitment to our half of the common strings.

    Args:
        leader_key: the leader's half, which must open its commitment.

    Raises:
        Problem: it does not, or its proofs do not hold.
    """
    row = _waiting(request)
    context, own = bytes(row.context), KeyHalf.decode(bytes(row.key))
    try:
        theirs = KeyHalf.decode(leader_key)
        bound = role_context(context, ROLES[0])
        theirs.require_proved(bound)
    except (InvalidPointError, ProofRefusedError) as error:
        raise refused(f"key: {error}.") from None
    if commitment(bound, theirs) != bytes(row.leader_commitment):
        raise refused("key: must open the commitment that came before it.")
    ours = role_context(context, ROLES[1])
    if not row.string:
        row.leader_key = leader_key
        row.string = string_half(ours, *key_bases([theirs, own]), secrets.SystemRandom()).encode()
        row.save(update_fields=["leader_key", "string"])
    return bytes(row.key), commitment(ours, StringHalf.decode(bytes(row.string)))


@transaction.atomic
def strings_reveal(*, request: bytes, leader_commitment: bytes) -> bytes:
    """Our half of the common strings.

    Args:
        leader_commitment: to the leader's half, 32 bytes.

    Raises:
        Problem: the halves of the key are not exchanged yet, or another commitment came before.
    """
    row = _waiting(request)
    if not row.string:
        raise conflict("The halves of the key must be exchanged first.")
    if row.leader_string_commitment and bytes(row.leader_string_commitment) != leader_commitment:
        raise conflict("Another commitment came for this request.")
    row.leader_string_commitment = leader_commitment
    row.save(update_fields=["leader_string_commitment"])
    return bytes(row.string)


def recipe_join(*, identifier: str, document: str, request: bytes, now: datetime) -> bytes:
    """Take part in a recipe.

    Args:
        identifier: 64 hexadecimal digits; must be the SHA-256 of the document.
        document: the recipe's canonical JSON, exactly.
        request: the one for which our halves in the document were made.

    Returns:
        Our Ed25519 signature of the recipe, 64 bytes: the same for the same recipe.

    Raises:
        Problem, FieldError: something is not as it must be; the detail names it.
    """
    recipe = recipe_read(document=document, identifier=identifier)
    servers = _servers_checked(recipe)
    with transaction.atomic():
        # Locked before we look for the recipe: the same request may come twice at once.
        WaitingKey.objects.select_for_update().filter(request=request).first()
        joined = JointRecipe.objects.filter(identifier=identifier).first()
        if joined is None:
            row = _waiting(request)
            _require_agreed(recipe, servers, row)
            secret = secret_unseal(row.sealed, kind=KIND, owner=request)
            JointRecipe.objects.create(
                identifier=identifier,
                document=document,
                sealed=secret_seal(secret, kind=KIND, owner=identifier.encode()),
                created_at=now,
            )
            secrets_delete(WaitingKey.objects.filter(request=request), "sealed")
            entry_append(action=RECIPE_JOINED, subject=identifier, actor=None, details={})
        elif joined.state == JointRecipe.State.ENDED:
            raise conflict(f"The recipe has ended: {joined.outcome}")
    return recipe.sign(signing_key())


def _servers_checked(recipe: PublishedRecipe) -> JointKeyServers:
    servers = recipe.servers
    if not isinstance(servers, JointKeyServers):
        raise FieldError("trust", "must be joint_key")
    if servers.helper_url != settings.HELPER_URL:
        raise FieldError("helper.url", f"must be {settings.HELPER_URL}")
    if servers.helper_verification_key != verification_key().public_bytes_raw():
        raise FieldError("helper.verification_key", "must be ours")
    if recipe.round is not None:
        raise FieldError("round", "must be left out under joint_key")
    cohort_size = recipe.calibrated_statistic.parameters.as_dict()["cohort_size"]
    if cohort_size < settings.SMALLEST_COHORT:
        raise FieldError("cohort_size", f"this helper takes cohorts of at least {settings.SMALLEST_COHORT}")
    try:
        servers.require_made(recipe.document)
    except RecipeVerificationError as error:
        raise refused(f"document: {error}.") from None
    return servers


def _require_agreed(recipe: PublishedRecipe, servers: JointKeyServers, row: WaitingKey) -> None:
    """That the recipe has the halves that were exchanged, and no other."""
    context = document_context(recipe.document)
    if context != bytes(row.context):
        raise refused("document: must be the one for which the halves were made.")
    if servers.keys != (bytes(row.leader_key), bytes(row.key)):
        raise refused("leader.key and helper.key: must be the halves that were exchanged.")
    if servers.strings[1] != bytes(row.string):
        raise refused("helper.string: must be the half that was made for this request.")
    theirs = StringHalf.decode(servers.strings[0])
    if commitment(role_context(context, ROLES[0]), theirs) != bytes(row.leader_string_commitment):
        raise refused("leader.string: must open the commitment that came before it.")


def _waiting(request: bytes) -> WaitingKey:
    row = WaitingKey.objects.select_for_update().filter(request=request).first()
    if row is None:
        raise conflict(
            f"No half waits for this request; one is kept for {UNUSED_KEY_LIFETIME.days} day only."
        )
    return row
