"""Which recipes an issuer signs tokens for: it checks everything that its signature vouches for."""

import hashlib
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction

from log.audit.operations import entry_append
from panprivacy.recipe.document import PublishedRecipe
from partners.problems import conflict, refused
from partners.recipe_document import recipe_read
from partners.required_settings import required
from storage.connections import connection_release
from storage.sealing import secret_erase
from storage.signing_key import signing_key, verification_key
from tokens.issuer.actions import ISSUANCE_REGISTERED
from tokens.issuer.keys import RecipeKeys
from tokens.issuer.models import Issuance

UNUSED_KEY_LIFETIME = timedelta(days=1)
"""For which a key waits for its recipe to be published."""


def token_key_make(*, request: bytes, now: datetime) -> bytes:
    """A token key for one recipe, with the recipe's other keys.

    Args:
        request: 16 bytes of the site's choice; the same ones give the same key.

    Returns:
        The public key, a SubjectPublicKeyInfo.
    """
    found = Issuance.objects.filter(request=request).first()
    if found is None:
        connection_release()  # finding primes for RSA takes seconds
        found = _keys_store(request, RecipeKeys.generate(), now)
    return bytes(found.token_key)


@transaction.atomic
def _keys_store(request: bytes, keys: RecipeKeys, now: datetime) -> Issuance:
    """The stored keys of the request: these, unless another process made some at the same moment."""
    sealed = keys.seal()
    found, is_new = Issuance.objects.get_or_create(
        request=request,
        defaults={"token_key": keys.token.public.encoded, "sealed": sealed, "created_at": now},
    )
    if not is_new:
        secret_erase(sealed)
    return found


def issuance_register(*, identifier: str, document: str, request: bytes, now: datetime) -> bytes:
    """Issue tokens for a recipe until it closes.

    Args:
        identifier: 64 hexadecimal digits; must be the SHA-256 of the document.
        document: the recipe's canonical JSON, exactly.
        request: the one for which our key in the document was made.

    Returns:
        Our Ed25519 signature of the recipe, 64 bytes: the same for the same recipe.

    Raises:
        Problem: something is not as it must be; the detail names it.
    """
    recipe = recipe_read(document=document, identifier=identifier)
    ours = recipe.admission
    if ours is None:
        raise refused("admission: must be by tokens.")
    expected = {
        "issuer_name": issuer_name(),
        "issuer_key": verification_key().public_bytes_raw(),
        "attester_url": required(settings.ATTESTER_URL, "PANAPP_ATTESTER_URL"),
    }
    for name, value in expected.items():
        if getattr(ours, name) != value:
            whose = "ours" if isinstance(value, bytes) else value
            raise refused(f"admission.{name}: must be {whose}.")
    if not recipe.simulation and recipe.closes_at <= now:
        raise refused("closes_at: must lie in the future.")
    if recipe.calibrated_statistic.cohort_size < settings.SMALLEST_COHORT:
        raise refused(f"cohort_size: must be at least {settings.SMALLEST_COHORT} for this issuer.")
    _register(recipe, ours.token_key, request)
    return recipe.sign(signing_key())


def issuer_name() -> str:
    """What recipes and tokens call this issuer: its host, with the port if the address has one."""
    return required(settings.ISSUER_URL, "PANAPP_ISSUER_URL").split("/")[2]


@transaction.atomic
def _register(recipe: PublishedRecipe, token_key: bytes, request: bytes) -> None:
    """WAITING becomes ISSUING; keys that already issue for this recipe stay unchanged."""
    found = Issuance.objects.select_for_update().filter(request=request).first()
    if found is None:
        detail = f"No key waits for this request; one is kept for {UNUSED_KEY_LIFETIME.days} day only."
        raise conflict(detail)
    if found.state == Issuance.State.ENDED:
        raise conflict(f"Issuing has ended: {found.outcome}")
    if bytes(found.token_key) != token_key:
        raise refused("admission.token_key: must be the one that was made for this request.")
    if found.state == Issuance.State.ISSUING:
        if found.identifier != recipe.identifier:
            raise conflict("The key of this request is another recipe's.")
        return
    found.identifier, found.document = recipe.identifier, recipe.canonical.decode()
    found.state = Issuance.State.ISSUING
    found.save(update_fields=["identifier", "document", "state"])
    entry_append(
        action=ISSUANCE_REGISTERED,
        subject=recipe.identifier,
        actor=None,
        details={"token_key": hashlib.sha256(token_key).hexdigest()},
    )
